"""The multi-version model: every object at every revision since the last compaction. Pure: no clock, no loop, no disk.

Rules: each mutation has a revision of its own, greater than all before; a read names the latest revision or an exact
older one; compacting to C forgets the events up to C, after which the state at C is the oldest that can be read and C
the oldest revision a watch can go on from. Nothing is ever skipped: what cannot be answered completely is refused.
It does not judge writes (``store`` does) and does not make them durable (a journal does).
"""

from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.storage.errors import CompactedError, FutureRevisionError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Event, Record
from heliostat.embedded.storage.table import PastTable, Table

FIRST_REVISION = 1  # of an empty store: 0 and "" have meanings of their own in the Kubernetes API

Matches: TypeAlias = Callable[[Record], bool]


class Page(Struct, frozen=True):
    """A list, or one page of it."""

    records: list[Record]
    revision: int  # of the whole list: the next page is asked for at this one
    after: Key | None  # where the next page starts; None when this is the last
    remaining: int  # objects of the scope behind this page, whether or not they match


class Revisions:
    """The state of the store at ``revision``, and its history back to ``compacted``."""

    def __init__(self) -> None:
        self.revision = FIRST_REVISION
        self.compacted = FIRST_REVISION
        self.superseded_bytes = 0  # bodies that only history keeps alive
        self._tables: dict[str, Table] = {}

    def get(self, key: Key) -> Record | None:
        table = self._tables.get(key.resource)
        return None if table is None else table.get(key)

    def apply(self, event: Event) -> None:
        if event.revision <= self.revision:
            raise ValueError(f"revision {event.revision} cannot follow {self.revision}")
        self._table(event.record.key.resource).apply(event)
        self.revision = event.revision
        self.superseded_bytes += _superseded_bytes(event)

    def page(
        self,
        scope: Scope,
        *,
        at: int | None = None,
        after: Key | None = None,
        limit: int = 0,
        matches: Matches | None = None,
    ) -> Page:
        """The matching objects of a scope in path order; ``limit`` 0 means all of them."""
        table = self._table_at(scope.resource, at)
        low, high = scope.bounds
        if after is not None:
            low = max(low, after.path + "\0")
        found = table.between(low, high)
        if scope.name:
            found = (record for record in found if record.key.name == scope.name)
        records = list(islice(filter(matches, found) if matches else found, limit or None))
        revision = self.revision if at is None else at
        if not limit or len(records) < limit:
            return Page(records, revision, None, 0)
        remaining = table.count_between(records[-1].key.path + "\0", high)
        return Page(records, revision, records[-1].key if remaining else None, remaining)

    def count(self, scope: Scope) -> int:
        if scope.name:
            return len(self.page(scope).records)
        table = self._tables.get(scope.resource)
        return 0 if table is None else table.count_between(*scope.bounds)

    def events(self, scope: Scope, since: int, limit: int) -> list[Event]:
        """At most ``limit`` events of a scope after ``since``, oldest first; none for a revision still to come."""
        self._check_kept(since)
        table = self._tables.get(scope.resource)
        return [] if table is None else table.events(scope, since, limit)

    def compact(self, revision: int) -> list[int]:
        """Forget the events up to ``revision``. Gives the revisions whose records nobody can ask for any more."""
        if revision <= self.compacted:
            return []
        self.compacted = revision
        self.revision = max(self.revision, revision)
        obsolete: list[int] = []
        for resource, table in list(self._tables.items()):
            for event in table.forget(revision):
                self.superseded_bytes -= _superseded_bytes(event)
                if event.previous is not None:
                    obsolete.append(event.previous.revision)
                if event.deleted:
                    obsolete.append(event.revision)
            if table.is_blank:
                del self._tables[resource]
        return obsolete

    def _table(self, resource: str) -> Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = Table()
        return table

    def _table_at(self, resource: str, at: int | None) -> Table | PastTable:
        table = self._tables.get(resource) or Table()
        if at is None or at == self.revision:
            return table
        self._check_kept(at)
        if at > self.revision:
            raise FutureRevisionError(at, self.revision)
        return table.at(at)

    def _check_kept(self, revision: int) -> None:
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)


def _superseded_bytes(event: Event) -> int:
    previous = 0 if event.previous is None else len(event.previous.body)
    return previous + len(event.record.body) if event.deleted else previous
