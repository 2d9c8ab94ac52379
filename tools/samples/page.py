"""The table of samples as a page: what a run found, one row for each file; rows of files that were not run stay."""

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct
from tools.samples.verdicts import ACCEPTED, CANNOT, NOT_YET, RUNS, UNTRIED, Verdict

_HEADER = """<!-- made by tools/run_samples.py: make samples SAMPLES=…/ray-operator/config/samples -->
# KubeRay's samples on one machine

What becomes of each of KubeRay's own sample files on `heliostat up`, with the images that
[the local node](../how-to/run-on-this-machine.md#images) provides. The files are taken as they are, one after the
other, on one control plane, all gates on. *runs*: RayClusters, RayServices, Deployments and StatefulSets are ready, and
so is every Pod; RayJobs, also those of RayCronJobs, are complete. *accepted*: the objects are kept, and nothing here
acts on them. *not yet*: the operator does not know the kind; *not tried*: since it does. *cannot*: for the reason
given.{}
"""
_OFFLINE = """

The machine had a way to package registries at most: what programs fetch from elsewhere while they run was out of
their reach."""
_TITLES = "| sample | kinds | here | why |\n|---|---|---|---|"
_ROW = re.compile(r"^\| `(?P<file>[^`]+)` \| (?P<kinds>[^|]*) \| (?P<here>[^|]*) \| (?P<why>.*) \|$", re.MULTILINE)
_LONGEST = 300


class Row(Struct, frozen=True):
    file: str
    kinds: str
    verdict: Verdict


def build_page(rows: Iterable[Row], *, is_online: bool = True) -> str:
    ordered = sorted(rows, key=lambda row: row.file)
    counts = Counter(row.verdict.here for row in ordered)
    told = ", ".join(f"{counts[here]} {here}" for here in (RUNS, ACCEPTED, NOT_YET, UNTRIED, CANNOT) if counts[here])
    lines = [_build_row(row) for row in ordered]
    return (
        "\n".join(
            (_HEADER.format("" if is_online else _OFFLINE), f"Of {len(ordered)} files: {told}.\n", _TITLES, *lines)
        )
        + "\n"
    )


def _build_row(row: Row) -> str:
    why = " ".join(row.verdict.why.split()).replace("|", "\\|")
    shown = why if len(why) <= _LONGEST else f"{why[: _LONGEST - 1]}…"
    return f"| `{row.file}` | {row.kinds} | {row.verdict.here} | {shown} |"


def was_online(page: str) -> bool:
    return _OFFLINE not in page


def read_rows(page: str) -> dict[str, Row]:
    """By file; a page that says nothing has none."""
    return {
        found["file"]: Row(found["file"], found["kinds"], Verdict(found["here"], found["why"].replace("\\|", "|")))
        for found in _ROW.finditer(page)
    }
