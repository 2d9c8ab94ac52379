"""The status of a RayService: who serves, what runs there, and its conditions (rayservice.md §10).

Everything that a plan decides about is worked out first (``Shown``); here it becomes the text of the status, and the
status is written only when something differs that somebody may act on (§10.6).
"""

from typing import Any

from msgspec import Struct

from heliostat.api.go_duration import format_go_duration
from heliostat.api.markers import JsonObject
from heliostat.api.validation.service import INITIALIZING_TIMEOUT_ANNOTATION, read_seconds
from heliostat.kube.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    build_condition,
    get_condition,
    remove_condition,
    set_condition,
)
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import WriteStatus
from heliostat.kube.timestamps import format_timestamp, moment_of
from heliostat.plan.itself import write_own_status
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, ObservedService
from heliostat.plan.rayservice.reasons import Because

READY, UPGRADE, ROLLBACK = "Ready", "UpgradeInProgress", "RollbackInProgress"
SUSPENDING, SUSPENDED = "Suspending", "Suspended"
CAPACITY, TRAFFIC, MOVED = "targetCapacity", "trafficRoutedPercent", "lastTrafficMigratedTime"
SPEC_CHANGED = "DesiredClusterSpecChanged"
INITIALIZING, TIMED_OUT, NO_ACTIVE = "Initializing", "InitializingTimeout", "NoActiveCluster"
NO_PENDING = "NoPendingCluster"
_BEGINS = "RayService is initializing"
_ALONE = "Active Ray cluster exists and no pending Ray cluster"

# KubeRay: a cluster that says nothing yet still shows these (rayservice.md §10.5).
EMPTY_CLUSTER = {"desiredCPU": "0", "desiredMemory": "0", "desiredGPU": "0", "desiredTPU": "0"}
EMPTY_SLOT: JsonObject = {"rayClusterStatus": EMPTY_CLUSTER}


class Shown(Struct, frozen=True, kw_only=True):
    """What the status should say."""

    active: JsonObject
    pending: JsonObject
    endpoints: int | None  # None: not known, the number stays
    introduces: tuple[str, ...] = ()
    rollback: str = ""  # why requests go back to the active cluster; empty: they do not


def describe_slot(
    name: str, cluster: JsonObject | None, applications: JsonObject, share: JsonObject | None = None
) -> JsonObject:
    """``share`` is what an incremental upgrade says about it: capacity, traffic, and when that last changed."""
    if not name:
        return EMPTY_SLOT
    slot: JsonObject = {
        "rayClusterName": name,
        "rayClusterStatus": EMPTY_CLUSTER | ((cluster or {}).get("status") or {}),
        **(share or {}),
    }
    return {"applicationStatuses": applications, **slot} if applications else slot


def build_status(observed: ObservedService, shown: Shown, now: float) -> JsonObject:
    """With Ready and UpgradeInProgress as what is shown asks for."""
    status = {
        **observed.status,
        "observedGeneration": observed.service.metadata.generation or 0,
        ACTIVE: shown.active,
        PENDING: shown.pending,
    }
    if shown.endpoints is not None:
        status["numServeEndpoints"] = shown.endpoints
    if not status.get("conditions"):
        for type_ in (READY, UPGRADE):
            status = put_condition(status, type_, FALSE, INITIALIZING, _BEGINS, now)
    status = _judge_ready(status, now)
    if shown.introduces and is_true(status, ROLLBACK):  # KubeRay: rayservice.md §6.7, one is over, another one begins
        status = put_condition(status, UPGRADE, FALSE, NO_PENDING, _ALONE, now)
    status = _judge_upgrade(status, now)
    return tidy(_judge_rollback(status, shown.rollback, now))


def _judge_rollback(status: JsonObject, why: str, now: float) -> JsonObject:
    """rayservice.md §6.7: it is there while requests go back; after a suspension it stays, as False."""
    if why and not is_true(status, ROLLBACK):
        return put_condition(status, ROLLBACK, TRUE, SPEC_CHANGED, why, now)
    if not why and is_true(status, ROLLBACK):
        return {**status, "conditions": remove_condition(status["conditions"], ROLLBACK)}
    return status


def put_condition(status: JsonObject, type_: str, value: str, reason: str, message: str, now: float) -> JsonObject:
    condition = build_condition(type_, value, reason, message, int(status.get("observedGeneration") or 0))
    return {**status, "conditions": set_condition(status.get("conditions"), condition, format_timestamp(now))}


def read_condition(status: JsonObject, type_: str) -> tuple[str, str]:
    """Its status and its reason; empty when it is not there."""
    condition = get_condition(status.get("conditions"), type_) or {}
    return str(condition.get("status") or ""), str(condition.get("reason") or "")


def is_true(status: JsonObject, type_: str) -> bool:
    return read_condition(status, type_)[0] == TRUE


def _judge_ready(status: JsonObject, now: float) -> JsonObject:
    """rayservice.md §10.1; without endpoints a service that was never ready keeps its reason."""
    if status.get("numServeEndpoints"):
        text = "Number of serve endpoints is greater than 0"
        return put_condition(status, READY, TRUE, "NonZeroServeEndpoints", text, now)
    if is_true(status, READY):
        return put_condition(status, READY, FALSE, "ZeroServeEndpoints", "Number of serve endpoints dropped to 0", now)
    return status


def _judge_upgrade(status: JsonObject, now: float) -> JsonObject:
    """rayservice.md §10.2."""
    active, pending = (bool(status[slot].get("rayClusterName")) for slot in (ACTIVE, PENDING))
    if active and pending:
        text = "Both active and pending Ray clusters exist"
        return put_condition(status, UPGRADE, TRUE, "BothActivePendingClustersExist", text, now)
    if active:
        return put_condition(status, UPGRADE, FALSE, NO_PENDING, _ALONE, now)
    if read_condition(status, UPGRADE)[1] in (INITIALIZING, TIMED_OUT):
        return status
    return put_condition(status, UPGRADE, UNKNOWN, NO_ACTIVE, "Active Ray cluster does not exist", now)


def find_deadline(observed: ObservedService, status: JsonObject) -> float | None:
    """When initializing has taken too long, in epoch seconds; None: never (rayservice.md §10.3)."""
    text = (observed.service.metadata.annotations or {}).get(INITIALIZING_TIMEOUT_ANNOTATION, "")
    condition = get_condition(status.get("conditions"), READY) or {}
    since = moment_of(condition.get("lastTransitionTime"))
    if not text or since is None or (condition.get("status"), condition.get("reason")) != (FALSE, INITIALIZING):
        return None
    return since + read_seconds(text)


def give_up(status: JsonObject, observed: ObservedService, now: float) -> tuple[JsonObject, str]:
    """The status of a service that did not become ready in time, and what is told. Its clusters lose their names."""
    text = (observed.service.metadata.annotations or {}).get(INITIALIZING_TIMEOUT_ANNOTATION, "")
    since = moment_of((get_condition(status.get("conditions"), READY) or {}).get("lastTransitionTime"))
    limit, spent = format_go_duration(read_seconds(text)), format_go_duration(round(now - (since or now)))
    message = (
        f"RayService failed to become ready within the configured timeout of {limit}. Time spent initializing: {spent}"
    )
    nameless = {
        slot: {key: value for key, value in status[slot].items() if key != "rayClusterName"}
        for slot in (ACTIVE, PENDING)
    }
    told = f"RayService initializing timeout exceeded after {spent} (configured timeout: {limit})"
    given_up = put_condition({**status, **nameless}, READY, FALSE, TIMED_OUT, message, now)
    return tidy(_judge_upgrade(given_up, now)), told


def tidy(status: JsonObject) -> JsonObject:
    """serviceStatus follows Ready; what is empty is not there."""
    running = {"serviceStatus": "Running"} if is_true(status, READY) else {}
    kept = {
        key: value for key, value in status.items() if key != "serviceStatus" and (value or key in (ACTIVE, PENDING))
    }
    return {**kept, **running}


def is_worth_writing(old: JsonObject, new: JsonObject) -> bool:
    """rayservice.md §10.6: the clusters' own status and the generation alone are no reason."""
    if any(old.get(key) != new.get(key) for key in ("serviceStatus", "numServeEndpoints", "conditions")):
        return True
    return any(_essence(old.get(slot)) != _essence(new.get(slot)) for slot in (ACTIVE, PENDING))


def _essence(slot: Any) -> Any:
    slot = slot or {}
    return [slot.get(key) for key in ("rayClusterName", "applicationStatuses", CAPACITY, TRAFFIC, MOVED)]


def write_status(
    observed: ObservedService, new: JsonObject, because: Because, now: float, introduces: tuple[str, ...] = ()
) -> WriteStatus | None:
    if not is_worth_writing(observed.status, new):
        return None
    written = {**new, "lastUpdateTime": format_timestamp(now)}
    return write_own_status("RayService", observed.service.metadata, written, because, introduces)


def known_endpoints(observed: ObservedService) -> int | None:
    return None if isinstance(observed.endpoints, Unknown) else observed.endpoints
