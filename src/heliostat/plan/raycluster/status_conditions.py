"""The conditions of a RayCluster, in the order in which they are worked out (raycluster.md §8.2, constants.md §13).

1. ReplicaFailure shows the last failure that has a tag; it goes when a pass finds nothing in its way.
2. HeadPodReady mirrors the head Pod.
3. RayClusterProvisioned turns True once all Pods run, and stays so until a suspension is complete.
4. The two suspend conditions move as ``heliostat.plan.raycluster.suspend`` says.
"""

from collections.abc import Sequence

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.kube.conditions import (
    FALSE,
    TRUE,
    build_condition,
    is_condition_true,
    remove_condition,
    set_condition,
)
from heliostat.kube.pods import PodView, is_running, ready_condition
from heliostat.plan.raycluster.situation import LastFailure
from heliostat.plan.raycluster.suspend import SUSPENDED, SUSPENDING, next_suspend_conditions, suspend_status

REPLICA_FAILURE = "ReplicaFailure"
HEAD_POD_READY = "HeadPodReady"
PROVISIONED = "RayClusterProvisioned"

_PROVISIONING = "RayClusterPodsProvisioning"
_CONTAINERS_NOT_READY = "ContainersNotReady"


class ConditionInputs(Struct, frozen=True, kw_only=True):
    """What the conditions are worked out from."""

    pods: Sequence[PodView]
    head: PodView | None
    failure: LastFailure | None
    is_blocked: bool
    suspend: bool | None
    has_any_pod: bool  # even one that is stuck: a suspension is complete when really nothing is left


def next_conditions(old: list[JsonObject], inputs: ConditionInputs, now: str) -> list[JsonObject]:
    conditions = _note_failure(old, inputs, now)
    conditions = set_condition(conditions, head_pod_ready(inputs.head), now)
    if not is_condition_true(conditions, PROVISIONED) and suspend_status(conditions) != SUSPENDED:
        conditions = set_condition(conditions, _provisioned(inputs.pods), now)
    return _move_suspension(conditions, inputs, now)


def _note_failure(conditions: list[JsonObject], inputs: ConditionInputs, now: str) -> list[JsonObject]:
    failure = inputs.failure
    if failure is not None and failure.tag:
        shown = build_condition(REPLICA_FAILURE, TRUE, failure.tag, f"{failure.tag}\n{failure.message}")
        return set_condition(conditions, shown, now)
    if failure is not None or inputs.is_blocked:
        return conditions  # KubeRay: an error without a tag leaves the condition as it is
    return remove_condition(conditions, REPLICA_FAILURE)


def head_pod_ready(head: PodView | None) -> JsonObject:
    if head is None:
        return build_condition(HEAD_POD_READY, FALSE, "HeadPodNotFound", "Head Pod not found")
    ready = ready_condition(head)
    if ready is None:
        return build_condition(HEAD_POD_READY, FALSE, "Unknown")
    reason, message = ready.reason, ready.message
    if reason == _CONTAINERS_NOT_READY:
        reason, message = _blame_container(head, reason, message)
    if not reason:
        reason = "HeadPodRunningAndReady" if ready.status == TRUE else "Unknown"
    return build_condition(HEAD_POD_READY, ready.status, reason, message)


def _blame_container(head: PodView, reason: str, message: str) -> tuple[str, str]:
    """The first container that waits or has ended says more than "not ready"."""
    for status in head.container_statuses:
        state = status.state.waiting or status.state.terminated
        if state is not None:
            blame = f"{status.name}: {state.message}"
            return state.reason or reason, f"{message}; {blame}" if message else blame
    return reason, message


def are_all_running(pods: Sequence[PodView]) -> bool:
    """At least one Pod, all running, none known as not ready; a Pod that says nothing of its readiness passes."""
    return bool(pods) and all(is_running(pod) and (ready_condition(pod) is None or _says_ready(pod)) for pod in pods)


def _says_ready(pod: PodView) -> bool:
    ready = ready_condition(pod)
    return ready is not None and ready.status == TRUE


def _provisioned(pods: Sequence[PodView]) -> JsonObject:
    if are_all_running(pods):
        message = "All Ray Pods are ready for the first time"
        return build_condition(PROVISIONED, TRUE, "AllPodRunningAndReadyFirstTime", message)
    return build_condition(PROVISIONED, FALSE, _PROVISIONING, "RayCluster Pods are being provisioned for first time")


def _move_suspension(conditions: list[JsonObject], inputs: ConditionInputs, now: str) -> list[JsonObject]:
    status = suspend_status(conditions)
    moves = next_suspend_conditions(status, has_pods=inputs.has_any_pod, suspend=inputs.suspend)
    if moves.get(SUSPENDED) and status == SUSPENDING:
        over = build_condition(PROVISIONED, FALSE, _PROVISIONING, "RayCluster has been suspended")
        conditions = set_condition(conditions, over, now)
    for type_, is_true in moves.items():
        conditions = set_condition(conditions, build_condition(type_, TRUE if is_true else FALSE, type_), now)
    return conditions
