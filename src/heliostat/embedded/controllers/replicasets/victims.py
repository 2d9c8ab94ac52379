"""Which Pods go first when there are too many.

The first difference in ``_PREFERENCES`` decides: those that are worth least to the user come first. Ages are compared
by their power of two, so that among Pods of about the same age not always the youngest goes.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cmp_to_key

from msgspec import Struct

from heliostat.embedded.controllers.views.pods import ContainerStatus, Pod
from heliostat.kube.timestamps import moment_of

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_WHOLE = re.compile(r"-[0-9]{1,10}|0|[1-9][0-9]{0,9}")
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1_000_000_000


class _Candidate(Struct, frozen=True):
    """A Pod with what it is compared by, read once."""

    pod: Pod
    is_ready: bool
    cost: int
    neighbours: int
    ready_since: float | None
    restarts: tuple[int, int]
    created: float | None


def choose_victims(pods: Sequence[Pod], related: Callable[[], Iterable[Pod]], count: int, now: float) -> list[Pod]:
    """``related`` are the Pods of all ReplicaSets of the same owner; it is only asked if there is a choice."""
    if count >= len(pods):
        return list(pods)
    neighbours = _count_by_node(related())
    candidates = [_candidate_of(pod, neighbours) for pod in pods]
    candidates.sort(key=cmp_to_key(lambda left, right: _compare(left, right, now)))
    return [candidate.pod for candidate in candidates[:count]]


def _count_by_node(pods: Iterable[Pod]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for pod in {pod.metadata.uid: pod for pod in pods if pod.is_active}.values():
        counts[pod.spec.node_name] = counts.get(pod.spec.node_name, 0) + 1
    return counts


def _candidate_of(pod: Pod, neighbours: Mapping[str, int]) -> _Candidate:
    ready = next((found for found in pod.status.conditions if found.type == "Ready" and found.status == "True"), None)
    return _Candidate(
        pod=pod,
        is_ready=ready is not None,
        cost=_cost_of(pod),
        neighbours=neighbours.get(pod.spec.node_name, 0),
        ready_since=moment_of(ready.last_transition_time) if ready is not None else None,
        restarts=_restarts_of(pod),
        created=moment_of(pod.metadata.creation_timestamp),
    )


def _cost_of(pod: Pod) -> int:
    """What is not a whole number of 32 bits, or has a plus sign or leading zeros, counts as 0."""
    text = pod.metadata.annotations.get(_DELETION_COST, "")
    cost = int(text) if _WHOLE.fullmatch(text) else 0
    return cost if -(2**31) <= cost < 2**31 else 0


def _restarts_of(pod: Pod) -> tuple[int, int]:
    """The most of any container, and the most of any sidecar."""
    sidecars = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    beside = [status for status in pod.status.init_container_statuses if status.name in sidecars]
    return _most_restarts(pod.status.container_statuses), _most_restarts(beside)


def _most_restarts(statuses: Iterable[ContainerStatus]) -> int:
    return max((status.restart_count for status in statuses), default=0)


def _compare(left: _Candidate, right: _Candidate, now: float) -> int:
    for prefer in _PREFERENCES:
        if verdict := prefer(left, right, now):
            return verdict
    return 0


def _younger(left: float | None, right: float | None, pair: tuple[_Candidate, _Candidate], now: float) -> int:
    """No time at all counts as younger; ages with the same power of two are told apart by UID."""
    if left == right:
        return 0
    if left is None or right is None:
        return -1 if left is None else 1
    by_age = _magnitude(now - left) - _magnitude(now - right)
    return by_age or (-1 if pair[0].pod.metadata.uid < pair[1].pod.metadata.uid else 1)


def _magnitude(seconds: float) -> int:
    return int(math.log2(seconds * _NANOSECONDS)) if seconds > 0 else -1


# Negative: the left one goes first.
_PREFERENCES: tuple[Callable[[_Candidate, _Candidate, float], int], ...] = (
    lambda left, right, _now: bool(left.pod.spec.node_name) - bool(right.pod.spec.node_name),
    lambda left, right, _now: _PHASES.get(left.pod.status.phase, 0) - _PHASES.get(right.pod.status.phase, 0),
    lambda left, right, _now: left.is_ready - right.is_ready,
    lambda left, right, _now: left.cost - right.cost,
    lambda left, right, _now: right.neighbours - left.neighbours,
    lambda left, right, now: (
        _younger(left.ready_since, right.ready_since, (left, right), now) if left.is_ready and right.is_ready else 0
    ),
    lambda left, right, _now: right.restarts[0] - left.restarts[0] or right.restarts[1] - left.restarts[1],
    lambda left, right, now: _younger(left.created, right.created, (left, right), now),
)
