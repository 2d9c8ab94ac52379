"""Facts from outside Kubernetes, fetched on the side: a decision reads what is known and never waits for an answer.

Rules: a fact is a value with an age, or unknown with a reason; it outlives failed fetches until its greatest age and
is unknown from then on; whoever decides by it hears of every new or changed value and of its loss, not of repetitions.
One fetch runs for each key, so many for each source, so many in all: a source that hangs holds its own places and
delays nobody else. Failures, a cancelled fetch among them, make the next fetch later each time. ``refresh`` makes what
is known stale: only a fetch that begins later counts. Fetches that are due almost together begin together: to wake up
for each of many costs more than the fetch itself.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from heliostat.kube.backoff import Backoff
from heliostat.kube.facts import Fact, Unknown

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_SPREAD = 0.1  # of an interval, up and down, so that a thousand watches do not ask in step
_MOST_INTERVALS = 16  # between two fetches that fail
_MOST_SILENCE = 2.0  # intervals between two equal answers that count
_TIMER_SLACK = 0.001  # seconds by which a timer may be early

Fetch: TypeAlias = Callable[[], Awaitable[V]]


class Parallel(Struct, frozen=True):
    """How many fetches run at once. Those without a source only count in all."""

    in_all: int = 64
    per_source: int = 2


class _Watched(Generic[V]):
    """One fact and how it is kept; a new one for every ``watch`` after a ``forget``."""

    def __init__(self, fetch: Fetch[V], every: float, greatest_age: float, source: str) -> None:
        self.fetch = fetch
        self.every = every
        self.greatest_age = greatest_age
        self.source = source
        self.value: V | None = None
        self.value_source = ""
        self.fetched_at: float | None = None
        self.alike: float = 0.0  # seconds for which answers have been equal
        self.version = 0  # of what the fact is about: one more with every refresh
        self.known_version = 0  # that the value is of
        self.not_before = float("-inf")  # a fetch that begins earlier cannot tell
        self.told: bool | None = None  # as last told: known, or unknown; None: nothing since it was asked for
        self.reason = "not fetched yet"
        self.failures = 0
        self.due: float | None = None  # None: a fetch is under way
        self.fetching: asyncio.Task[None] | None = None
        self.is_late = False  # the fetch under way, and it was given up


class FactCache(Generic[K, V]):
    """``changed`` is called with the key; ``clock`` is the loop's; ``chance`` gives numbers in [0, 1)."""

    def __init__(
        self,
        changed: Callable[[K], None],
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        parallel: Parallel | None = None,
        fetch_seconds: float = 5.0,
        early_seconds: float = 0.0,
    ) -> None:
        """``early_seconds``: so much earlier than it is due a fetch may begin, beside one that is due."""
        self._changed = changed
        self._clock = clock
        self._chance = chance
        self._parallel = parallel or Parallel()
        self._fetch_seconds = fetch_seconds
        self._early_seconds = early_seconds
        self._slack = min(_TIMER_SLACK, early_seconds)  # by which a fetch may begin early on its own
        self._watched: dict[K, _Watched[V]] = {}
        self._appointments: list[tuple[float, int, K, str]] = []
        self._parked: dict[str, deque[tuple[float, int, K, str]]] = {}  # due, and their source has no place free
        self._numbers = itertools.count()
        self._fetching = 0
        self._fetching_of: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._sleeps_until = float("-inf")  # who begins fetches; an earlier appointment has to wake it

    def get(self, key: K) -> Fact[V] | Unknown:
        watched = self._watched.get(key)
        if watched is None:
            return Unknown("nobody watches it")
        known = self._read(watched)
        if isinstance(known, Unknown) and watched.told:
            watched.told = False  # so that its return is news
        return known

    def held(self, key: K) -> float:
        """Seconds for which every answer, up to the last one, has been the same.

        A silence between two of them counts as a short one, and after one so long that nothing was known they begin
        anew: equal answers a minute apart say nothing of what was between them.
        """
        watched = self._watched.get(key)
        return 0.0 if watched is None else watched.alike

    def watch(
        self, key: K, fetch: Fetch[V], every_seconds: float, *, source: str = "", greatest_age: float | None = None
    ) -> None:
        """Keep this fact; again and again is fine, and only takes over what is asked for now.

        ``source`` is who is asked (a host). ``greatest_age`` is three intervals unless told.
        """
        limit = _age_limit(every_seconds, greatest_age)
        watched = self._watched.get(key)
        if watched is None:
            watched = self._watched[key] = _Watched(fetch, every_seconds, limit, source)
            self._arrange(key, watched, self._clock())
            return
        is_sooner = every_seconds < watched.every and not watched.failures
        is_elsewhere = source != watched.source
        watched.fetch, watched.every, watched.greatest_age, watched.source = fetch, every_seconds, limit, source
        if is_elsewhere:
            self.refresh(key)
        elif is_sooner and watched.due is not None:
            self._arrange(key, watched, min(watched.due, self._clock() + every_seconds))

    def refresh(self, key: K, at: float | None = None) -> None:
        """Fetch it anew now, or at that later moment; until that fetch has answered it is unknown.

        For who has changed, or may have changed, what the fact is about. Of several such moments the last counts.
        """
        watched = self._watched.get(key)
        if watched is None:
            return
        watched.version += 1
        watched.told = None
        watched.not_before = max(self._clock() if at is None else at, watched.not_before)
        if watched.due is not None:
            self._arrange(key, watched, watched.not_before)

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
        if not self._appointments or self._appointments[0][0] > now + self._slack:
            return
        soon = now + self._early_seconds
        while self._appointments and self._appointments[0][0] <= soon and self._fetching < self._parallel.in_all:
            due, _number, key, source = appointment = self._appointments[0]
            watched = self._watched.get(key)
            if watched is not None and watched.not_before > now and watched.due == due:
                return  # a fetch that begins earlier would tell nothing
            heapq.heappop(self._appointments)
            if watched is None or watched.due != due or watched.source != source:
                self._unpark(source)  # this one had its turn for nothing
            elif source and self._fetching_of.get(source, 0) >= self._parallel.per_source:
                self._parked.setdefault(source, deque()).append(appointment)
            else:
                self._begin(group, key, watched)

    def _begin(self, group: asyncio.TaskGroup, key: K, watched: _Watched[V]) -> None:
        source, version = watched.source, watched.version
        watched.due, watched.is_late = None, False
        self._fetching += 1
        self._fetching_of[source] = self._fetching_of.get(source, 0) + 1
        task = watched.fetching = group.create_task(self._fetch(key, watched, version))
        alarm = asyncio.get_running_loop().call_later(self._fetch_seconds, _give_up, watched, task)

        def ended(task: "asyncio.Task[None]") -> None:
            alarm.cancel()
            self._leave(source)
            if task.cancelled() and self._watched.get(key) is watched:
                late = f"no answer within {self._fetch_seconds:g} s"
                self._judge(key, watched, version, late if watched.is_late else "its fetch was cancelled")

        task.add_done_callback(ended)

    def _leave(self, source: str) -> None:
        if self._fetching >= self._parallel.in_all:
            self._wake.set()
        self._fetching -= 1
        self._fetching_of[source] -= 1
        if not self._fetching_of[source]:
            del self._fetching_of[source]
        self._unpark(source)

    def _unpark(self, source: str) -> None:
        parked = self._parked.get(source)
        if parked:
            self._push(parked.popleft())
        if not parked:
            self._parked.pop(source, None)

    async def _wait(self) -> None:
        self._wake.clear()
        alarm = None
        if self._fetching < self._parallel.in_all:  # else whoever ends wakes us
            self._sleeps_until = self._appointments[0][0] if self._appointments else float("inf")
            if self._appointments:
                seconds = max(0.0, self._sleeps_until - self._clock())
                alarm = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            self._sleeps_until = float("-inf")
            if alarm is not None:
                alarm.cancel()

    async def _fetch(self, key: K, watched: _Watched[V], version: int) -> None:
        source = watched.source
        try:
            value = await watched.fetch()
        except Exception as error:  # noqa: BLE001  whatever a source throws, the fact is not known
            failure = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._judge(key, watched, version, failure)
            return
        if version != watched.version:
            self._arrange(key, watched, self._clock())  # it began too early to tell anything
        else:
            self._succeeded(key, watched, value, source)

    def _judge(self, key: K, watched: _Watched[V], version: int, failure: str) -> None:
        if version != watched.version:
            self._arrange(key, watched, self._clock())  # as above
        else:
            self._failed(key, watched, failure)

    def _succeeded(self, key: K, watched: _Watched[V], value: V, source: str) -> None:
        is_other = watched.fetched_at is None or (value is not watched.value and value != watched.value)
        is_news = not watched.told or is_other
        is_first = is_other or not watched.told or watched.known_version != watched.version
        if watched.fetched_at is None or is_first:
            watched.alike = 0.0
        else:
            watched.alike += min(self._clock() - watched.fetched_at, _MOST_SILENCE * watched.every)
        watched.value, watched.value_source, watched.fetched_at = value, source, self._clock()
        watched.told, watched.failures, watched.known_version = True, 0, watched.version
        pause = watched.every * (1 - _SPREAD + 2 * _SPREAD * self._chance())
        self._arrange(key, watched, self._clock() + pause)
        if is_news:
            self._tell(key, watched)

    def _failed(self, key: K, watched: _Watched[V], reason: str) -> None:
        watched.reason = reason
        backoff = Backoff(first=watched.every, factor=2.0, limit=_MOST_INTERVALS * watched.every)
        again = self._clock() + backoff.delay(watched.failures) * (1 - _SPREAD * self._chance())
        watched.failures += 1
        is_unknown = isinstance(self._read(watched), Unknown)
        is_news = is_unknown and watched.told is not False
        if is_unknown:
            watched.told = False
        elif watched.fetched_at is not None:
            # Look again when it is too old, so that its loss is told then and not at some later fetch; not earlier, or
            # a fetch that fails at once would be followed by the next one until it is.
            again = min(again, watched.fetched_at + watched.greatest_age + 2 * self._slack)
        self._arrange(key, watched, again)
        if is_news:
            self._tell(key, watched)

    def _read(self, watched: _Watched[V]) -> Fact[V] | Unknown:
        if watched.fetched_at is None:
            return Unknown(watched.reason)
        now = self._clock()
        age = now - watched.fetched_at
        if watched.known_version != watched.version:
            why = watched.reason if watched.failures else "it is being fetched anew"
            return Unknown(f"{why} (last known {age:.0f} s ago)")
        if now >= watched.fetched_at + watched.greatest_age:
            return Unknown(
                f"{watched.reason if watched.failures else 'its fetch is late'} (last known {age:.0f} s ago)"
            )
        value: Any = watched.value
        return Fact(value, age, watched.value_source)

    def _arrange(self, key: K, watched: _Watched[V], due: float) -> None:
        if self._watched.get(key) is watched:
            watched.due = max(due, watched.not_before)
            self._push((watched.due, next(self._numbers), key, watched.source))

    def _push(self, appointment: tuple[float, int, K, str]) -> None:
        heapq.heappush(self._appointments, appointment)
        if appointment[0] < self._sleeps_until:
            self._wake.set()

    def _tell(self, key: K, watched: _Watched[V]) -> None:
        if self._watched.get(key) is watched:
            self._changed(key)


def _give_up(watched: _Watched[Any], task: "asyncio.Task[None]") -> None:
    watched.is_late = task.cancel()


def _age_limit(every_seconds: float, greatest_age: float | None) -> float:
    if every_seconds <= 0:
        raise ValueError(f"a fact is fetched every so many seconds, not every {every_seconds}")
    limit = greatest_age if greatest_age is not None else 3 * every_seconds
    if limit < 1.5 * every_seconds:
        raise ValueError(f"a fact fetched every {every_seconds:g} s cannot be lost after {limit:g} s: allow 1.5 times")
    return limit
