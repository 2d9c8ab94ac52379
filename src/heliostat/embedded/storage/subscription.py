"""Watches: each is a place in the shared history, not a buffer of its own.

Rules: a watch that is up to date costs one entry in a table; the first event it has not seen marks its place, and it
reads on from there at its own pace, a batch at a time. So a slow watch holds no memory and delays nobody; it is cut off
with CompactedError when compaction passes its place, never with a gap. Events come in order, each once, none left out.
A reader that waits can leave a function behind which takes the news for it: a thousand readers are then served by a
thousand calls instead of a thousand tasks that wake up, a few at a time so that others have their turn.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from heliostat.embedded.storage.errors import ClosedError
from heliostat.embedded.storage.keys import Scope, scopes_covering
from heliostat.embedded.storage.records import Event
from heliostat.embedded.storage.revisions import Revisions

BATCH = 64
_SERVED_AT_ONCE = 100  # waiting readers, between two turns of the loop

Serve: TypeAlias = Callable[[], bool]  # takes what is ready; False: the reader itself has to look


class Subscription:
    """The events of a scope after a revision. One reader at a time."""

    def __init__(self, watchers: "Watchers", scope: Scope, since: int) -> None:
        self.scope = scope
        self._watchers = watchers
        self._place = since  # every event up to here was handed out
        self._caught_up = since >= watchers.model.revision
        self._wake: asyncio.Future[None] | None = None
        self._serve: Serve | None = None

    @property
    def progress(self) -> int:
        """The revision a bookmark may name now: every event of the scope up to it was handed out."""
        return max(self._place, self._watchers.model.revision) if self._caught_up else self._place

    @property
    def is_caught_up(self) -> bool:
        """Whether there is nothing to take now."""
        return self._caught_up

    async def take(self, limit: int = BATCH) -> list[Event]:
        """The next events, at least one; waits for it. Cancelling the wait loses nothing."""
        while True:
            events = self.take_ready(limit)
            if events:
                return events
            await self.news()

    def news(self, serve: Serve | None = None) -> asyncio.Future[None]:
        """Done when there is something to take that ``serve`` could not take, or when somebody wakes the reader."""
        self._serve = serve
        self._wake = asyncio.get_running_loop().create_future()
        return self._wake

    def take_ready(self, limit: int = BATCH) -> list[Event]:
        """The next events that are already there, at most ``limit``, perhaps none."""
        self._watchers.check(self)
        if self._caught_up:
            return []
        events = self._watchers.events_after(self._place, self.scope, limit)
        if len(events) < limit:
            self._caught_up = True
        else:
            self._place = events[-1].revision
        return events

    def close(self) -> None:
        """Stop listening. A waiting reader gets ClosedError."""
        self._watchers.remove(self)
        self.wake()

    def notice(self, revision: int) -> None:
        """An event of the scope has become visible."""
        if self._caught_up and revision > self._place:
            self._place, self._caught_up = revision - 1, False
            if self._serve is None:
                self.wake()
            else:
                self._watchers.serve_soon(self)

    def serve(self) -> None:
        if self._serve is None or not self._serve():
            self.wake()

    def wake(self) -> None:
        self._serve = None
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class Watchers:
    """Every open watch, by what it covers: an event looks up the few it concerns."""

    def __init__(self, model: Revisions, check_open: Callable[[], None]) -> None:
        self.model = model
        self._check_open = check_open
        self._by_scope: dict[Scope, dict[Subscription, None]] = {}
        self._asked: tuple[int, int, int, Scope] | None = None
        self._found: list[Event] = []
        self._to_serve: deque[Subscription] = deque()

    def add(self, scope: Scope, since: int) -> Subscription:
        self.model.events(scope, since, 0)  # refuses a compacted revision
        subscription = Subscription(self, scope, since)
        self._by_scope.setdefault(scope, {})[subscription] = None
        return subscription

    def remove(self, subscription: Subscription) -> None:
        group = self._by_scope.get(subscription.scope, {})
        group.pop(subscription, None)
        if not group:
            self._by_scope.pop(subscription.scope, None)

    def check(self, subscription: Subscription) -> None:
        self._check_open()
        if subscription not in self._by_scope.get(subscription.scope, ()):
            raise ClosedError("watch")

    def events_after(self, place: int, scope: Scope, limit: int) -> list[Event]:
        """Most watches of a scope stand at the same place: what one of them found is handed to the next, unchanged."""
        asked = (place, self.model.revision, limit, scope)
        if asked != self._asked:
            self._found = self.model.events(scope, place, limit)
            self._asked = asked
        return self._found

    def notice(self, event: Event) -> None:
        if not self._by_scope:
            return
        for scope in scopes_covering(event.record.key):
            for subscription in self._by_scope.get(scope, ()):
                subscription.notice(event.revision)

    def serve_soon(self, subscription: Subscription) -> None:
        """Not at once: the write that brought the news must not wait for its readers, nor suffer from them."""
        if not self._to_serve:
            asyncio.get_running_loop().call_soon(self._serve_some)
        self._to_serve.append(subscription)

    def _serve_some(self) -> None:
        for _ in range(min(len(self._to_serve), _SERVED_AT_ONCE)):
            self._to_serve.popleft().serve()
        if self._to_serve:
            asyncio.get_running_loop().call_soon(self._serve_some)

    def wake_all(self) -> None:
        for group in self._by_scope.values():
            for subscription in group:
                subscription.wake()
