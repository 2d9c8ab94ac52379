"""The objects of one resource: as they are, as they were at an older revision, and what happened in between. Pure.

Rules: the present is a dictionary and an order of paths; the past is the present with the kept events undone (each
event carries what it replaced). So a write does nothing for the sake of old readers, and forgetting is cutting a list.
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.path_order import PathOrder
from heliostat.embedded.storage.records import Event, Record

_revision_of = attrgetter("record.revision")


class Table:
    """One resource at its latest revision, and its history since the last compaction."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._order = PathOrder()
        self._log: list[Event] = []

    def get(self, key: Key) -> Record | None:
        return self._records.get(key.path)

    def has(self, path: str) -> bool:
        return path in self._records

    def apply(self, event: Event) -> None:
        path = event.record.key.path
        self._log.append(event)
        if not event.deleted:
            if path not in self._records:
                self._order.add(path)
            self._records[path] = event.record
        elif self._records.pop(path, None) is not None:
            self._order.remove(path)

    def between(self, low: str, high: str | None) -> Iterator[Record]:
        return map(self._records.__getitem__, self._order.between(low, high))

    def count_between(self, low: str, high: str | None) -> int:
        return self._order.count_between(low, high)

    def at(self, revision: int) -> "PastTable":
        """The table as it was right after ``revision``, which must not be compacted."""
        undone: dict[str, Record | None] = {}
        for event in self._log[self._position_after(revision) :]:
            undone.setdefault(event.record.key.path, event.previous)
        return PastTable(self, undone)

    def events(self, scope: Scope, since: int, limit: int) -> list[Event]:
        """At most ``limit`` events of the scope after ``since``, oldest first."""
        start = self._position_after(since)
        if not scope.namespace and not scope.name:
            return self._log[start : start + limit]
        found: list[Event] = []
        for at in range(start, len(self._log)):
            if scope.covers(self._log[at].record.key):
                found.append(self._log[at])
                if len(found) == limit:
                    break
        return found

    def forget(self, revision: int) -> list[Event]:
        """Cut the history up to and including ``revision``; gives what was cut."""
        end = self._position_after(revision)
        cut = self._log[:end]
        del self._log[:end]
        return cut

    @property
    def is_blank(self) -> bool:
        return not self._records and not self._log

    def _position_after(self, revision: int) -> int:
        if not self._log or self._log[-1].revision <= revision:
            return len(self._log)  # the usual question, from a reader that keeps up
        return bisect_right(self._log, revision, key=_revision_of)


class PastTable:
    """A table with some changes undone: for each path, the record that stood there (None: there was none)."""

    def __init__(self, present: Table, undone: dict[str, Record | None]) -> None:
        self._present = present
        self._undone = undone

    def between(self, low: str, high: str | None) -> Iterator[Record]:
        for path in sorted(self._undone_between(low, high)):
            yield from self._present.between(low, path)
            record = self._undone[path]
            if record is not None:
                yield record
            low = path + "\0"
        yield from self._present.between(low, high)

    def count_between(self, low: str, high: str | None) -> int:
        """The present count, less what came since, plus what went since."""
        count = self._present.count_between(low, high)
        for path in self._undone_between(low, high):
            count += (self._undone[path] is not None) - self._present.has(path)
        return count

    def _undone_between(self, low: str, high: str | None) -> Iterator[str]:
        return (path for path in self._undone if low <= path and (high is None or path < high))
