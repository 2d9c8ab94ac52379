"""Paths in order, in short blocks, so that adding one costs the same among a thousand and among fifty thousand.

A plain sorted list moves half of itself at each insertion. Here a block holds at most ``BLOCK_MAX`` paths; a full one
is split in two, an empty one is dropped. Only creates and deletes change the order; updates do not come here. Pure.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import chain

BLOCK_MAX = 512


class PathOrder:
    """A sorted set of texts."""

    def __init__(self) -> None:
        self._blocks: list[list[str]] = []
        self._lasts: list[str] = []  # the last path of each block: where to look

    def add(self, path: str) -> None:
        """The path must not be there yet: the caller's dictionary knows."""
        if not self._blocks:
            self._blocks, self._lasts = [[path]], [path]
            return
        at = min(bisect_left(self._lasts, path), len(self._blocks) - 1)
        block = self._blocks[at]
        insort(block, path)
        self._lasts[at] = block[-1]
        if len(block) > BLOCK_MAX:
            self._split(at)

    def _split(self, at: int) -> None:
        block = self._blocks[at]
        middle = len(block) // 2
        self._blocks[at : at + 1] = [block[:middle], block[middle:]]
        self._lasts[at : at + 1] = [block[middle - 1], block[-1]]

    def remove(self, path: str) -> None:
        """The path must be there."""
        at = bisect_left(self._lasts, path)
        block = self._blocks[at]
        del block[bisect_left(block, path)]
        if block:
            self._lasts[at] = block[-1]
        else:
            del self._blocks[at], self._lasts[at]

    def between(self, low: str, high: str | None) -> Iterator[str]:
        """Every path from ``low`` (inclusive) to ``high`` (exclusive, None for the end), in order."""
        return chain.from_iterable(self._slices(low, high))

    def _slices(self, low: str, high: str | None) -> Iterator[list[str]]:
        for at in range(bisect_left(self._lasts, low), len(self._blocks)):
            block = self._blocks[at]
            start = bisect_left(block, low) if block[0] < low else 0
            if high is not None and block[-1] >= high:
                yield block[start : bisect_left(block, high)]
                return
            yield block[start:] if start else block

    def count_between(self, low: str, high: str | None) -> int:
        end = sum(map(len, self._blocks)) if high is None else self._rank(high)
        return max(0, end - self._rank(low))

    def _rank(self, path: str) -> int:
        """How many paths come before this one."""
        at = bisect_left(self._lasts, path)
        before = sum(map(len, self._blocks[:at]))
        return before + bisect_left(self._blocks[at], path) if at < len(self._blocks) else before
