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

from heliostat.embedded.server.errors import bad_request, build_status, expired
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.reads import as_served, read_revision, wait_until
from heliostat.embedded.server.rendering import WatchedObject
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.selection import Selection, read_selection
from heliostat.embedded.storage.errors import ClosedError, CompactedError, StoreFailedError
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.records import Event, Record
from heliostat.embedded.storage.store import Store
from heliostat.embedded.storage.subscription import Subscription
from heliostat.kube.jsontree import JsonObject, encode_json

BOOKMARK_SECONDS = 60.0
DEFAULT_TIMEOUT = 1800.0


class WatchOptions(Struct, frozen=True, kw_only=True):
    since: int | None
    initial_events: bool  # send what is there first
    initial_end: bool  # and a bookmark behind it
    bookmarks: bool
    timeout: float


def read_watch_options(request: Request) -> WatchOptions:
    revision = read_revision(request)
    bookmarks = request.flag("allowWatchBookmarks")
    match = request.parameter("resourceVersionMatch")
    wants_initial = request.parameter("sendInitialEvents")
    if wants_initial:
        if match != "NotOlderThan":
            raise bad_request("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        initial_end = request.flag("sendInitialEvents")
        initial = initial_end
    else:
        if match:
            raise bad_request("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        initial, initial_end = revision in (None, 0), False
    timeout = request.parameter("timeoutSeconds")
    return WatchOptions(
        since=revision,
        initial_events=initial,
        initial_end=initial_end,
        bookmarks=bookmarks,
        timeout=float(timeout) if timeout.isdecimal() and int(timeout) else DEFAULT_TIMEOUT,
    )


async def open_watch(
    store: Store, resource: Resource, namespace: str, request: Request, watched: WatchedObject | None = None
) -> "WatchLines":
    """Refuses a wrong request at once; what goes wrong later is told inside the stream.

    The watch listens from here on, not only from its first line on.
    """
    options = read_watch_options(request)
    selection = read_selection(request, resource)
    if options.since:
        await wait_until(store, options.since)
    scope = Scope(resource.storage_name, namespace, selection.name)
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
        self._deadline = asyncio.get_running_loop().time() + options.timeout
        try:
            self._subscription, self._first = self._start()
        except CompactedError as error:
            self._first = [_error_line(error)]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            lines, self._first = b"".join(self._first), []
            return lines
        left = self._deadline - asyncio.get_running_loop().time()
        if self._subscription is None or left <= 0:
            await self.aclose()
            raise StopAsyncIteration
        pause = min(left, BOOKMARK_SECONDS) if self._options.bookmarks else left
        try:
            return await self._next_lines(self._subscription, pause)
        except CompactedError as error:
            await self.aclose()
            return _error_line(error)
        except (ClosedError, StoreFailedError):
            await self.aclose()
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

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

    async def _next_lines(self, subscription: Subscription, pause: float) -> bytes:
        ready = subscription.take_ready()
        if not ready:
            try:
                async with asyncio.timeout(pause):
                    ready = await subscription.take()
            except TimeoutError:
                return self._bookmark(subscription.progress, {}) if self._options.bookmarks else b""
        return b"".join(line for event in ready if (line := self._event_line(event)))

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
