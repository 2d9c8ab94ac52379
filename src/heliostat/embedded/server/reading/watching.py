"""Watch: the stream of changes, as lines of JSON.

Rules: an object that starts to match is ADDED, one that ceases to is DELETED with its last matching state; without
a resourceVersion (or with 0) what is there comes first as ADDED; with sendInitialEvents those end with a bookmark
that says so; bookmarks tell how far the watch is; a watch that has fallen behind compaction ends with an ERROR of
code 410, never with a gap.
"""

import asyncio
from typing import Self

import msgspec
from msgspec import Struct

from heliostat.embedded.server.errors import build_status, expired
from heliostat.embedded.server.messages import Request, Sink
from heliostat.embedded.server.reading.list_options import read_list_options, read_revision
from heliostat.embedded.server.reading.reads import as_served, check_known
from heliostat.embedded.server.reading.rendering import WatchedObject
from heliostat.embedded.server.reading.selection import Selection, read_selection
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.errors import ClosedError, CompactedError, StoreFailedError
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.records import Event, Record
from heliostat.embedded.storage.store import Store
from heliostat.embedded.storage.subscription import Subscription
from heliostat.kube.jsontree import JsonObject, encode_json

BOOKMARK_SECONDS = 60.0
LAST_BOOKMARK_SECONDS = 2.0  # before the end: who watches in short turns learns how far it is too
DEFAULT_TIMEOUT = 1800.0
_PUSHED_AT_ONCE = 256 * 1024  # bytes; more than that is written by the reader, piece by piece


class WatchOptions(Struct, frozen=True, kw_only=True):
    since: int | None
    initial_events: bool  # send what is there first
    initial_end: bool  # and a bookmark behind it
    bookmarks: bool
    timeout: float


def read_watch_options(request: Request) -> WatchOptions:
    options = read_list_options(request, is_watch=True)
    revision = read_revision(options.version)
    initial = options.initial_events
    return WatchOptions(
        since=revision,
        initial_events=revision in (None, 0) if initial is None else initial,
        initial_end=bool(initial),
        bookmarks=options.bookmarks,
        timeout=float(options.timeout) if options.timeout > 0 else DEFAULT_TIMEOUT,
    )


async def open_watch(
    store: Store,
    resource: Resource,
    namespace: str,
    request: Request,
    watched: WatchedObject | None = None,
    name: str = "",
) -> "WatchLines":
    """Refuses a wrong request at once; what goes wrong later is told inside the stream.

    The watch listens from here on, not only from its first line on.
    """
    options = read_watch_options(request)
    selection = read_selection(request, resource)
    if options.since and options.initial_events:
        check_known(store, options.since)
    scope = Scope(resource.storage_name, namespace, name or selection.name)
    return WatchLines(store, resource, scope, selection, options, watched)


class WatchLines:
    """The lines of one watch, as an asynchronous iterator that can be closed before its first line."""

    def __init__(
        self,
        store: Store,
        resource: Resource,
        scope: Scope,
        selection: Selection,
        options: WatchOptions,
        watched: WatchedObject | None,
    ) -> None:
        self._store = store
        self._resource = resource
        self._scope = scope
        self._selection = selection
        self._options = options
        self._watched = watched
        self._subscription: Subscription | None = None
        self._first: list[bytes] = []
        self._alarm: asyncio.Handle | None = None
        self._alarm_due = 0.0
        self._bookmark_due = False
        self._sink: Sink | None = None
        self._problem: Exception | None = None  # met while serving, for the reader to find
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + options.timeout
        try:
            self._subscription, self._first = self._start()
        except CompactedError as error:
            self._first = [_error_line(error)]
        else:
            self._set_alarm(self._loop.time())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        lines, self._first = b"".join(self._first), []
        while not lines:
            subscription = self._subscription
            if subscription is None:
                raise StopAsyncIteration
            try:
                lines = self._ready_lines(subscription)
            except CompactedError as error:
                self._close()
                return _error_line(error)
            except (ClosedError, StoreFailedError):
                self._close()
                continue
            if lines:
                break
            if not subscription.is_caught_up:  # nothing of what has happened matches
                await asyncio.sleep(0)
            elif self._sink is None:
                await subscription.news()
            else:
                await subscription.news(self._serve)
                return b""
        return lines

    def push_to(self, sink: Sink) -> None:
        self._sink = sink

    def _serve(self) -> bool:
        """Ready lines go into the sink while the reader sleeps; False when it has something to do or to find."""
        if self._subscription is None or self._sink is None:
            return False
        try:
            lines = self._ready_lines(self._subscription)
            if len(lines) > _PUSHED_AT_ONCE:
                self._first.append(lines)
                return False
            return (not lines or self._sink(lines)) and self._subscription.is_caught_up
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the reader's: nobody else knows the client
            self._problem = error
            return False

    async def aclose(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def _set_alarm(self, now: float) -> None:
        """One timer for the whole watch: a timer for each wait would cost more than the waiting."""
        due = self._deadline
        if self._options.bookmarks:
            last = self._deadline - LAST_BOOKMARK_SECONDS
            due = min(now + BOOKMARK_SECONDS, last if last > now else due)
        self._alarm_due = due  # kept here: for a moment that is now, uvloop gives a handle that cannot tell it
        self._alarm = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        if self._subscription is None or self._alarm is None:
            return
        if self._alarm_due >= self._deadline:  # not by the clock: a timer may be a little early
            self._close()  # a waiting reader finds out and ends
            return
        self._bookmark_due = True
        self._subscription.wake()
        self._set_alarm(self._alarm_due)

    def _start(self) -> tuple[Subscription, list[bytes]]:
        """One moment for both: nothing happens between the list and the watch."""
        if not self._options.initial_events:
            since = self._store.revision if not self._options.since else self._options.since
            return self._store.watch(self._scope, since), []
        page = self._store.page(self._scope, matches=self._selection.filter)
        lines = [self._line("ADDED", record) for record in page.records]
        if self._options.initial_end and self._options.bookmarks:
            lines.append(self._bookmark(page.revision, {"k8s.io/initial-events-end": "true"}))
        return self._store.watch(self._scope, page.revision), lines

    def _ready_lines(self, subscription: Subscription) -> bytes:
        if self._problem is not None:
            raise self._problem
        lines = [line for event in subscription.take_ready() if (line := self._event_line(event))]
        if self._bookmark_due:
            self._bookmark_due = False
            lines.append(self._bookmark(subscription.progress, {}))
        return b"".join(lines)

    def _event_line(self, event: Event) -> bytes | None:
        if self._selection.is_everything:
            return self._line(_TYPES[event.kind], event.record)
        before = event.previous is not None and self._selection.matches(event.previous)
        after = not event.deleted and self._selection.matches(event.record)
        if after:
            return self._line("MODIFIED" if before else "ADDED", event.record)
        if not before:
            return None
        if event.deleted or event.previous is None:
            return self._line("DELETED", event.record)
        return self._line("DELETED", _at_revision(event.previous, event.revision))

    def _line(self, kind: str, record: Record) -> bytes:
        body = as_served(record.body, self._resource)
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), self._watched(body) if self._watched else body)

    def _bookmark(self, revision: int, annotations: dict[str, str]) -> bytes:
        metadata: JsonObject = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        bookmark = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        body = encode_json(bookmark)
        return b'{"type":"BOOKMARK","object":%b}\n' % (self._watched(body) if self._watched else body)


_TYPES = {"CREATED": "ADDED", "UPDATED": "MODIFIED", "DELETED": "DELETED"}


def _at_revision(record: Record, revision: int) -> Record:
    """The last matching state, under the revision of the change that ended the match."""
    tree = msgspec.json.decode(record.body)
    tree["metadata"]["resourceVersion"] = str(revision)
    return msgspec.structs.replace(record, revision=revision, body=encode_json(tree))


def _error_line(error: CompactedError) -> bytes:
    status = build_status(expired(f"too old resource version: {error.requested} ({error.oldest})"))
    return encode_json({"type": "ERROR", "object": status}) + b"\n"
