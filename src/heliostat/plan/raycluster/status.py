"""The status of a RayCluster, worked out from what is there (raycluster.md §8).

Everything is counted anew from the view; only ``state``, once reached, and endpoints stay until something else is
true. Without one head Service and its address nothing can be said, so nothing is written. A status that differs only
in times is not written either.
Differs from KubeRay: R8-20, other desired resources are a reason to write, and so is another generation, because
clients wait for an edit to be observed; L3, a Pod stuck in termination no longer counts.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import WriteStatus
from heliostat.kube.pods import PodView, is_ready, is_running, is_terminating
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.because import Because
from heliostat.plan.itself import write_own_status
from heliostat.plan.own_conditions import show_own
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_health import HEAD_PATIENCE, WORKER_PATIENCE, Presence, node_type, presence_of
from heliostat.plan.raycluster.singletons import head_services
from heliostat.plan.raycluster.situation import Situation
from heliostat.plan.raycluster.status_conditions import ConditionInputs, are_all_running, next_conditions

READY, SUSPENDED = "ready", "suspended"

# What makes a status worth writing; times do not.
COMPARED = (
    "state", "reason", "readyWorkerReplicas", "availableWorkerReplicas", "desiredWorkerReplicas", "minWorkerReplicas",
    "maxWorkerReplicas", "desiredCPU", "desiredMemory", "desiredGPU", "desiredTPU", "endpoints", "head", "conditions",
    "observedGeneration",
)  # fmt: skip


def plan_status(situation: Situation, *, is_blocked: bool, own: Sequence[JsonObject] = ()) -> WriteStatus | None:
    """The status write that is due, if one is.

    ``is_blocked``: something in this plan cannot go on. ``own`` are conditions of our own, told even when nothing else
    can be said.
    """
    status = calculate_status(situation, is_blocked=is_blocked) or situation.observed.status
    return _write_if_due(situation, status, own)


def plan_own_conditions(situation: Situation, own: Sequence[JsonObject]) -> WriteStatus | None:
    """For a cluster on its way out: only conditions of our own move, the rest stays as it read (KubeRay: R1-3)."""
    return _write_if_due(situation, situation.observed.status, own)


def _write_if_due(situation: Situation, status: JsonObject, own: Sequence[JsonObject]) -> WriteStatus | None:
    observed = situation.observed
    if situation.settings.gate("RayClusterStatusConditions"):
        conditions = show_own(status.get("conditions") or (), own, format_timestamp(situation.now))
        status = {**status, "conditions": conditions} if conditions or "conditions" in status else status
    if is_consistent(observed.status, status):
        return None
    return write_own_status("RayCluster", observed.cluster.metadata, status, Because.STATUS_CHANGED)


class StatusView(Struct, frozen=True):
    """What a status is worked out from."""

    service: JsonObject
    pods: tuple[PodView, ...]
    present: list[PodView]  # without those that are stuck
    head: PodView | None


def look(observed: ObservedCluster, now: float) -> StatusView | None:
    """None when the view does not allow to say anything."""
    pods, service = observed.own_pods, find_head_service(observed)
    if isinstance(pods, Unknown) or service is None:
        return None
    present = [pod for pod in pods if not _is_stuck(pod, now)]
    heads = sorted((pod for pod in present if node_type(pod) == labels.HEAD), key=is_terminating)
    if len(heads) > 1 and not is_terminating(heads[1]):
        return None
    return StatusView(service, pods, present, heads[0] if heads else None)


def calculate_status(situation: Situation, *, is_blocked: bool) -> JsonObject | None:
    observed, desired, time = situation.observed, situation.parts, format_timestamp(situation.now)
    sight = look(observed, situation.now)
    if sight is None:
        return None
    status = {**observed.status, **_describe(sight, observed, desired), "lastUpdateTime": time}
    if situation.settings.gate("RayClusterStatusConditions"):
        inputs = _read_inputs(sight, situation, is_blocked=is_blocked)
        status["conditions"] = next_conditions(observed.conditions, inputs, time)
    has_error = is_blocked or situation.remembered.failure is not None
    _set_state(status, decide_state(observed, desired, sight, has_error=has_error), time)
    return {key: value for key, value in status.items() if key not in COMPARED or value not in (None, "", 0, {}, [])}


def _describe(sight: StatusView, observed: ObservedCluster, desired: DesiredCluster) -> JsonObject:
    return {
        "observedGeneration": observed.cluster.metadata.generation,
        **_count_workers(sight.present),
        **desired.totals,
        "endpoints": {**(observed.status.get("endpoints") or {}), **find_endpoints(sight.service)},
        "head": describe_head(sight.head, sight.service),
    }


def _read_inputs(sight: StatusView, situation: Situation, *, is_blocked: bool) -> ConditionInputs:
    return ConditionInputs(
        pods=sight.present,
        head=sight.head,
        failure=situation.remembered.failure,
        is_blocked=is_blocked,
        suspend=situation.observed.cluster.spec.suspend,
        has_any_pod=bool(sight.pods),
    )


def _is_stuck(pod: PodView, now: float) -> bool:
    patience = HEAD_PATIENCE if node_type(pod) == labels.HEAD else WORKER_PATIENCE
    return presence_of(pod, now, patience) is Presence.STUCK


def find_head_service(observed: ObservedCluster) -> JsonObject | None:
    services = head_services(observed)
    if isinstance(services, Unknown) or len(services) != 1:
        return None
    return services[0] if (services[0].get("spec") or {}).get("clusterIP") else None


def _count_workers(pods: list[PodView]) -> JsonObject:
    running = [pod for pod in pods if node_type(pod) == labels.WORKER and is_running(pod)]
    return {
        "readyWorkerReplicas": sum(map(is_ready, running)),
        "availableWorkerReplicas": len(running),
    }


def find_endpoints(service: JsonObject) -> dict[str, str]:
    """Where each named port is reached: the node's port, else the target, which is the port itself when not given."""
    ports = [port for port in (service.get("spec") or {}).get("ports") or [] if port.get("name")]
    return {port["name"]: str(port.get("nodePort") or port.get("targetPort") or port.get("port", "")) for port in ports}


def describe_head(head: PodView | None, service: JsonObject) -> JsonObject:
    pod_ip = head.pod_ip if head else ""
    cluster_ip = service["spec"]["clusterIP"]
    info = {
        "podIP": pod_ip,
        "podName": head.name if head else "",
        "serviceIP": pod_ip if cluster_ip == "None" else cluster_ip,
        "serviceName": service["metadata"]["name"],
    }
    return {key: value for key, value in info.items() if value}


def decide_state(
    observed: ObservedCluster, desired: DesiredCluster, sight: StatusView, *, has_error: bool
) -> str | None:
    """The state this view proves, or None: then the former one stays (KubeRay: ``ready`` outlives a failing Pod)."""
    if observed.cluster.spec.suspend and not sight.pods:
        return SUSPENDED
    if not has_error and len(sight.present) == desired.workers + 1 and are_all_running(sight.present):
        return READY
    return None


def _set_state(status: JsonObject, state: str | None, time: str) -> None:
    if state == READY:
        status["reason"] = ""
    if state is None or state == status.get("state"):
        return
    status["state"] = state
    status["stateTransitionTimes"] = {**(status.get("stateTransitionTimes") or {}), state: time}


def is_consistent(old: JsonObject, new: JsonObject) -> bool:
    if old == new:
        return True
    for key in COMPARED:
        then, now = old.get(key), new.get(key)
        if then != now and _essence(then) != _essence(now):
            return False
    return True


def _essence(value: Any) -> Any:
    """Absent, empty and zero mean the same in a status."""
    if isinstance(value, dict):
        return {key: inner for key, inner in value.items() if inner not in (None, "")} or None
    return value or None
