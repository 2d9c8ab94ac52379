"""Which Pods are beyond help, which keep their place while they leave, and which would be missed least.

``why_unhealthy`` is the delete table of raycluster.md §5.2: only an ended Pod, or an ended Ray container that will
not be restarted, counts; restarts and probes do not. A terminating Pod keeps its place until it is gone, so that a
group never has more Pods than asked for, but only up to a patience past its grace period: a lost node must not block
a group for ever.
"""

from enum import IntEnum, StrEnum

from heliostat.desired import labels
from heliostat.kube.pods import PodView, Terminated, container_status, is_ready, is_running, is_terminal, is_terminating
from heliostat.plan.moments import moment_of

# Differs from KubeRay: L3. There a Pod that never finishes terminating blocks its group until somebody removes it.
WORKER_PATIENCE = 60.0
HEAD_PATIENCE = 300.0  # longer: two heads that both live can spoil what the cluster keeps in Redis


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
    text = pod.labels.get(labels.REPLICA_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else None


def node_type(pod: PodView) -> str:
    return pod.labels.get(labels.NODE_TYPE, "")


def group_of(pod: PodView) -> str:
    return pod.labels.get(labels.GROUP, "")
