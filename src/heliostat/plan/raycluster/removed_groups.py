"""Pods of worker groups that the spec no longer has.

They go when the operator saw the group in an earlier generation of this very spec. Leftovers that it finds, at a
take-over or after a restart, are only reported: nobody knows whether they were forgotten or are meant to stay.
Differs from KubeRay: R5-41 leaves all of them for ever.
"""

from heliostat.desired import labels
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.plan import Wait
from heliostat.kube.pods import PodView, is_terminating
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import Part
from heliostat.plan.raycluster.pod_context import delete_pod
from heliostat.plan.raycluster.pod_health import group_of, node_type
from heliostat.plan.raycluster.reports import report_removed_group
from heliostat.plan.raycluster.situation import Remembered


def plan_removed_groups(pods: tuple[PodView, ...], desired: DesiredCluster, remembered: Remembered) -> Part:
    named = {group.name for group in desired.groups}
    staying = (pod for pod in pods if node_type(pod) == labels.WORKER and not is_terminating(pod))
    orphans = [pod for pod in staying if group_of(pod) not in named]
    deletes = [
        delete_pod(pod, Because.GROUP_REMOVED, report_removed_group(pod, group_of(pod)))
        for pod in orphans
        if group_of(pod) in remembered.groups_seen
    ]
    leftovers = sorted({group_of(pod) for pod in orphans} - remembered.groups_seen)
    return Part(actions=tuple(deletes), waits=tuple(_tell_leftovers(group, orphans) for group in leftovers))


def _tell_leftovers(group: str, orphans: list[PodView]) -> Wait:
    names = sorted(pod.name for pod in orphans if group_of(pod) == group)  # the same words at every look
    message = f"{len(names)} Pods belong to worker group {group!r}, which is not in the spec: {', '.join(names[:3])}"
    return Wait(Hold.LEFTOVER_PODS, message, "they are deleted by hand or the group is back in the spec")
