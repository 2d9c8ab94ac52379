"""Objects that are gone, from what the local server has written down about them: which, how they were last, and when
they became what.

Asks no API server: it may be down. A word means a kind here as it does there: a plural, a singular or a short name.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from heliostat.cli.errors import CommandError
from heliostat.embedded.doors.past import (
    LEDGER,
    Gone,
    LedgerError,
    read_gone,
    read_timeline,
    tell_change,
    tell_last_life,
)
from heliostat.explain.explanation import format_columns
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.selector_text import parse_selector
from heliostat.kube.selectors import SelectorError
from heliostat.kube.timestamps import format_timestamp
from heliostat.local.state import State, default_state

GONE_AT = "heliostat.dev/gone-at"  # an annotation of what is shown, never of what is there
_SHORT_NAMES = {"po": "pods", "svc": "services"}


class Wanted(Struct, frozen=True, kw_only=True):
    """Which of them: empty means any."""

    words: Sequence[str] = ()  # for kinds
    names: Sequence[str] = ()
    namespace: str = ""
    selector: str = ""


class GoneObjects:
    """What is remembered in the state directory that a kubeconfig belongs to."""

    def __init__(self, kubeconfig: Path | None) -> None:
        self._ledger = find_state(kubeconfig).history / LEDGER

    def find(self, wanted: Wanted) -> list[Gone]:
        """The last to go first."""
        try:
            selector = parse_selector(wanted.selector)
        except SelectorError as error:
            raise CommandError(f"--selector: {error}") from None
        return [
            gone
            for gone in self._read()
            if wanted.namespace in ("", gone.key.namespace)
            and (not wanted.names or gone.key.name in wanted.names)
            and (not wanted.words or any(_is_meant(word, gone) for word in wanted.words))
            and selector.matches(gone.tree["metadata"].get("labels"))
        ]

    def _read(self) -> list[Gone]:
        try:
            return read_gone(self._ledger)
        except LedgerError as error:
            raise CommandError(f"{error}; heliostat down --purge forgets everything", 1) from None

    def tell_timeline(self, gone: Gone) -> str:
        """When it became what, and when it went."""
        where = f"{gone.key.namespace}/" if gone.key.namespace else ""
        lines = [f"{gone.tree.get('kind', gone.key.resource)} {where}{gone.key.name} ({gone.uid})"]
        before: dict[str, str] = {}
        for moment in read_timeline(self._ledger, gone.uid):
            lines.append(f"  {format_timestamp(moment.at)}  {tell_change(before, moment.facts)}")
            before = moment.facts
        return "\n".join([*lines, f"  {format_timestamp(gone.gone_at)}  gone"])

    def build_table(self, found: Iterable[Gone], *, with_namespace: bool) -> list[str]:
        """Lines, the headings first."""
        heads = ("GONE OBJECT", "LAST STATE", "CREATED", "GONE")
        rows = [("NAMESPACE", *heads) if with_namespace else heads]
        for each in found:
            created = str(each.tree["metadata"].get("creationTimestamp", ""))
            state = tell_last_life(read_timeline(self._ledger, each.uid), each.tree)
            row = (name_of(each), state, created, format_timestamp(each.gone_at))
            rows.append((each.key.namespace, *row) if with_namespace else row)
        return list(format_columns(rows))


def _is_meant(word: str, gone: Gone) -> bool:
    plural, _dot, group = gone.key.resource.partition(".")
    names = (plural, str(gone.tree.get("kind", "")).lower())
    wanted = word.lower()
    return _SHORT_NAMES.get(wanted, wanted) in (*names, *(f"{name}.{group}" for name in names if group))


def name_of(gone: Gone) -> str:
    return f"{str(gone.tree.get('kind', gone.key.resource)).lower()}/{gone.key.name}"


def mark_gone(gone: Gone) -> JsonObject:
    """The object as it was last, with the time when it went."""
    metadata = gone.tree["metadata"]
    annotations = {**(metadata.get("annotations") or {}), GONE_AT: format_timestamp(gone.gone_at)}
    return {**gone.tree, "metadata": {**metadata, "annotations": annotations}}


def find_state(kubeconfig: Path | None) -> State:
    """The directory that the kubeconfig in use lies in, if it is one of ours."""
    named = kubeconfig or Path(os.environ.get("KUBECONFIG") or "nowhere")
    state = State(named.absolute().parent)
    return state if named.name == state.kubeconfig.name and state.node.is_dir() else State(default_state())
