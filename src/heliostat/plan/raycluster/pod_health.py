"""Which Pods are beyond help, which keep their place while they leave, and which would be missed least.

``why_unhealthy`` is the delete table of raycluster.md §5.2: only an ended Pod, or an ended Ray container that will
not be restarted, counts; restarts and probes do not. A terminating Pod keeps its place until it is gone, so that a
group never has more Pods than asked for, but only for a limited time past its grace period: a lost node must not block
a group for ever.

A Pod that ends as soon as it is made (no room on its node, a program that is not there) would be replaced as fast as it
can be reported. So an ended Pod keeps its place until it is ``SHORTEST_LIFE`` old: how fast a place gets new Pods is
bounded by the Pod in view alone, and a restart of the operator forgets nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum, StrEnum

from heliostat.desired import labels
from heliostat.kube.counts import read_count
from heliostat.kube.plan import Wait
from heliostat.kube.pods import (
    PodView,
    Terminated,
    container_status,
    is_ready,
    is_running,
    is_terminal,
    is_terminating,
    why_waiting,
)
from heliostat.kube.timestamps import moment_of
from heliostat.plan.because import Hold

# Differs from KubeRay: L3. There a Pod that never finishes terminating blocks its group until somebody removes it.
WORKER_PATIENCE = 60.0
HEAD_PATIENCE = 300.0  # longer: two heads that both live can spoil what the cluster keeps in Redis
# Differs from KubeRay: ended-at-once.
SHORTEST_LIFE = 10.0  # as long as a kubelet waits before it starts a container again
_CLOCKS_DIFFER = 30.0  # by so much at most; a Pod from further ahead says nothing about its age


class Presence(StrEnum):
    """Where a Pod is in its life, seen from its group."""

    STAYING = "staying"
    LEAVING = "leaving"
    STUCK = "stuck"


def presence_of(pod: PodView, now: float, patience: float) -> Presence:
    if not is_terminating(pod):
        return Presence.STAYING
    return Presence.LEAVING if seconds_until_stuck(pod, now, patience) > 0 else Presence.STUCK


def seconds_until_stuck(pod: PodView, now: float, patience: float) -> float:
    """A deletion timestamp already is the end of the grace period. One that cannot be read never counts as over."""
    deadline = moment_of(pod.deletion_timestamp)
    return patience if deadline is None else deadline + patience - now


def why_unhealthy(pod: PodView) -> str | None:
    """Why this Pod has to be replaced, or None. Deletion is a separate question."""
    if is_terminal(pod):
        return f"the Pod has ended with phase {pod.phase}"
    ended = ray_termination(pod)
    if is_running(pod) and ended is not None and pod.restart_policy == "Never":
        return f"the Ray container has ended with exit code {ended.exit_code} and restartPolicy is Never"
    return None


def seconds_until_replaced(pod: PodView, now: float) -> float:
    """How long an ended Pod still keeps its place; 0: it has to be replaced now."""
    created = moment_of(pod.creation_timestamp)
    left = 0.0 if created is None else created + SHORTEST_LIFE - now
    return left if 0 < left <= SHORTEST_LIFE + _CLOCKS_DIFFER else 0.0


def why_replace(pod: PodView, now: float) -> str | None:
    """Why this Pod has to be replaced now, or None."""
    why = why_unhealthy(pod)
    return None if why is None or seconds_until_replaced(pod, now) else why


def ended_at_once(pods: Iterable[PodView], now: float) -> list[PodView]:
    """Those that have ended and keep their places for a while, so that their successors do not come too fast."""
    return [pod for pod in pods if why_unhealthy(pod) is not None and seconds_until_replaced(pod, now)]


def ray_termination(pod: PodView) -> Terminated | None:
    """How the Ray container, the first one, ended; None while it has not."""
    if not pod.container_names:
        return None
    status = container_status(pod, pod.container_names[0])
    return status.state.terminated if status is not None else None


class Worth(IntEnum):
    """How much would be lost with a Pod: the lowest goes first."""

    NOT_SCHEDULED = 0
    NOT_RUNNING = 1
    NOT_READY = 2
    READY = 3


def worth_of(pod: PodView) -> Worth:
    if is_running(pod):
        return Worth.READY if is_ready(pod) else Worth.NOT_READY
    return Worth.NOT_RUNNING if pod.node_name else Worth.NOT_SCHEDULED


def rank_victims(pods: list[PodView]) -> list[PodView]:
    """Least worth first; of equals the youngest, then the highest index.

    Differs from KubeRay: R5-29, which takes them in the arbitrary order of its cache.
    """
    by_name = sorted(pods, key=lambda pod: pod.name)
    youngest_first = sorted(by_name, key=_youth, reverse=True)
    return sorted(youngest_first, key=worth_of)


def _youth(pod: PodView) -> tuple[str, int]:
    index = replica_index(pod)
    return pod.creation_timestamp, -1 if index is None else index


def replica_index(pod: PodView) -> int | None:
    """The index that a Pod's label names; a label that is no number names none."""
    return read_count(pod.labels.get(labels.REPLICA_INDEX, ""))


def node_type(pod: PodView) -> str:
    return pod.labels.get(labels.NODE_TYPE, "")


def group_of(pod: PodView) -> str:
    return pod.labels.get(labels.GROUP, "")


def tell_unready(pods: tuple[PodView, ...]) -> Iterator[Wait]:
    """One wait for each group and cause, with the first Pod's words."""
    count: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[PodView, str]] = {}
    for pod in pods:
        why = None if is_terminating(pod) or is_terminal(pod) else why_waiting(pod)
        if why is not None:
            key = group_of(pod), why[0]
            count[key] += 1
            first.setdefault(key, (pod, why[1]))
    for (group, reason), (pod, sentence) in first.items():
        others = count[group, reason] - 1
        who = f"Pod {pod.name}" + (f" and {others} more of group {group}" if others else "")
        yield Wait(Hold.POD_NOT_READY, f"{who}: {reason}: {sentence}", "it is ready")
