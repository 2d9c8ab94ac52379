"""How much history to keep. Pure: the caller says what time it is.

Rules: keep what is younger than ``seconds``, at most ``events``, and at most ``bytes`` of bodies that only history
keeps alive; whichever limit is reached first counts. When there are too many bytes, the older half goes.
"""

from collections import deque

from msgspec import Struct


class Retention(Struct, frozen=True):
    seconds: float = 300.0  # kube-apiserver's compaction interval: a client away for less can resume
    events: int = 50_000
    bytes: int = 64 * 1024 * 1024


class History(Struct, frozen=True):
    """What is kept now."""

    compacted: int
    revision: int
    superseded_bytes: int


class AgeMarks:
    """Which revision was the newest at which time, as far as it still matters."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def note(self, now: float, revision: int) -> None:
        self._marks.append((now, revision))

    def newest_before(self, moment: float) -> int:
        """The newest revision known to be at least that old, 0 if none is."""
        while len(self._marks) > 1 and self._marks[1][0] <= moment:
            self._marks.popleft()
        return self._marks[0][1] if self._marks and self._marks[0][0] <= moment else 0


def decide_compaction(retention: Retention, history: History, aged: int) -> int:
    """The revision to compact to; ``aged`` is the newest one beyond its time. Never below the present mark."""
    too_many = history.revision - retention.events
    too_big = (history.compacted + history.revision + 1) // 2 if history.superseded_bytes > retention.bytes else 0
    return max(history.compacted, aged, too_many, too_big)
