"""What must hold of a recorded history: one total order, and watches that are ordered, unique, reliable, resumable and
bookmarkable. Each validator gives its complaints; none is a good history.

Every write returns its place in the order, so checking is sorting and replaying, not searching. ``events`` is what
happened, in that order.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from embedded.storage.histories import Bookmark, History, Session
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Event, Record


def _events_of(history: History) -> list[Event]:
    writes = sorted(history.writes, key=lambda write: write.record.revision)
    return [Event(write.record, write.replaced, write.deleted) for write in writes]


def one_total_order(history: History, events: list[Event]) -> Iterator[str]:
    revisions = [event.revision for event in events]
    if revisions != list(range(2, 2 + len(revisions))):
        yield f"revisions are not one after the other: {revisions}"
    newest_returned = 0  # the greatest revision of a write that had returned when this one was invoked
    finished = sorted(history.writes, key=lambda write: write.returned)
    position = 0
    for write in sorted(history.writes, key=lambda write: write.invoked):
        while finished[position].returned < write.invoked:
            newest_returned = max(newest_returned, finished[position].record.revision)
            position += 1
        if write.record.revision < newest_returned:
            yield f"{write.record.revision} was invoked after {newest_returned} had returned"


def compare_and_swap(history: History, events: list[Event]) -> Iterator[str]:
    present: dict[Key, Record] = {}
    for event in events:
        if present.pop(event.record.key, None) != event.previous:
            yield f"{event.revision} replaced a version that was not the present one"
        if not event.deleted:
            present[event.record.key] = event.record


def reads_show_one_state(history: History, events: list[Event]) -> Iterator[str]:
    for listing in history.listings:
        if not listing.earliest <= listing.revision <= listing.latest:
            yield f"a list shows {listing.revision}, outside {listing.earliest}..{listing.latest}"
        if listing.records != _replay(events, listing.scope, listing.revision):
            yield f"a list at {listing.revision} is not the state at that revision"


def _replay(events: list[Event], scope: Scope, revision: int) -> list[Record]:
    state: dict[str, Record] = {}
    for event in events:
        if event.revision <= revision and scope.covers(event.record.key):
            state.pop(event.record.key.path, None)
            if not event.deleted:
                state[event.record.key.path] = event.record
    return [state[path] for path in sorted(state)]


def ordered(history: History, events: list[Event]) -> Iterator[str]:
    for session in history.sessions:
        for before, after in pairwise([session.since, *(event.revision for event in _seen(session))]):
            if after < before:
                yield f"{after} came after {before}"


def unique(history: History, events: list[Event]) -> Iterator[str]:
    for session in history.sessions:
        revisions = [event.revision for event in _seen(session)]
        if len(revisions) != len(set(revisions)):
            yield f"an event came twice: {revisions}"


def faithful(history: History, events: list[Event]) -> Iterator[str]:
    """Events are those that were written, with what they replaced, and of the scope asked for."""
    written = {event.revision: event for event in events}
    for session in history.sessions:
        for event in _seen(session):
            if written.get(event.revision) != event:
                yield f"{event.revision} is not what was written"
            if not session.scope.covers(event.record.key):
                yield f"{event.revision} is not of {session.scope}"


def reliable(history: History, events: list[Event]) -> Iterator[str]:
    """Nothing is left out between the first and the last event seen."""
    for session in history.sessions:
        seen = [event.revision for event in _seen(session)]
        if seen:
            yield from _missing(events, session, seen[0], seen[-1])


def resumable(history: History, events: list[Event]) -> Iterator[str]:
    """The first event seen is the first there was after the revision the watch started from."""
    for session in history.sessions:
        seen = [event.revision for event in _seen(session)]
        if seen:
            yield from _missing(events, session, session.since, seen[0])


def bookmarkable(history: History, events: list[Event]) -> Iterator[str]:
    """Everything up to a bookmark came before it, and nothing up to it comes after."""
    for session in history.sessions:
        newest = session.since
        for position, item in enumerate(session.seen):
            if isinstance(item, Bookmark):
                before = Session(session.scope, session.since, session.seen[:position])
                yield from _missing(events, before, session.since, item.revision)
                if item.revision < newest:
                    yield f"bookmark {item.revision} goes back behind {newest}"
            elif item.revision <= newest:
                yield f"{item.revision} came after bookmark or event {newest}"
            newest = max(newest, item.revision)


def _missing(events: list[Event], session: Session, after: int, up_to: int) -> Iterator[str]:
    seen = {event.revision for event in _seen(session)}
    for event in events:
        if after < event.revision <= up_to and session.scope.covers(event.record.key) and event.revision not in seen:
            yield f"{event.revision} of {session.scope} is missing"


def _seen(session: Session) -> list[Event]:
    return [item for item in session.seen if isinstance(item, Event)]


VALIDATORS: list[Callable[[History, list[Event]], Iterator[str]]] = [
    one_total_order,
    compare_and_swap,
    reads_show_one_state,
    ordered,
    unique,
    faithful,
    reliable,
    resumable,
    bookmarkable,
]


def complaints(history: History) -> list[str]:
    events = _events_of(history)
    return [f"{validator.__name__}: {text}" for validator in VALIDATORS for text in validator(history, events)]
