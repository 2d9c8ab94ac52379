"""Facts from outside Kubernetes, fetched on the side: a decision reads what is known and never waits for an answer.

Rules: a fact is a value with an age, or unknown with a reason; it outlives failed fetches until its greatest age and
is unknown from then on; whoever decides by it hears of every new or changed value and of its loss, not of repetitions;
so many fetches run at once, one for each key; failures make the next fetch later each time.
"""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from heliostat.kube.backoff import Backoff

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_SPREAD = 0.1  # of an interval, up and down, so that a thousand watches do not ask in step
_MOST_INTERVALS = 16  # between two fetches that fail


class Fact(Struct, Generic[V], frozen=True):
    value: V
    age: float  # seconds since the answer came


class Unknown(Struct, frozen=True):
    reason: str


Fetch: TypeAlias = Callable[[], Awaitable[V]]


class _Watched(Generic[V]):
    """One fact and how it is kept; a new one for every ``watch`` after a ``forget``."""

    def __init__(self, fetch: Fetch[V], every: float, greatest_age: float) -> None:
        self.fetch = fetch
        self.every = every
        self.greatest_age = greatest_age
        self.value: V | None = None
        self.fetched_at: float | None = None
        self.is_known = False  # as last told
        self.reason = "not fetched yet"
        self.failures = 0
        self.due: float | None = None  # None: a fetch is under way
        self.fetching: asyncio.Task[None] | None = None


class FactCache(Generic[K, V]):
    """``changed`` is called with the key; ``clock`` is the loop's; ``chance`` gives numbers in [0, 1)."""

    def __init__(
        self,
        changed: Callable[[K], None],
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        parallel: int = 32,
        fetch_seconds: float = 5.0,
    ) -> None:
        self._changed = changed
        self._clock = clock
        self._chance = chance
        self._parallel = parallel
        self._fetch_seconds = fetch_seconds
        self._watched: dict[K, _Watched[V]] = {}
        self._appointments: list[tuple[float, int, K]] = []
        self._numbers = itertools.count()
        self._fetching = 0
        self._wake = asyncio.Event()

    def get(self, key: K) -> Fact[V] | Unknown:
        watched = self._watched.get(key)
        if watched is None:
            return Unknown("nobody watches it")
        known = self._read(watched)
        if isinstance(known, Unknown):
            watched.is_known = False  # so that its return is news
        return known

    def watch(self, key: K, fetch: Fetch[V], every_seconds: float, *, greatest_age: float | None = None) -> None:
        """Keep this fact; again and again is fine, and only takes over what is asked for now.

        ``greatest_age`` is three intervals unless told.
        """
        if every_seconds <= 0:
            raise ValueError(f"a fact is fetched every so many seconds, not every {every_seconds}")
        limit = greatest_age if greatest_age is not None else 3 * every_seconds
        if limit < 1.5 * every_seconds:
            raise ValueError(
                f"a fact fetched every {every_seconds:g} s cannot be lost after {limit:g} s: allow 1.5 times"
            )
        watched = self._watched.get(key)
        if watched is None:
            watched = self._watched[key] = _Watched(fetch, every_seconds, limit)
            self._arrange(key, watched, self._clock())
            return
        is_sooner = every_seconds < watched.every
        watched.fetch, watched.every, watched.greatest_age = fetch, every_seconds, limit
        if is_sooner and watched.due is not None and not watched.failures:
            self._arrange(key, watched, min(watched.due, self._clock() + every_seconds))

    def forget(self, key: K) -> None:
        """Nobody needs it any more; a fetch under way is given up."""
        watched = self._watched.pop(key, None)
        if watched is not None and watched.fetching is not None:
            watched.fetching.cancel()

    def __len__(self) -> int:
        return len(self._watched)

    async def run(self) -> None:
        """Fetch what is due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._begin_due(group)
                await self._wait()

    def _begin_due(self, group: asyncio.TaskGroup) -> None:
        now = self._clock()
        while self._appointments and self._appointments[0][0] <= now and self._fetching < self._parallel:
            due, _number, key = heapq.heappop(self._appointments)
            watched = self._watched.get(key)
            if watched is not None and watched.due == due:
                watched.due = None
                self._fetching += 1
                watched.fetching = group.create_task(self._fetch(key, watched))
                watched.fetching.add_done_callback(self._ended)

    def _ended(self, _task: "asyncio.Task[None]") -> None:
        self._fetching -= 1
        self._wake.set()

    async def _wait(self) -> None:
        self._wake.clear()
        is_full = self._fetching >= self._parallel
        if is_full or not self._appointments:
            await self._wake.wait()
            return
        try:
            async with asyncio.timeout(max(0.0, self._appointments[0][0] - self._clock())):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _fetch(self, key: K, watched: _Watched[V]) -> None:
        try:
            async with asyncio.timeout(self._fetch_seconds):
                value = await watched.fetch()
        except TimeoutError:
            self._failed(key, watched, f"no answer within {self._fetch_seconds:g} s")
        except Exception as error:  # noqa: BLE001  whatever a source throws, the fact is not known
            self._failed(key, watched, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        else:
            self._succeeded(key, watched, value)

    def _succeeded(self, key: K, watched: _Watched[V], value: V) -> None:
        is_news = not watched.is_known or value != watched.value
        watched.value, watched.fetched_at, watched.is_known = value, self._clock(), True
        watched.failures = 0
        pause = watched.every * (1 - _SPREAD + 2 * _SPREAD * self._chance())
        self._arrange(key, watched, self._clock() + pause)
        if is_news:
            self._tell(key, watched)

    def _failed(self, key: K, watched: _Watched[V], reason: str) -> None:
        is_first = watched.fetched_at is None and watched.failures == 0
        watched.reason = reason
        backoff = Backoff(first=watched.every, factor=2.0, limit=_MOST_INTERVALS * watched.every)
        again = self._clock() + backoff.delay(watched.failures) * (1 - _SPREAD * self._chance())
        watched.failures += 1
        is_lost = watched.is_known and isinstance(self._read(watched), Unknown)
        if is_lost:
            watched.is_known = False
        if watched.is_known and watched.fetched_at is not None:
            # Look again when it gets too old, so that its loss is told then and not at some later fetch.
            again = min(again, max(self._clock(), watched.fetched_at + watched.greatest_age))
        self._arrange(key, watched, again)
        if is_lost or is_first:
            self._tell(key, watched)

    def _read(self, watched: _Watched[V]) -> Fact[V] | Unknown:
        if watched.fetched_at is None:
            return Unknown(watched.reason)
        age = self._clock() - watched.fetched_at
        if age >= watched.greatest_age:
            return Unknown(
                f"{watched.reason if watched.failures else 'its fetch is late'} (last known {age:.0f} s ago)"
            )
        value: Any = watched.value
        return Fact(value, age)

    def _arrange(self, key: K, watched: _Watched[V], due: float) -> None:
        if self._watched.get(key) is watched:
            watched.due = due
            heapq.heappush(self._appointments, (due, next(self._numbers), key))
            self._wake.set()

    def _tell(self, key: K, watched: _Watched[V]) -> None:
        if self._watched.get(key) is watched:
            self._changed(key)
