"""What of a RayCluster runs, and where: counts for the verdict and a row for each Pod."""

from msgspec import Struct

from heliostat.desired import labels
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.pods import PodView, is_ready, why_waiting
from heliostat.plan.raycluster.pod_health import group_of, node_type

_HEADINGS = ("GROUP", "POD", "STATE", "NODE", "ADDRESS")
_MOST_ROWS = 40


class Count(Struct, frozen=True):
    """Of Pods that are ready."""

    heads: int
    workers: dict[str, int]  # by group

    def has_all(self, desired: DesiredCluster) -> bool:
        return self.heads == 1 and all(self.workers.get(group.name, 0) >= group.pods for group in desired.groups)

    def __str__(self) -> str:
        number = sum(self.workers.values())
        return f"{self.heads} head and {number} {'worker' if number == 1 else 'workers'}"

    def out_of(self, desired: DesiredCluster) -> str:
        wanted = sum(group.pods for group in desired.groups)
        return f"{self.heads} of 1 head and {sum(self.workers.values())} of {wanted} workers are ready"


def count_ready(pods: tuple[PodView, ...]) -> Count:
    heads, workers = 0, dict[str, int]()
    for pod in filter(is_ready, pods):
        if node_type(pod) == labels.HEAD:
            heads += 1
        elif node_type(pod) == labels.WORKER:
            workers[group_of(pod)] = workers.get(group_of(pod), 0) + 1
    return Count(heads, workers)


def list_places(pods: tuple[PodView, ...]) -> tuple[tuple[str, ...], ...]:
    """The headings and a row for each Pod: heads first, and of very many those that are not ready before the others."""
    is_crowd = len(pods) > _MOST_ROWS
    ordered = sorted(
        pods, key=lambda pod: (node_type(pod) != labels.HEAD, is_crowd and is_ready(pod), group_of(pod), pod.name)
    )
    rows = [(group_of(pod), pod.name, _state(pod), pod.node_name or "-", pod.pod_ip or "-") for pod in ordered]
    table = [_HEADINGS, *rows[:_MOST_ROWS]] if rows else []
    if is_crowd:
        table.append(("…", f"and {len(rows) - _MOST_ROWS} more", "", "", ""))
    first = 0 if any(group_of(pod) for pod in pods) else 1  # Pods of no worker group need no column for it
    return tuple(row[first:] for row in table)


def _state(pod: PodView) -> str:
    if is_ready(pod):
        return "Ready"
    why = why_waiting(pod)
    return why[0] if why is not None else pod.phase
