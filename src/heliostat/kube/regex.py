"""Matching texts against regular expressions in time that grows with the length of the text, never faster.

``is_found_in`` follows all possibilities at once and remembers where each character leads, in a table that is dropped
when it is too large. ``find_all`` also needs to know which of several matches Go prefers: the leftmost, and of those
the one whose branches come first. Work is counted; more than ``MAX_WORK`` ends in ``RegexWorkError``.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

from heliostat.kube.regex_program import Branch, Check, Done, Machine, Wait, build_machine

MAX_WORK = 500_000
MAX_ROWS = 2_000
MAX_ENTRIES = 50_000

_START, _WORD, _NEWLINE, _OTHER = range(4)  # what stands before a position
_END: Final = ""


class RegexWorkError(Exception):
    """Following the pattern through this text takes more work than a rule may do."""


class Row(dict[str, "Row | bool"]):
    """Where each next character leads from one set of possibilities; True when the pattern has matched."""

    __slots__ = ("before", "steps")

    def __init__(self, steps: tuple[int, ...], before: int) -> None:
        super().__init__()
        self.steps = steps
        self.before = before


class Found(Struct, frozen=True):
    start: int
    end: int


class Pattern:
    """A compiled regular expression."""

    def __init__(self, pattern: str) -> None:
        self._machine: Machine = build_machine(pattern)
        self._rows: dict[tuple[tuple[int, ...], int], Row] = {}
        self._entries = 0
        self._work = 0

    def is_found_in(self, text: str) -> bool:
        self._work = 0
        row = self._row((self._machine.start,), _START)
        for character in text:
            reached = row.get(character)
            if reached is None:
                reached = self._advance(row, character)
            if reached is True or reached is False:
                return reached
            row = reached
        reached = row.get(_END)
        if reached is None:
            reached = row[_END] = self._closure(row.steps, row.before, _END)[1]
        return reached is True

    def find_all(self, text: str, limit: int) -> Iterator[str]:
        """The matching parts from left to right; a negative limit means all of them."""
        self._work = 0
        position, last_end = 0, -1
        while position <= len(text) and limit != 0:
            found = self._find(text, position)
            if found is None:
                return
            if found.end > found.start or found.start != last_end:
                yield text[found.start : found.end]
                limit -= 1
            last_end = found.end
            position = found.end if found.end > found.start else found.end + 1

    def _row(self, steps: tuple[int, ...], before: int) -> Row:
        row = self._rows.get((steps, before))
        if row is None:
            if len(self._rows) >= MAX_ROWS or self._entries >= MAX_ENTRIES:
                self._rows.clear()
                self._entries = 0
            row = self._rows[steps, before] = Row(steps, before)
        return row

    def _advance(self, row: Row, character: str) -> "Row | bool":
        """Follow one character: to another row, or to the answer when that is certain."""
        waiting, is_matched = self._closure(row.steps, row.before, character)
        reached: Row | bool = True
        if not is_matched:
            following = {wait.next for wait in waiting if wait.kind.has(character)}
            if not self._machine.is_anchored:
                following.add(self._machine.start)
            reached = self._row(tuple(sorted(following)), _kind(character)) if following else False
        row[character] = reached
        self._entries += 1
        return reached

    def _closure(self, steps: tuple[int, ...], before: int, after: str) -> tuple[list[Wait], bool]:
        """The steps that wait for a character here, and whether the pattern can be done here."""
        waiting: list[Wait] = []
        seen: set[int] = set()
        stack = list(steps)
        while stack:
            position = stack.pop()
            if position in seen:
                continue
            seen.add(position)
            step = self._machine.steps[position]
            if isinstance(step, Wait):
                waiting.append(step)
            elif isinstance(step, Branch):
                stack += step.ways
            elif isinstance(step, Done):
                return waiting, True
            elif _holds(step, before, after):
                stack.append(step.next)
        self._count(len(seen))
        return waiting, False

    def _find(self, text: str, begin: int) -> Found | None:
        """Threads in order of preference, each with where it began; a match ends all that are less preferred."""
        threads: dict[int, int] = {}
        found: Found | None = None
        for position in range(begin, len(text) + 1):
            if found is None and (position == 0 or not self._machine.is_anchored):
                threads.setdefault(self._machine.start, position)
            if not threads:
                return found
            threads, done = self._follow(text, position, threads)
            found = done or found
        return found

    def _follow(self, text: str, position: int, threads: dict[int, int]) -> tuple[dict[int, int], Found | None]:
        before = _START if position == 0 else _kind(text[position - 1])
        after = text[position : position + 1]
        following: dict[int, int] = {}
        seen: set[int] = set()
        stack = [(step, start) for step, start in reversed(threads.items())]
        while stack:
            number, start = stack.pop()
            if number in seen:
                continue
            seen.add(number)
            step = self._machine.steps[number]
            if isinstance(step, Done):
                self._count(len(seen))
                return following, Found(start, position)
            if isinstance(step, Wait):
                if after and step.kind.has(after):
                    following.setdefault(step.next, start)
            elif isinstance(step, Branch):
                stack += [(way, start) for way in reversed(step.ways)]
            elif _holds(step, before, after):
                stack.append((step.next, start))
        self._count(len(seen))
        return following, None

    def _count(self, work: int) -> None:
        self._work += work
        if self._work > MAX_WORK:
            raise RegexWorkError


def _kind(character: str) -> int:
    if character.isascii() and (character.isalnum() or character == "_"):
        return _WORD
    return _NEWLINE if character == "\n" else _OTHER


def _holds(step: Check, before: int, after: str) -> bool:
    match step.assertion:
        case "text start":
            return before == _START
        case "text end":
            return after == _END
        case "line start":
            return before in (_START, _NEWLINE)
        case "line end":
            return after in (_END, "\n")
    is_boundary = (before == _WORD) != (after != _END and _kind(after) == _WORD)
    return is_boundary == (step.assertion == "word boundary")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Pattern:
    """Raises ``RegexError``."""
    return Pattern(pattern)
