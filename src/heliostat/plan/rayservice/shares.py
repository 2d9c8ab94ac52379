"""The arithmetic of an incremental upgrade: how much each of two clusters can take, and how much it gets.

Capacity is a percentage of what the spec asks for (Serve's ``target_capacity``), traffic the weight on the route. Each
is moved only when the other has followed: capacity first where it grows, traffic first where it shrinks. Forward goes
to the pending cluster, backward to the active one. Everything here is a function of numbers (rayservice.md §6.4–§6.7).
"""

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.rayservice import RayService
from heliostat.desired.rayservice.gateway import upgrade_options

ALL = 100


class StepLimits(Struct, frozen=True):
    """``surge`` is how much capacity both together may have beyond 100, ``step`` how much traffic moves at once."""

    surge: int
    step: int
    interval: int  # seconds between two moves of traffic


class Share(Struct, frozen=True):
    """Of one cluster, in percent; ``moved`` is when its traffic last changed, None: it never had any."""

    capacity: int
    traffic: int
    moved: float | None = None


class Split(Struct, frozen=True):
    active: Share
    pending: Share
    is_back: bool = False

    @property
    def capacity(self) -> int:
        return self.active.capacity + self.pending.capacity

    @property
    def weights(self) -> tuple[int, int]:
        return self.active.traffic, self.pending.traffic

    @property
    def gaining(self) -> Share:
        """Of the cluster that traffic goes to."""
        return self.active if self.is_back else self.pending


def read_limits(service: RayService) -> StepLimits:
    options = upgrade_options(service)
    if options is None:
        return StepLimits(0, 0, 1)  # refused before anybody asks
    surge = 100 if options.max_surge_percent is None else options.max_surge_percent
    return StepLimits(surge, options.step_size_percent, max(options.interval_seconds, 1))


def step_capacity(split: Split, limits: StepLimits, *, can_grow: bool = True) -> Split:
    """The pending cluster first; what becomes of it counts for the active one.

    ``can_grow``: somebody on the pending cluster would take note. Differs from KubeRay: rayservice-capacity-covers.
    """
    pending = _step_pending(split, limits, can_grow=can_grow)
    split = replace(split, pending=replace(split.pending, capacity=pending))
    return replace(split, active=replace(split.active, capacity=_step_active(split, limits)))


def _step_pending(split: Split, limits: StepLimits, *, can_grow: bool) -> int:
    active, pending = split.active, split.pending
    if split.is_back:
        is_due = active.capacity == active.traffic and split.capacity > ALL
        return max(pending.capacity - limits.surge, pending.traffic, 0) if is_due else pending.capacity
    is_due = pending.capacity == pending.traffic and split.capacity <= ALL
    return min(pending.capacity + limits.surge, ALL) if is_due and can_grow else pending.capacity


def _step_active(split: Split, limits: StepLimits) -> int:
    active, pending = split.active, split.pending
    if split.is_back:
        is_due = active.capacity == active.traffic and split.capacity <= ALL
        return min(active.capacity + limits.surge, ALL) if is_due else active.capacity
    is_due = pending.capacity == pending.traffic and split.capacity > ALL
    return max(active.capacity - limits.surge, active.traffic, 0) if is_due else active.capacity


def next_weights(split: Split, limits: StepLimits) -> tuple[int, int]:
    """Those of the active and of the pending cluster after the next move, whenever that is due."""
    gaining = split.gaining
    gained = max(min(gaining.traffic + limits.step, gaining.capacity, ALL), gaining.traffic)
    return (gained, ALL - gained) if split.is_back else (ALL - gained, gained)


def seconds_until_due(split: Split, limits: StepLimits, now: float) -> float:
    """0: traffic may move now."""
    moved = split.gaining.moved
    return 0.0 if moved is None else max(moved + limits.interval - now, 0.0)


def is_moved(split: Split) -> bool:
    """Nothing is left on the active cluster: the pending one takes its place (rayservice.md §6.6)."""
    return not split.is_back and split.active.capacity == 0 and split.pending.traffic == ALL


def is_moved_back(split: Split, *, is_pending_alive: bool) -> bool:
    """The former routing is whole again, and the pending cluster has let go of everything, or is dead (§6.7)."""
    active, pending = split.active, split.pending
    is_whole = split.is_back and active.capacity == ALL and active.traffic == ALL
    return is_whole and (not is_pending_alive or (pending.capacity == 0 and pending.traffic == 0))
