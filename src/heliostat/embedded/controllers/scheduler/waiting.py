"""The Pods that wait for a node: who comes first, who has been tried, and when to try again.

Rules: the highest priority first, then the oldest; a Pod that fitted nowhere is *parked* until a change could help
it, at the latest after five minutes; the first such change is answered at once, later ones after a back-off of 1 to
10 seconds since the last attempt. All of this only delays; a restart tries everybody at once.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TypeAlias

from heliostat.embedded.controllers.scheduler.demand import Demand
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.backoff import Backoff
from heliostat.kube.objects import Key

LONGEST_PARKING = 300.0
_BACKOFF = Backoff(first=1.0, factor=2.0, limit=10.0)

_Rank: TypeAlias = tuple[int, str, int]
_Group: TypeAlias = tuple[bytes, bool, bool]


class WaitingPod:
    __slots__ = (
        "arrival",
        "attempts",
        "bound_at",
        "demand",
        "is_blocked",
        "is_parked",
        "is_tried",
        "pod",
        "told",
        "tried_at",
    )

    def __init__(self, pod: Pod, demand: Demand, arrival: int) -> None:
        self.pod = pod
        self.demand = demand
        self.arrival = arrival
        self.is_tried = False  # somebody behind it in the queue was looked at, and it was decided on the way
        self.is_parked = False
        self.is_blocked = False  # by its volumes
        self.attempts = 0
        self.tried_at = 0.0
        self.told = ""  # why it fitted nowhere
        self.bound_at: float | None = None  # when its binding was sent

    @property
    def rank(self) -> _Rank:
        return -self.demand.load.priority, self.pod.metadata.creation_timestamp or "", self.arrival

    @property
    def speaks_of_others(self) -> bool:
        """Pods on other nodes count too when it is judged."""
        return bool(self.demand.together or self.demand.load.apart or self.demand.spread)

    @property
    def group(self) -> _Group:
        """What helps one of the group could help all of them."""
        return self.demand.shape, self.is_blocked, self.speaks_of_others

    @property
    def not_before(self) -> float:
        return self.tried_at + _BACKOFF.delay(self.attempts - 2) if self.attempts > 1 else 0.0


class WaitingRoom:
    def __init__(self) -> None:
        self._waiting: dict[Key, WaitingPod] = {}
        self._parked: dict[_Group, dict[Key, WaitingPod]] = {}
        self._line: list[tuple[_Rank, Key]] = []
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def get(self, key: Key) -> WaitingPod | None:
        return self._waiting.get(key)

    def arrive(self, pod: Pod, demand: Demand) -> None:
        """A Pod that is new here, or asks for something else than before."""
        self.leave(pod.metadata.key)
        self._arrivals += 1
        entry = self._waiting[pod.metadata.key] = WaitingPod(pod, demand, self._arrivals)
        heappush(self._line, (entry.rank, pod.metadata.key))

    def leave(self, key: Key) -> None:
        entry = self._waiting.pop(key, None)
        if entry is not None:
            self._unpark(entry)

    def in_namespace(self, namespace: str) -> list[WaitingPod]:
        return [entry for key, entry in self._waiting.items() if key.namespace == namespace]

    def park(self, entry: WaitingPod, told: str, now: float) -> None:
        entry.is_parked, entry.is_tried = True, False
        entry.attempts += 1
        entry.tried_at, entry.told = now, told
        self._parked.setdefault(entry.group, {})[entry.demand.key] = entry

    def wake(self, could_help: Callable[[WaitingPod], bool]) -> list[Key]:
        """Those among the parked that a change could help; asked once for each group."""
        woken = [
            entry
            for group in self._parked.values()
            if could_help(next(iter(group.values())))
            for entry in group.values()
        ]
        for entry in woken:
            self._unpark(entry)
            heappush(self._line, (entry.rank, entry.demand.key))
        return [entry.demand.key for entry in woken]

    def take(self, entry: WaitingPod) -> None:
        """It is decided on now: no longer ahead of anybody."""
        entry.is_tried = True
        self._unpark(entry)

    def ahead_of(self, entry: WaitingPod, now: float) -> Iterator[WaitingPod]:
        """Those to be decided on before it, the first first; whoever comes up is out of the line."""
        delayed = []
        while self._line and self._line[0][0] < entry.rank:
            rank, key = heappop(self._line)
            found = self._waiting.get(key)
            if found is None or found.rank != rank or found.is_tried or found.is_parked:
                continue
            if found.not_before > now:
                delayed.append((rank, key))
                continue
            found.is_tried = True
            yield found
        for item in delayed:
            heappush(self._line, item)

    def seconds_until_due(self, entry: WaitingPod, now: float) -> float:
        until = entry.tried_at + LONGEST_PARKING if entry.is_parked else entry.not_before
        return max(0.0, until - now)

    def _unpark(self, entry: WaitingPod) -> None:
        if entry.is_parked:
            entry.is_parked = False
            group = self._parked[entry.group]
            del group[entry.demand.key]
            if not group:
                del self._parked[entry.group]
