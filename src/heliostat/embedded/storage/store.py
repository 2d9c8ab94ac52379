"""The store: judges writes, gives each its revision, and shows it to readers and watches once it is durable.

Rules: a write is judged against the newest accepted version, durable or not, and a refusal waits until that version is
durable, so nobody learns of a state that a crash could undo; reads and watches see durable state only, from memory, and
never wait; a full disk refuses the writes under way and nothing else; any other failed commit ends the store, because
what is durable is then unknown. One event loop, no locks.
Reads are plain calls: between a read and the next ``await`` nothing changes. It does not decode bodies or know kinds.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias

from heliostat.embedded.storage.errors import (
    AlreadyExistsError,
    ClosedError,
    ConflictError,
    NoRoomError,
    NotFoundError,
    StorageError,
    StoreFailedError,
)
from heliostat.embedded.storage.journal import Journal
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Event, Facts, Record
from heliostat.embedded.storage.revisions import Matches, Page
from heliostat.embedded.storage.subscription import Subscription, Watchers
from heliostat.embedded.storage.visibility import RevisionWaiters

# Makes the body for the revision it is told; called once, inside the write, so that one encoding suffices.
Encode: TypeAlias = Callable[[int], bytes]
# The same for a deletion, told also the version being deleted: the body is that one with the new resourceVersion.
EncodeLast: TypeAlias = Callable[[int, Record], bytes]


class Store:
    """Open from construction (inside a running loop) until ``close`` or a failed commit."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._cause: BaseException | None = None
        self._closed = False
        self._ended = asyncio.Event()
        self._accepted: deque[Event] = deque()  # given a revision, not yet durable
        self._newest: dict[Key, Event] = {}  # of the accepted ones, the last of each key
        self._waiters = RevisionWaiters()
        self._model = journal.open(self._publish, self._refuse, self._fail)
        self._watchers = Watchers(self._model, self._check_open)
        self._assigned = self._model.revision

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Writing. A cancelled write may still happen: its outcome is unknown, as after a lost reply.

    async def create(self, key: Key, facts: Facts, encode: Encode) -> Record:
        self._check_open()
        current = self._head(key)
        if current is not None:
            await self._settle(key)
            raise AlreadyExistsError(key, current)
        return await self._write(Record(key, self._assigned + 1, facts, encode(self._assigned + 1)), None)

    async def update(self, key: Key, facts: Facts, encode: Encode, *, expected: int) -> Record:
        """Replace the version ``expected``, and no other."""
        self._check_open()
        current = await self._judge(key, expected, None)
        if facts == current.facts:
            facts = current.facts  # most updates change no index entry: share the old one
        return await self._write(Record(current.key, self._assigned + 1, facts, encode(self._assigned + 1)), current)

    async def delete(
        self, key: Key, encode: EncodeLast, *, expected: int | None = None, uid: str | None = None
    ) -> Record:
        """Remove the object if it has the expected revision and uid (None: any). Gives its last state."""
        self._check_open()
        current = await self._judge(key, expected, uid)
        revision = self._assigned + 1
        return await self._write(Record(current.key, revision, current.facts, encode(revision, current)), current, True)

    async def _judge(self, key: Key, expected: int | None, uid: str | None) -> Record:
        """The version to replace. Returns without a pause; only a refusal waits."""
        current = self._head(key)
        if current is None:
            await self._settle(key)
            raise NotFoundError(key)
        if expected is not None and expected != current.revision:
            await self._settle(key)
            raise ConflictError(key, current, f"expected revision {expected}, found {current.revision}")
        if uid is not None and uid != current.facts.uid:
            await self._settle(key)
            raise ConflictError(key, current, f"expected uid {uid}, found {current.facts.uid}")
        return current

    def _head(self, key: Key) -> Record | None:
        """The newest accepted version."""
        event = self._newest.get(key)
        if event is None:
            return self._model.get(key)
        return None if event.deleted else event.record

    async def _settle(self, key: Key) -> None:
        """Until the newest accepted version of the key is durable."""
        event = self._newest.get(key)
        if event is not None:
            await self._waiters.wait(event.revision)

    async def _write(self, record: Record, previous: Record | None, deleted: bool = False) -> Record:
        event = Event(record, previous, deleted)
        self._assigned = record.revision
        self._accepted.append(event)
        self._newest[record.key] = event
        self._journal.append(event)
        if self._model.revision < record.revision:
            await self._waiters.wait(record.revision)
        return record

    # Reading, from memory.

    @property
    def revision(self) -> int:
        """The newest visible revision."""
        self._check_open()
        return self._model.revision

    @property
    def compacted(self) -> int:
        """The oldest revision that can still be listed and watched from."""
        self._check_open()
        return self._model.compacted

    @property
    def superseded_bytes(self) -> int:
        """What the kept history costs in memory, about."""
        self._check_open()
        return self._model.superseded_bytes

    def get(self, key: Key) -> Record | None:
        self._check_open()
        return self._model.get(key)

    def page(
        self,
        scope: Scope,
        *,
        at: int | None = None,
        after: Key | None = None,
        limit: int = 0,
        matches: Matches | None = None,
    ) -> Page:
        """The matching objects of a scope in path order, at the latest revision or at exactly ``at``.

        At most ``limit`` of them (0: all); the next page is asked for with the ``revision`` and ``after`` of this one.
        """
        self._check_open()
        return self._model.page(scope, at=at, after=after, limit=limit, matches=matches)

    def count(self, scope: Scope) -> int:
        self._check_open()
        return self._model.count(scope)

    async def wait_for(self, revision: int) -> None:
        """Until the revision is visible. Waits for ever if it never comes: the caller sets the deadline."""
        self._check_open()
        if self._model.revision < revision:
            await self._waiters.wait(revision)

    def watch(self, scope: Scope, since: int) -> Subscription:
        """Every event of the scope after ``since``, those already kept and those to come. Close it when done."""
        self._check_open()
        return self._watchers.add(scope, since)

    # History and life.

    def compact(self, revision: int) -> None:
        """Forget history up to ``revision`` (at most the newest visible one)."""
        self._check_open()
        revision = min(revision, self._model.revision)
        if revision > self._model.compacted:
            self._journal.compact(revision, self._model.compact(revision))

    async def close(self) -> None:
        """Refuse new calls, finish accepted writes, let go. Watches end."""
        self._closed = True
        try:
            if self._accepted and self._cause is None:
                with suppress(StoreFailedError, NoRoomError):  # the writers themselves were told
                    await self._waiters.wait(self._assigned)
        finally:
            await self._journal.close()
            self._end()

    async def wait_ended(self) -> StorageError:
        """Until the store is closed or has failed; says which. A server exits on StoreFailedError."""
        await self._ended.wait()
        return self._build_refusal()

    def _publish(self, revision: int) -> None:
        """Everything up to ``revision`` is durable: show it, in order."""
        try:
            while self._accepted and self._accepted[0].revision <= revision:
                self._show(self._accepted.popleft())
        except BaseException as error:  # a bug; without this its writers would wait for ever
            self._fail(error)
            raise

    def _show(self, event: Event) -> None:
        if self._newest.get(event.record.key) is event:
            del self._newest[event.record.key]
        self._model.apply(event)
        self._watchers.notice(event)
        self._waiters.release(event.revision)

    def _refuse(self, cause: BaseException) -> None:
        """There is no room for what was accepted: none of it has happened, and the next write is judged anew."""
        self._accepted.clear()
        self._newest.clear()
        self._assigned = self._model.revision
        self._waiters.refuse(lambda: NoRoomError(cause))

    def _fail(self, cause: BaseException) -> None:
        self._cause = cause
        self._end()

    def _end(self) -> None:
        self._ended.set()
        self._waiters.refuse(self._build_refusal)
        self._watchers.wake_all()

    def _check_open(self) -> None:
        if self._closed or self._cause is not None:
            raise self._build_refusal()

    def _build_refusal(self) -> StorageError:
        if self._cause is None:
            return ClosedError("store")
        error = StoreFailedError(self._cause)
        error.__cause__ = self._cause
        return error
