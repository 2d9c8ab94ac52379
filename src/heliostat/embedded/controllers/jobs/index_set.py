"""Sets of completion indexes as ``completedIndexes`` and ``failedIndexes`` write them: ``1,3-5,7``.

Rules: runs of three and more are written with a hyphen, two in a row with a comma; what cannot be read in a text is
passed over, and so is everything past the Job's completions (they can be lowered). A set of a hundred thousand indexes
in a row is one run.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from msgspec import Struct

_RUN = re.compile(r"\+?(\d{1,10})(?:-\+?(\d{1,10}))?", re.ASCII)


class IndexSet(Struct, frozen=True):
    """Runs (first, last), apart from each other and in order."""

    runs: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs)

    def __contains__(self, index: int) -> bool:
        place = bisect_right(self.runs, index, key=lambda run: run[0])
        return place > 0 and index <= self.runs[place - 1][1]

    def __str__(self) -> str:
        return ",".join(_write_run(first, last) for first, last in self.runs)

    def with_indexes(self, indexes: Iterable[int]) -> "IndexSet":
        return _joined([*self.runs, *((index, index) for index in indexes)])

    def union(self, other: "IndexSet") -> "IndexSet":
        return _joined([*self.runs, *other.runs])

    def count_common(self, other: "IndexSet") -> int:
        """``len(self) + len(other)`` counts what they share twice, the union once."""
        return len(self) + len(other) - len(self.union(other))

    def missing_below(self, end: int) -> Iterator[int]:
        """The indexes from 0 up to ``end``, exclusive, that are not in the set."""
        start = 0
        for first, last in self.runs:
            yield from range(start, min(first, end))
            start = last + 1
        yield from range(start, end)


NO_INDEXES = IndexSet()


def parse_indexes(text: str | None, completions: int) -> IndexSet:
    runs = (_read_run(part, completions) for part in (text or "").split(","))
    return _joined([run for run in runs if run is not None])


def _read_run(text: str, completions: int) -> tuple[int, int] | None:
    matched = _RUN.fullmatch(text)
    if matched is None:
        return None
    first = int(matched[1])
    last = min(int(matched[2] or first), completions - 1)
    return (first, last) if first <= last else None


def _write_run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def _joined(runs: list[tuple[int, int]]) -> IndexSet:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return IndexSet(tuple(joined))
