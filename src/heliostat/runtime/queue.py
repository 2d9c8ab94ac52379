"""The work queue: keys between changes and reconciles, with requeue delays and back-off.

Rules: a key is in it at most once; a key that is being worked on and comes again waits until it is done, so one key is
never worked on twice at a time; first come, first served, and a key that comes again goes to the end, so a hot object
gets one turn per round and starves nobody; of two delays the earlier counts, unless a new decision replaces both; a key
that fails backs off; long delays have jitter, so that what began together does not come back together.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from heliostat.kube.backoff import Backoff

K = TypeVar("K", bound=Hashable)

RETRY = Backoff(first=0.05, factor=2.0, limit=60.0)
LONG_SECONDS = 60.0  # an appointment so far away is for looking after things, not for a deadline that is near
SPREAD = 0.05  # requeue-spread: by which part of it a long wait may be shorter


class ClosedQueueError(Exception):
    """No more keys will come."""


class WorkQueue(Generic[K]):
    """Belongs to one event loop. ``chance`` gives numbers in [0, 1) and spreads retries and long waits."""

    def __init__(
        self,
        *,
        chance: Callable[[], float],
        backoff: Backoff = RETRY,
        on_wait: Callable[[float], None] | None = None,
    ) -> None:
        self.adds = 0
        self.retries = 0
        self._chance = chance
        self._backoff = backoff
        self._on_wait = on_wait
        self._ready: deque[K] = deque()
        self._since: dict[K, float] = {}  # the keys in _ready, and since when
        self._working: dict[K, float] = {}  # and since when
        self._again: set[K] = set()  # came while being worked on
        self._later: dict[K, tuple[float, asyncio.Handle]] = {}  # when, and what does it then
        self._failures: dict[K, int] = {}
        self._takers: deque[asyncio.Future[None]] = deque()
        self._is_closed = False

    def __len__(self) -> int:
        """Keys that could be worked on now."""
        return len(self._ready)

    def in_hand_since(self) -> list[float]:
        """The moments at which the keys that are being worked on were taken. Any thread may ask."""
        return list(self._working.values())

    def add(self, key: K) -> None:
        self.adds += 1
        if key in self._working:
            self._again.add(key)
        elif key not in self._since and not self._is_closed:
            self._since[key] = self._now()
            self._ready.append(key)
            self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Once, then; an earlier appointment stands."""
        if seconds <= 0:
            self.add(key)
            return
        when = self._now() + seconds
        known = self._later.get(key)
        if known is not None:
            if known[0] <= when:
                return
            known[1].cancel()
        if not self._is_closed:
            # The moment is kept here: for one that is now, uvloop gives a handle that cannot tell it.
            self._later[key] = (when, asyncio.get_running_loop().call_at(when, self._due, key))

    def appoint(self, key: K, seconds: float | None) -> None:
        """Then, and no longer when it was to come before; None: only when it is added."""
        self._cancel(key)
        if seconds is not None:
            is_long = seconds > LONG_SECONDS
            self.add_after(key, seconds * (1 - SPREAD * self._chance()) if is_long else seconds)

    def retry(self, key: K, at_least: float = 0.0) -> float:
        """After a failure: come back later, and later each time. Returns the seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        delay = max(at_least, self._backoff.delay(failures) * (0.75 + self._chance() / 2))
        self.add_after(key, delay)
        return delay

    def succeeded(self, key: K) -> None:
        """The next failure is a first one."""
        self._failures.pop(key, None)

    def forget(self, key: K) -> None:
        """The object is gone: no appointment, no history."""
        self._failures.pop(key, None)
        self._cancel(key)

    async def get(self) -> K:
        """The next key; it is the caller's until ``done``."""
        while not self._ready:
            if self._is_closed:
                raise ClosedQueueError
            taker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake_one()  # our turn came and we cannot take it
                raise
        key = self._ready.popleft()
        since, now = self._since.pop(key), self._now()
        if self._on_wait is not None:
            self._on_wait(now - since)
        self._working[key] = now
        return key

    def done(self, key: K) -> None:
        self._working.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        """Takers end with ``ClosedQueueError``; what waited is dropped: the next process lists everything anew."""
        self._is_closed = True
        for _, handle in self._later.values():
            handle.cancel()
        self._later.clear()
        self._ready.clear()
        self._since.clear()
        while self._takers:
            self._wake_one()

    def _cancel(self, key: K) -> None:
        _, handle = self._later.pop(key, (0.0, None))
        if handle is not None:
            handle.cancel()

    def _due(self, key: K) -> None:
        self._later.pop(key, None)
        self.add(key)

    def _wake_one(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
