"""What still differs from the real server: sequences and kubectl commands, each a bug that is known and not yet
mended.

The list may only become shorter: a test fails when one that is not on it differs, and when one that is on it no
longer does. ``python -m conformance open`` writes it anew.
"""

from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("open.txt")


@cache
def open_names() -> frozenset[str]:
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return frozenset(line for line in lines if line and not line.startswith("#"))


def write_open(names: list[str]) -> None:
    head = "# Sequences and kubectl commands that are not answered as by the real server yet; see open_differences.py."
    LIST.write_text("\n".join([head, *sorted(set(names))]) + "\n")


def command_of(difference: str) -> str:
    """The command that a text of ``differing_outcomes`` is about, as the list names it."""
    return difference.splitlines()[0].removeprefix("$ ")
