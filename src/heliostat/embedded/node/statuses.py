"""The status that the node reports for a Pod, in the kubelet's words: phase, conditions, the state of every container.

Pure. Times and states come from what has run; conditions of others stay as they are, and a transition time moves only
with its status.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from heliostat.embedded.node import lifecycle
from heliostat.embedded.node.lifecycle import Health, Situation
from heliostat.embedded.node.pods import Container
from heliostat.embedded.node.restarts import backoff_seconds, may_restart
from heliostat.embedded.node.shim.journal import Run
from heliostat.kube.conditions import get_condition, set_condition
from heliostat.kube.plan import JsonObject
from heliostat.kube.timestamps import format_timestamp

_NOT_READY = "ContainersNotReady"
_NOT_INITIALIZED = "ContainersNotInitialized"
_EXPIRED = "Pod was active on the node longer than the specified deadline"
_OOM_SIGNAL = 9


class Trouble(Struct, frozen=True):
    """Why something of the Pod cannot be started now."""

    reason: str
    message: str


class Place(Struct, frozen=True, kw_only=True):
    """Where the Pod is, and what the node knows beyond what has run."""

    host_address: str
    pod_address: str = ""
    troubles: Mapping[str, Trouble] = {}  # by container; under "" what holds up the whole Pod
    messages: Mapping[str, str] = {}  # termination messages, by the id of a run
    killed_for_memory: frozenset[str] = frozenset()  # ids of runs
    conditions: Mapping[str, tuple[str, str, str]] = {}  # further ones, by type: status, reason, message


def build_status(situation: Situation, place: Place) -> JsonObject:
    pod, moment = situation.pod, format_timestamp(situation.now)
    phase = decide_phase(situation)
    init = [_container_status(situation, place, each, is_init=True) for each in pod.spec.init_containers]
    main = [_container_status(situation, place, each, is_init=False) for each in pod.spec.containers]
    status: JsonObject = {
        "phase": phase,
        "startTime": pod.status.start_time or moment,
        "hostIP": place.host_address,
        "hostIPs": [{"ip": place.host_address}],
        "containerStatuses": main,
        "conditions": _conditions(situation, place, phase, moment),
    }
    if pod.status.qos_class:
        status["qosClass"] = pod.status.qos_class
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if init:
        status["initContainerStatuses"] = init
    if place.pod_address:
        status |= {"podIP": place.pod_address, "podIPs": [{"ip": place.pod_address}]}
    return status | _explanation(situation, phase)


def _explanation(situation: Situation, phase: str) -> JsonObject:
    pod = situation.pod
    if phase == "Failed" and lifecycle.is_expired(situation):
        return {"reason": "DeadlineExceeded", "message": _EXPIRED}
    if phase == "Failed" and situation.evicted and not pod.status.reason:
        return {"reason": "Evicted", "message": situation.evicted}
    kept = {"reason": pod.status.reason, "message": pod.status.message}
    return {name: text for name, text in kept.items() if text}


def decide_phase(situation: Situation) -> str:
    pod = situation.pod
    if pod.status.phase in ("Succeeded", "Failed"):
        return pod.status.phase
    if lifecycle.is_expired(situation) or situation.evicted:
        return "Failed" if not _has_running(situation) else _phase_of_living(situation)
    if lifecycle.is_over(situation) and not _has_running(situation):
        if lifecycle.failed_init(situation) is not None:
            return "Failed"
        ends = [lifecycle.last_run(situation, each.name) for each in pod.spec.containers]
        return "Succeeded" if all(run is not None and run.exit_code == 0 for run in ends) else "Failed"
    if pod.metadata.is_terminating and not situation.has_sandbox and situation.was_prepared:
        return _phase_of_ended(situation)
    return _phase_of_living(situation)


def _phase_of_ended(situation: Situation) -> str:
    """A deleted Pod whose containers have all ended, though some would have been restarted."""
    ends = [lifecycle.last_run(situation, each.name) for each in situation.pod.spec.containers]
    return "Succeeded" if all(run is not None and run.exit_code == 0 for run in ends) else "Failed"


def _phase_of_living(situation: Situation) -> str:
    have_begun = all(_has_begun(situation, each) for each in situation.pod.spec.containers)
    return "Running" if have_begun and lifecycle.is_initialized(situation) else "Pending"


def _has_begun(situation: Situation, container: Container) -> bool:
    """At some time, with its postStart hook over."""
    runs = lifecycle.runs_of(situation, container.name)
    return len(runs) > 1 or any(run.is_over or situation.health.get(run.id, Health()).is_set_up for run in runs)


def _has_running(situation: Situation) -> bool:
    return situation.has_sandbox and any(not run.is_over for run in situation.runs)


# containers


def _container_status(situation: Situation, place: Place, container: Container, *, is_init: bool) -> JsonObject:
    runs = lifecycle.runs_of(situation, container.name)
    run = runs[-1] if runs else None
    health = situation.health.get(run.id, Health()) if run is not None else Health()
    is_up = run is not None and not run.is_over and situation.has_sandbox and health.is_set_up
    is_done = is_init and run is not None and run.is_over and run.exit_code == 0
    status: JsonObject = {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "restartCount": max(0, len(runs) - 1),
        "ready": is_done or (is_up and health.has_started and health.is_ready),
        "started": is_up and health.has_started,
        "state": _state(situation, place, container, runs, is_init=is_init),
        "lastState": _last_state(situation, place, runs),
    }
    if run is not None:
        status["containerID"] = f"heliostat://{run.id}"
    return status


def _state(
    situation: Situation, place: Place, container: Container, runs: Sequence[Run], *, is_init: bool
) -> JsonObject:
    run = runs[-1] if runs else None
    trouble = place.troubles.get(container.name) or place.troubles.get("")
    if run is not None and not run.is_over and situation.has_sandbox:
        if not situation.health.get(run.id, Health()).is_set_up:
            return {"waiting": {"reason": "ContainerCreating"}}
        return {"running": {"startedAt": format_timestamp(run.started_at)}}
    if trouble is not None and not lifecycle.is_over(situation):
        return {"waiting": {"reason": trouble.reason, "message": trouble.message}}
    if run is None:
        reason = "ContainerCreating" if lifecycle.is_initialized(situation) or is_init else "PodInitializing"
        return {"waiting": {"reason": reason}}
    wait = backoff_seconds(runs)
    if wait and _is_backing_off(situation, container, run, is_init=is_init):
        message = (
            f"back-off {wait:.0f}s restarting failed container={container.name} "
            f"pod={situation.pod.metadata.name}_{situation.pod.metadata.namespace}({situation.pod.metadata.uid})"
        )
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return {"terminated": _terminated(place, run, situation)}


def _is_backing_off(situation: Situation, container: Container, run: Run, *, is_init: bool) -> bool:
    pod = situation.pod
    if pod.metadata.is_terminating or lifecycle.is_over(situation) or pod.status.phase in ("Succeeded", "Failed"):
        return False
    if is_init and not lifecycle.is_sidecar(container):
        return run.exit_code != 0
    return lifecycle.is_sidecar(container) or may_restart(pod, run)


def _last_state(situation: Situation, place: Place, runs: Sequence[Run]) -> JsonObject:
    """What ended before the present state: the last run when it is waited for the next one, else the one before."""
    if not runs:
        return {}
    ended = runs[-1] if runs[-1].is_over and len(runs) > 1 else (runs[-2] if len(runs) > 1 else None)
    return {"terminated": _terminated(place, ended, situation)} if ended is not None else {}


def _terminated(place: Place, run: Run, situation: Situation) -> JsonObject:
    finished = run.finished_at or situation.now
    exit_code = run.exit_code if run.is_over else 137  # the sandbox went, and it with it
    found: dict[str, Any] = {
        "exitCode": exit_code,
        "reason": exit_reason(run, exit_code, is_out_of_memory=run.id in place.killed_for_memory),
        "startedAt": format_timestamp(run.started_at),
        "finishedAt": format_timestamp(finished),
        "containerID": f"heliostat://{run.id}",
    }
    message = run.error or place.messages.get(run.id, "")
    return found | ({"message": message} if message else {})


def exit_reason(run: Run, exit_code: int, *, is_out_of_memory: bool) -> str:
    if run.error:
        return "ContainerCannotRun"
    if is_out_of_memory and exit_code == 128 + _OOM_SIGNAL:
        return "OOMKilled"
    return "Completed" if exit_code == 0 else "Error"


# conditions


def _conditions(situation: Situation, place: Place, phase: str, moment: str) -> list[JsonObject]:
    pod = situation.pod
    conditions: list[JsonObject] = list(pod.status.conditions)
    for type_, (status, reason, message) in _facts(situation, place, phase).items():
        fresh: JsonObject = {"type": type_, "status": status, "lastProbeTime": None}
        if pod.metadata.generation:
            fresh["observedGeneration"] = pod.metadata.generation
        fresh |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
        conditions = set_condition(conditions, fresh, moment)
    return conditions


def _facts(situation: Situation, place: Place, phase: str) -> dict[str, tuple[str, str, str]]:
    containers = _containers_ready(situation, phase)
    return {
        "PodReadyToStartContainers": ("True" if situation.has_sandbox else "False", "", _trouble_text(place)),
        "Initialized": _initialized(situation, phase),
        "Ready": _ready(situation, containers),
        "ContainersReady": containers,
        "PodScheduled": ("True", "", ""),
        **place.conditions,
    }


def _trouble_text(place: Place) -> str:
    trouble = place.troubles.get("")
    return trouble.message if trouble is not None else ""


def _initialized(situation: Situation, phase: str) -> tuple[str, str, str]:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    if lifecycle.is_initialized(situation):
        return "True", "", ""
    missing = [
        container.name
        for container in situation.pod.spec.init_containers
        if (run := lifecycle.last_run_here(situation, container.name)) is None or not run.is_over or run.exit_code != 0
    ]
    return "False", _NOT_INITIALIZED, f"containers with incomplete status: [{' '.join(missing)}]"


def _containers_ready(situation: Situation, phase: str) -> tuple[str, str, str]:
    if phase in ("Succeeded", "Failed"):
        return "False", "PodCompleted" if phase == "Succeeded" else "PodFailed", ""
    sidecars = [each for each in situation.pod.spec.init_containers if lifecycle.is_sidecar(each)]
    unready = [each.name for each in (*sidecars, *situation.pod.spec.containers) if not _is_ready(situation, each)]
    if not unready:
        return "True", "", ""
    return "False", _NOT_READY, f"containers with unready status: [{' '.join(unready)}]"


def _is_ready(situation: Situation, container: Container) -> bool:
    run = lifecycle.last_run(situation, container.name)
    if run is None or run.is_over or not situation.has_sandbox:
        return False
    health = situation.health.get(run.id, Health())
    return health.has_started and health.is_ready


def _ready(situation: Situation, containers: tuple[str, str, str]) -> tuple[str, str, str]:
    if containers[0] != "True":
        return containers
    for gate in situation.pod.spec.readiness_gates:
        type_ = gate.get("conditionType", "")
        found = get_condition(list(situation.pod.status.conditions), type_)
        if found is None or found.get("status") != "True":
            what = "does not exist" if found is None else f'is not "True", but "{found.get("status")}"'
            message = f'the status of pod readiness gate "{type_}" {what}'
            return "False", "ReadinessGatesNotReady", message
    return "True", "", ""
