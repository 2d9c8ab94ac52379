"""Which active Pods go when there are too many: of an Indexed Job first those without a place of their own.

Those that are worth least go first: without a node, not running yet, not ready, ready for the shortest time, restarted
most often, youngest. Before all of them those that have lost their finalizer already: their removal was begun.
"""

import math
from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.jobs.pod_facts import completion_index, has_place, is_tracked
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import ContainerStatus, Pod
from heliostat.kube.timestamps import moment_of

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def choose_for_removal(job: Job, active: Sequence[Pod], at_least: int) -> list[Pod]:
    misplaced, rest = _without_place(job, active) if job.is_indexed else ([], list(active))
    return misplaced + sorted(rest, key=_worth)[: max(0, at_least - len(misplaced))]


def _without_place(job: Job, active: Iterable[Pod]) -> tuple[list[Pod], list[Pod]]:
    """Those with no index of the Job, or with one that a worthier Pod has too; and all others."""
    misplaced: list[Pod] = []
    best: dict[int, Pod] = {}
    for pod in sorted(active, key=_worth):
        index = completion_index(pod)
        if index is None or not has_place(pod, job):
            misplaced.append(pod)
            continue
        if index in best:
            misplaced.append(best[index])
        best[index] = pod
    return misplaced, list(best.values())


def _worth(pod: Pod) -> tuple[bool, bool, int, bool, float, int, int, float, str]:
    regular, sidecars = _most_restarts(pod)
    return (
        is_tracked(pod),
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        pod.is_ready,
        _earlier_is_worth_more(_ready_since(pod)) if pod.is_ready else 0.0,
        -regular,
        -sidecars,
        _earlier_is_worth_more(pod.metadata.creation_timestamp),
        pod.metadata.name,
    )


def _earlier_is_worth_more(text: str | None) -> float:
    moment = moment_of(text)
    return -math.inf if moment is None else -moment


def _ready_since(pod: Pod) -> str | None:
    ready = (found for found in pod.status.conditions if found.type == "Ready" and found.status == "True")
    return next((found.last_transition_time for found in ready), None)


def _most_restarts(pod: Pod) -> tuple[int, int]:
    names = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    sidecars = [status for status in pod.status.init_container_statuses if status.name in names]
    return _most(pod.status.container_statuses), _most(sidecars)


def _most(statuses: Iterable[ContainerStatus]) -> int:
    return max((status.restart_count for status in statuses), default=0)
