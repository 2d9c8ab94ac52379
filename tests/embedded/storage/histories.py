"""What clients of a store did and saw, recorded while many of them worked at once.

A history is judged afterwards, by ``validators``; recording it decides nothing. Moments are counted, not timed.
"""

import asyncio
from random import Random

from msgspec import Struct, field

from embedded.storage.stores import body, facts, last_body
from heliostat.embedded.storage.errors import CompactedError, WriteRefusedError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Event, Record
from heliostat.embedded.storage.store import Store

KEYS = [Key("pods", namespace, name) for namespace in ("a", "a-b") for name in "xyz"] + [Key("nodes", "", "n")]
WRITERS = 5
WATCHERS = 6
SCOPES = [Scope("pods"), Scope("pods", "a"), Scope("pods", "a", "x"), Scope("nodes"), Scope("pods", "", "y")]


class Write(Struct, frozen=True):
    """A successful write. ``replaced`` is the version it was told to replace, None for a create."""

    record: Record
    replaced: Record | None
    deleted: bool
    invoked: int
    returned: int


class Listing(Struct, frozen=True):
    """A list. ``earliest`` and ``latest`` are the revisions it may show: an exact one twice, or those of its window."""

    scope: Scope
    revision: int
    records: list[Record]
    earliest: int
    latest: int


class Bookmark(Struct, frozen=True):
    revision: int


class Session(Struct):
    """One watch, from its start to its end."""

    scope: Scope
    since: int
    seen: list[Event | Bookmark] = field(default_factory=list)


class History(Struct):
    writes: list[Write] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    moment: int = 0

    def tick(self) -> int:
        self.moment += 1
        return self.moment


class Pace(Struct, frozen=True):
    """Lots to draw, and how long one step of a pause is: 0 lets the others run, more is for virtual time."""

    lot: Random
    step: float

    async def pause(self, longest: int = 3) -> None:
        for _ in range(self.lot.randint(0, longest)):
            await asyncio.sleep(self.step)


async def record_history(store: Store, seed: int, *, writes: int = 60, step: float = 0) -> History:
    """Writers, readers, watchers of all paces and a compactor, until the writers are done."""
    history = History()
    done = asyncio.Event()
    paces = iter([Pace(Random(f"{seed}/{number}"), step) for number in range(WRITERS + WATCHERS + 2)])  # noqa: S311
    others = [_watch(store, history, next(paces), done) for _ in range(WATCHERS)]
    others += [_list(store, history, next(paces), done), _compact(store, next(paces), done)]
    tasks = [asyncio.ensure_future(other) for other in others]
    await asyncio.gather(*(_write(store, history, pace, writes) for pace in paces))
    done.set()
    await asyncio.gather(*tasks)
    return history


async def _write(store: Store, history: History, pace: Pace, writes: int) -> None:
    for number in range(writes):
        await pace.pause()
        key = pace.lot.choice(KEYS)
        current = store.get(key)
        await pace.pause()  # so that others come in between
        invoked = history.tick()
        try:
            if current is None:
                record = await store.create(key, facts(f"u{pace.lot.random()}"), body(str(number)))
            elif pace.lot.random() < 0.3:
                record = await store.delete(key, last_body, expected=current.revision)
            else:
                record = await store.update(key, current.facts, body(str(number)), expected=current.revision)
        except WriteRefusedError:
            continue
        deleted = b'"last"' in record.body
        history.writes.append(Write(record, current, deleted, invoked, history.tick()))


async def _watch(store: Store, history: History, pace: Pace, done: asyncio.Event) -> None:
    since = 1
    while True:
        try:
            session = Session(pace.lot.choice(SCOPES), since)
            since = await _follow(store, session, pace, done)
        except CompactedError as error:
            since = max(error.oldest, store.revision - pace.lot.randint(0, 3), store.compacted)
        history.sessions.append(session)
        if done.is_set() and pace.lot.random() < 0.7:
            return


async def _follow(store: Store, session: Session, pace: Pace, done: asyncio.Event) -> int:
    """Watch for a while; gives the revision to resume from."""
    watch = store.watch(session.scope, session.since)
    place = session.since
    try:
        for _ in range(pace.lot.randint(1, 12)):
            await _until_something_changes(store, pace, done)
            await pace.pause(longest=pace.lot.choice([1, 3, 40]))
            for event in watch.take_ready(pace.lot.randint(1, 8)):
                session.seen.append(event)
                place = event.revision
            if pace.lot.random() < 0.5:
                session.seen.append(Bookmark(watch.progress))
                place = watch.progress
        return place
    finally:
        watch.close()


async def _until_something_changes(store: Store, pace: Pace, done: asyncio.Event) -> None:
    revision = store.revision
    while store.revision == revision and not done.is_set():
        await asyncio.sleep(pace.step)


async def _list(store: Store, history: History, pace: Pace, done: asyncio.Event) -> None:
    while not done.is_set():
        await _until_something_changes(store, pace, done)
        await pace.pause()
        scope = pace.lot.choice(SCOPES)
        now = store.revision
        page = store.page(scope)
        history.listings.append(Listing(scope, page.revision, page.records, now, store.revision))
        exact = pace.lot.randint(store.compacted, now)
        past = store.page(scope, at=exact)
        history.listings.append(Listing(scope, past.revision, past.records, exact, exact))


async def _compact(store: Store, pace: Pace, done: asyncio.Event) -> None:
    while not done.is_set():
        await pace.pause(longest=60)
        store.compact(store.revision - pace.lot.randint(0, 15))
