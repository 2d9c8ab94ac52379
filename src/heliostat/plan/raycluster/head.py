"""The head Pod: exactly one (raycluster.md §5.1).

| head Pods that stay | decision |
|---|---|
| 2 or more | nothing is touched: only a person can say which one is right |
| 1, ended as soon as it was made | keep it for a while, so that its successors do not come too fast |
| 1, ended | delete it; its successor comes when it is gone |
| 1, else | nothing |
| 0, one is leaving | wait for it to be gone |
| 0 | create, unless the cluster must not get a second head, or the certificates are not there yet |

A head is never made while another one exists, not even a terminating one: a cluster with two heads has two truths.
"""

from heliostat.desired import labels
from heliostat.desired.raycluster.pods import stamp_head
from heliostat.kube.conditions import is_condition_true
from heliostat.kube.plan import Create
from heliostat.kube.pods import PodView
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, wait_beside, wait_for
from heliostat.plan.raycluster.places import tell_ended_at_once, wake_when_due
from heliostat.plan.raycluster.pod_context import PodContext, delete_pod
from heliostat.plan.raycluster.pod_health import (
    HEAD_PATIENCE,
    Presence,
    ended_at_once,
    node_type,
    presence_of,
    seconds_until_stuck,
    why_unhealthy,
)
from heliostat.plan.raycluster.reports import report_head_create, report_unhealthy_head


def plan_head(context: PodContext) -> Part:
    heads = [pod for pod in context.pods if node_type(pod) == labels.HEAD]
    staying = [pod for pod in heads if presence_of(pod, context.now, HEAD_PATIENCE) is Presence.STAYING]
    leaving = [pod for pod in heads if presence_of(pod, context.now, HEAD_PATIENCE) is Presence.LEAVING]
    if len(staying) > 1:
        return _refuse_to_choose(staying)
    if staying:
        return _keep_or_delete(staying[0], context.now)
    if leaving:
        return _wait_for_end(leaving[0], context.now)
    return _plan_new_head(context)


def _refuse_to_choose(heads: list[PodView]) -> Part:
    names = ", ".join(pod.name for pod in heads)
    return wait_for(Hold.SEVERAL_HEADS, f"{len(heads)} head Pods found: {names}", "all but one are deleted by hand")


def _keep_or_delete(head: PodView, now: float) -> Part:
    held = ended_at_once((head,), now)
    if held:
        return Part(waits=tell_ended_at_once(held), wake_after=wake_when_due(held, now))
    why = why_unhealthy(head)
    if why is None:
        return NOTHING
    delete = delete_pod(head, Because.UNHEALTHY, report_unhealthy_head(head), why)
    return Part(actions=(delete,), is_blocked=True)  # KubeRay: workers are not looked at in this pass


def _wait_for_end(head: PodView, now: float) -> Part:
    message = f"head Pod {head.name} is terminating"
    until = f"it is gone, or {HEAD_PATIENCE:.0f} s after its grace period"
    return wait_beside(Hold.TERMINATING, message, until, wake_after=seconds_until_stuck(head, now, HEAD_PATIENCE))


def _plan_new_head(context: PodContext) -> Part:
    if _must_not_restart(context):
        return wait_for(
            Hold.HEAD_NOT_RESTARTED,
            f"the head is gone, and the annotation {labels.DISABLE_HEAD_RESTART} forbids a second one",
            "the annotation is removed or the RayCluster is deleted",
        )
    if context.certificates is not None:
        return Part(waits=(context.certificates,), is_blocked=True)
    suffix = context.names.suffix_again(context.desired.head_name_prefix, labels.HEAD_GROUP, 0, 0)
    pod = stamp_head(context.desired, suffix)
    place = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    return Part(actions=(Create(pod, Because.MISSING, report_head_create(place)),))


def _must_not_restart(context: PodContext) -> bool:
    annotations = context.cluster.metadata.annotations or {}
    return annotations.get(labels.DISABLE_HEAD_RESTART) == "true" and is_condition_true(
        context.conditions, "RayClusterProvisioned"
    )
