"""The columns of Pods: how many containers are ready, one word for the state, restarts.

Rules for STATUS: while an init container holds the Pod up, it says so (``Init:0/2``, ``Init:CrashLoopBackOff``); after
that the first container that waits or has ended speaks, then the phase; a Pod that is being deleted is
``Terminating`` unless it is over already. Restarts of init containers count only while they are what holds it up,
those of sidecars always.
"""

from typing import Any

from msgspec import Struct

from heliostat.embedded.server.tables.columns import AGE, NAME, NONE, Column, Columns, computed, items, look, text
from heliostat.embedded.server.tables.durations import human_duration
from heliostat.embedded.server.tables.phrases import has_condition, is_going
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import parse_timestamp

_OVER = ("Succeeded", "Failed")
_NODE_LOST = "NodeLost"


class InitState(Struct, frozen=True):
    """Which init container holds the Pod up (None: none does), and how many sidecars are ready so far."""

    index: int | None
    status: JsonObject
    ready_sidecars: int


def pod_status(pod: JsonObject, _now: float) -> str:
    status = look(pod, "status.reason") or look(pod, "status.phase") or ""
    if _is_gated(pod):
        status = "SchedulingGated"
    init = init_state(pod)
    if init.index is not None:
        status = _init_text(init, len(items(pod, "spec.initContainers")))
    if _counts_main_containers(pod, init):
        status = _main_text(pod, status)
    return _deletion_text(pod) or status


def _is_gated(pod: JsonObject) -> bool:
    conditions = items(pod, "status.conditions")
    return any(
        condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
        for condition in conditions
    )


def init_state(pod: JsonObject) -> InitState:
    sidecars, ready = _sidecar_names(pod), 0
    for index, status in enumerate(items(pod, "status.initContainerStatuses")):
        ended = look(status, "state.terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if status.get("name") in sidecars and status.get("started"):
            ready += bool(status.get("ready"))
            continue
        return InitState(index, status, ready)
    return InitState(None, {}, ready)


def _sidecar_names(pod: JsonObject) -> frozenset[str]:
    """Init containers that are meant to keep running."""
    containers = items(pod, "spec.initContainers")
    return frozenset(container["name"] for container in containers if container.get("restartPolicy") == "Always")


def _counts_main_containers(pod: JsonObject, init: InitState) -> bool:
    return init.index is None or has_condition(pod, "Initialized")


def _init_text(init: InitState, count: int) -> str:
    state = init.status.get("state") or {}
    if (ended := state.get("terminated")) is not None:
        return f"Init:{_ended_text(ended)}"
    reason = look(state, "waiting.reason")
    if reason and reason != "PodInitializing":
        return f"Init:{reason}"
    return f"Init:{init.index}/{count}"


def _ended_text(ended: JsonObject) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _main_text(pod: JsonObject, status: str) -> str:
    running = False
    for container in reversed(items(pod, "status.containerStatuses")):
        state = container.get("state") or {}
        if reason := look(state, "waiting.reason"):
            status = reason
        elif (ended := state.get("terminated")) is not None:
            status = _ended_text(ended)
        elif _is_ready_and_running(container):
            running = True
    if status == "Completed" and running:
        return "Running" if has_condition(pod, "Ready") else "NotReady"
    return status


def _is_ready_and_running(container: JsonObject) -> bool:
    return bool(container.get("ready")) and look(container, "state.running") is not None


def _deletion_text(pod: JsonObject) -> str:
    if not is_going(pod):
        return ""
    if look(pod, "status.reason") == _NODE_LOST:
        return "Unknown"
    return "" if look(pod, "status.phase") in _OVER else "Terminating"


def ready_text(pod: JsonObject, _now: float) -> str:
    init = init_state(pod)
    ready = init.ready_sidecars
    if _counts_main_containers(pod, init):
        ready += sum(_counts_as_ready(status) for status in items(pod, "status.containerStatuses"))
    return f"{ready}/{len(items(pod, 'spec.containers')) + len(_sidecar_names(pod))}"


def _counts_as_ready(container: JsonObject) -> bool:
    """A container that waits for a reason or has ended is not ready, whatever its flag says."""
    state = container.get("state") or {}
    ended_or_waiting = look(state, "waiting.reason") or state.get("terminated") is not None
    return not ended_or_waiting and _is_ready_and_running(container)


def restarts_text(pod: JsonObject, now: float) -> str:
    restarted = _restarted_containers(pod)
    count = sum(status.get("restartCount") or 0 for status in restarted)
    ends = [look(status, "lastState.terminated.finishedAt") for status in restarted]
    last = max((parse_timestamp(end) for end in ends if end), default=None)
    return f"{count} ({human_duration(now - last)} ago)" if count and last is not None else str(count)


def _restarted_containers(pod: JsonObject) -> list[Any]:
    init = init_state(pod)
    before = items(pod, "status.initContainerStatuses")
    if init.index is not None:
        before = before[: init.index + 1]
    if not _counts_main_containers(pod, init):
        return before
    sidecars = _sidecar_names(pod)
    kept = [status for status in before if status.get("name") in sidecars]
    return [*kept, *items(pod, "status.containerStatuses")]


def _gates_text(pod: JsonObject) -> str:
    gates = items(pod, "spec.readinessGates")
    passed = sum(has_condition(pod, gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}" if gates else NONE


def _pod_ip(pod: JsonObject) -> str:
    addresses = items(pod, "status.podIPs")
    return str(addresses[0].get("ip") or NONE) if addresses else str(look(pod, "status.podIP") or NONE)


POD_COLUMNS: Columns = (
    NAME,
    Column("Ready", ready_text),
    Column("Status", pod_status),
    Column("Restarts", restarts_text),
    AGE,
    computed("IP", _pod_ip, priority=1),
    text("Node", "spec.nodeName", NONE, priority=1),
    text("Nominated Node", "status.nominatedNodeName", NONE, priority=1),
    computed("Readiness Gates", _gates_text, priority=1),
)


def pod_conditions(pod: JsonObject) -> list[JsonObject]:
    """Of the row, not of the Pod: that it is over, so that clients can leave it out."""
    phase = look(pod, "status.phase")
    if phase == "Succeeded":
        return [_completed("Succeeded", "The pod has completed successfully.")]
    return [_completed("Failed", "The pod failed.")] if phase == "Failed" else []


def _completed(reason: str, message: str) -> JsonObject:
    return {"type": "Completed", "status": "True", "reason": reason, "message": message}
