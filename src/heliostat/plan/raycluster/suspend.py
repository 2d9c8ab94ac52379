"""Suspension: all or nothing, in two steps that survive a crash.

The status says ``Suspending`` first, then the Pods go, and only when none is left it says ``Suspended``. Until then the
wish cannot be taken back: whoever counts on a suspended cluster's capacity must find it free. Both tables are data:
what happens to the Pods (R5-3), and how the two conditions move (raycluster.md §8.2, step 4).
"""

from enum import StrEnum

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.kube.plan import Delete, Report, Wait
from heliostat.kube.pods import PodView, is_terminating
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import Part
from heliostat.plan.raycluster.pod_context import delete_pod
from heliostat.plan.raycluster.reports import only_failure, report_suspension

SUSPENDING = "RayClusterSuspending"
SUSPENDED = "RayClusterSuspended"
NEITHER = ""


class PodsFate(StrEnum):
    DELETE_ALL = "delete all Pods"
    LEAVE = "leave the Pods as they are"
    RECONCILE = "bring the Pods in line with the spec"


class _Row(Struct, frozen=True):
    gate: bool | None  # None stands for any
    status: str | None
    suspend: bool | None
    fate: PodsFate


FATES: tuple[_Row, ...] = (  # the first row that fits (KubeRay: R5-3)
    _Row(None, SUSPENDING, None, PodsFate.DELETE_ALL),
    _Row(False, None, True, PodsFate.DELETE_ALL),
    _Row(True, SUSPENDED, None, PodsFate.LEAVE),
    _Row(True, NEITHER, True, PodsFate.LEAVE),  # the status step says Suspending first
    _Row(None, None, None, PodsFate.RECONCILE),
)


def decide_pods_fate(*, gate: bool, status: str, suspend: bool) -> PodsFate:
    return next(
        row.fate
        for row in FATES
        if row.gate in (None, gate) and row.status in (None, status) and row.suspend in (None, suspend)
    )


def suspend_status(conditions: list[JsonObject] | None) -> str:
    """The first of the two conditions, in list order, that is True."""
    for condition in conditions or []:
        if condition.get("type") in (SUSPENDING, SUSPENDED) and condition.get("status") == "True":
            return str(condition["type"])
    return NEITHER


def next_suspend_conditions(status: str, *, has_pods: bool, suspend: bool | None) -> dict[str, bool]:
    """Which of the two conditions to set to what; the order is the order in which they are first written."""
    if status == SUSPENDING:
        return {} if has_pods else {SUSPENDING: False, SUSPENDED: True}
    if status == SUSPENDED:
        # KubeRay: only an explicit false resumes; removing the field does not.
        return {SUSPENDED: False} if suspend is False else {}
    return {SUSPENDED: False, SUSPENDING: suspend is True}


def plan_suspension(cluster: RayCluster, pods: tuple[PodView, ...]) -> Part:
    """Every Pod that is not leaving yet goes; the others are waited for."""
    place = f"{cluster.metadata.namespace}/{cluster.metadata.name}"
    report = report_suspension(place)
    deletes = delete_all(pods, Because.SUSPENDED, report)
    if pods:
        left = f"{len(pods)} Pods are still there"
        return Part(actions=deletes, waits=(Wait(Hold.SUSPENDING, left, "all Pods are gone"),))
    # KubeRay: tells it once more when nothing is left, which is how a cluster born suspended gets this event at all.
    return Part(events=(report.success,) if report.success else ())


def explain_leaving_alone(status: str) -> Part:
    if status == SUSPENDED:
        wait = Wait(Hold.SUSPENDED, "the cluster is suspended", "spec.suspend is false")
    else:
        wait = Wait(Hold.SUSPENDING, "the cluster is about to be suspended", "the status says so")
    return Part(waits=(wait,))


def delete_all(pods: tuple[PodView, ...], because: Because, report: Report) -> tuple[Delete, ...]:
    """One delete for each Pod that is not leaving yet; success is told once, with the last."""
    staying = [pod for pod in pods if not is_terminating(pod)]
    quiet = only_failure(report)
    return tuple(delete_pod(pod, because, report if pod is staying[-1] else quiet) for pod in staying)
