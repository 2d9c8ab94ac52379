"""What is written once the scheduler has decided: the binding, or why there is none and who makes room.

The texts are kube-scheduler's; nothing is decided here.
"""

from collections.abc import Iterable

from heliostat.embedded.controllers.pod_conditions import condition_trees, set_conditions
from heliostat.embedded.controllers.scheduler.verdicts import shorten_note
from heliostat.embedded.controllers.views.pods import BINDING, POD, Pod, PodCondition
from heliostat.embedded.controllers.views.volume_claims import CLAIM, Claim
from heliostat.embedded.controllers.volumes.marks import SELECTED_NODE
from heliostat.kube.plan import Create, Delete, Event, JsonObject, Patch, Plan, Ref, Regarded, Report, Stage, Wait
from heliostat.kube.timestamps import format_timestamp

_BIND_FAILED = 'binding rejected: running Bind plugin "DefaultBinder"'


def plan_binding(pod: Pod, node: str) -> Plan:
    metadata = pod.metadata
    told = Event("Normal", "Scheduled", "Binding", f"Successfully assigned {metadata.key} to {node}")
    failed = Event("Warning", "FailedScheduling", "Scheduling", _BIND_FAILED)
    binding = {
        "apiVersion": BINDING.api_version,
        "kind": BINDING.kind,
        "metadata": {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid},
        "target": {"kind": "Node", "name": node},
    }
    because = f"{node} can take it and has the most room"
    create = Create(binding, because, Report(success=told, failure=failed, separator=": "))
    return Plan(stages=(Stage("bind", (create,)),))


def plan_selected_node(claims: Iterable[Claim], node: str) -> Plan:
    """Tell the claims that waited for a node which one it is; the Pod is bound once they are."""
    untold = [claim for claim in claims if claim.metadata.annotations.get(SELECTED_NODE) != node]
    patches = tuple(
        Patch(
            Ref(CLAIM.api_version, CLAIM.kind, claim.metadata.namespace, claim.metadata.name),
            claim.metadata.uid,
            claim.metadata.resource_version,
            {"metadata": {"annotations": {SELECTED_NODE: node}}},
            because="its first consumer goes there",
        )
        for claim in untold
    )
    wait = Wait("VolumeBinding", "claims that wait for their first consumer are being bound", "they are bound")
    return Plan(stages=(Stage("claims", patches),) if patches else (), waits=(wait,))


def plan_refusal(pod: Pod, message: str, nominated: str, victims: Iterable[Pod], now: float) -> Plan:
    """``nominated`` is where room is made or has been made, empty when nowhere."""
    told = Event("Warning", "FailedScheduling", "Scheduling", shorten_note(message))
    status = _refused_status(pod, message, nominated, now)
    own = (_patch_status(pod, status, "people ask why it waits"),) if status else ()
    leaving = [victim for victim in victims if not victim.metadata.is_terminating]
    mark = tuple([_mark_victim(victim, pod, now) for victim in leaving])
    remove = tuple([_remove_victim(victim, pod, nominated) for victim in leaving])
    stages = (Stage("status", own), Stage("mark", mark), Stage("preempt", remove, needs=("status", "mark")))
    return Plan(tuple(stage for stage in stages if stage.actions), events=(told,))


def is_told(pod: Pod, message: str) -> bool:
    """The Pod's status says so already."""
    return any(found.type == "PodScheduled" and found.message == message for found in pod.status.conditions)


def _refused_status(pod: Pod, message: str, nominated: str, now: float) -> JsonObject:
    status: JsonObject = {}
    refused = PodCondition("PodScheduled", "False", "Unschedulable", message)
    conditions = set_conditions(pod, (refused,), format_timestamp(now))
    if conditions != pod.status.conditions:
        status["conditions"] = condition_trees(conditions)
    if nominated != pod.status.nominated_node_name:
        status["nominatedNodeName"] = nominated or None
    return status


def _mark_victim(victim: Pod, pod: Pod, now: float) -> Patch:
    who = pod.spec.scheduler_name or "default-scheduler"
    message = f"{who}: preempting to accommodate a higher priority pod"
    target = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler", message)
    conditions = set_conditions(victim, (target,), format_timestamp(now))
    return _patch_status(victim, {"conditions": condition_trees(conditions)}, f"makes room for {pod.metadata.key}")


def _remove_victim(victim: Pod, pod: Pod, node: str) -> Delete:
    note = f"Preempted by pod {pod.metadata.uid} on node {node}"
    told = Event("Normal", "Preempted", "Preempting", note, about=_regarded(victim), related=_regarded(pod))
    because = f"makes room for {pod.metadata.key}"
    return Delete(_ref(victim), victim.metadata.uid, because, report=Report(success=told))


def _regarded(pod: Pod) -> Regarded:
    return Regarded(_ref(pod), pod.metadata.uid, pod.metadata.resource_version)


def _patch_status(pod: Pod, status: JsonObject, because: str) -> Patch:
    metadata = pod.metadata
    return Patch(_ref(pod), metadata.uid, metadata.resource_version, {"status": status}, because, subresource="status")


def _ref(pod: Pod) -> Ref:
    return Ref(POD.api_version, POD.kind, pod.metadata.namespace, pod.metadata.name)
