"""The status a kubelet would report after each deed, as a merge patch of the Pod's status.

Rules: the phase follows from containers and restart policy; nothing that was reached is taken back; start times and
addresses stay once they are known. Conditions, reasons and messages are the kubelet's.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.controllers.nodes import stages
from heliostat.embedded.controllers.nodes.containers import (
    build_backing_off,
    build_creating,
    build_init,
    build_running,
    build_terminated,
    exit_reason,
)
from heliostat.embedded.controllers.nodes.life import unmet_gates
from heliostat.embedded.controllers.nodes.steps import Step
from heliostat.embedded.controllers.pod_conditions import condition_trees, set_conditions
from heliostat.embedded.controllers.views.pods import Pod, PodCondition
from heliostat.kube.plan import JsonObject
from heliostat.kube.timestamps import format_timestamp

_EVICTED = "The node was low on resource: memory. "
_EXPIRED = "Pod was active on the node longer than the specified deadline"


class Host(Struct, frozen=True):
    """Where the Pod runs, and the address it has there."""

    address: str
    pod_address: str


class _Report(Struct, frozen=True):
    phase: str
    containers: list[JsonObject]
    are_ready: bool = False
    reason: str = ""
    message: str = ""


_Deed: TypeAlias = Callable[[Pod, Step, str], _Report]


def build_status(pod: Pod, step: Step, host: Host, now: float) -> JsonObject:
    """What the step changes in the Pod's status."""
    moment = format_timestamp(now)
    report = _DEEDS[step.do](pod, step, moment)
    status: JsonObject = {
        "phase": report.phase,
        "startTime": pod.status.start_time or moment,
        "conditions": condition_trees(set_conditions(pod, _conditions(pod, report), moment)),
        "containerStatuses": report.containers,
        **_addresses(host, has_sandbox=step.do != stages.ADMIT),
    }
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if pod.spec.init_containers:
        status["initContainerStatuses"] = build_init(pod, report.phase, moment)
    return status | {name: text for name, text in (("reason", report.reason), ("message", report.message)) if text}


def _addresses(host: Host, *, has_sandbox: bool) -> JsonObject:
    found: JsonObject = {"hostIP": host.address, "hostIPs": [{"ip": host.address}]}
    if has_sandbox and host.pod_address:
        found |= {"podIP": host.pod_address, "podIPs": [{"ip": host.pod_address}]}
    return found


# The deeds.


def _admit(pod: Pod, _step: Step, _now: str) -> _Report:
    return _Report("Pending", build_creating(pod))


def _run(pod: Pod, _step: Step, now: str) -> _Report:
    return _Report("Running", build_running(pod, is_ready=False, now=now))


def _make_ready(pod: Pod, _step: Step, now: str) -> _Report:
    return _Report("Running", build_running(pod, is_ready=True, now=now), are_ready=True)


def _exit(pod: Pod, step: Step, now: str) -> _Report:
    policy = pod.spec.restart_policy
    if policy == "Always" or (policy == "OnFailure" and step.exit_code != 0):
        return _Report("Running", build_backing_off(pod, step.exit_code, now))
    return _stop(pod, step, now)


def _stop(pod: Pod, step: Step, now: str) -> _Report:
    phase = "Succeeded" if step.exit_code == 0 else "Failed"
    return _Report(phase, build_terminated(pod, step.exit_code, exit_reason(step.exit_code), now))


def _evict(pod: Pod, step: Step, now: str) -> _Report:
    containers = build_terminated(pod, step.exit_code, exit_reason(step.exit_code), now)
    return _Report("Failed", containers, reason="Evicted", message=_EVICTED)


def _expire(pod: Pod, step: Step, now: str) -> _Report:
    containers = build_terminated(pod, step.exit_code, exit_reason(step.exit_code), now)
    return _Report("Failed", containers, reason="DeadlineExceeded", message=_EXPIRED)


_DEEDS: Mapping[str, _Deed] = {
    stages.ADMIT: _admit,
    stages.RUN: _run,
    stages.MAKE_READY: _make_ready,
    stages.EXIT: _exit,
    stages.STOP: _stop,
    stages.EVICT: _evict,
    stages.EXPIRE: _expire,
}


# The conditions.

_OF_TERMINAL = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


def _conditions(pod: Pod, report: _Report) -> list[PodCondition]:
    containers = _containers_ready(pod, report)
    found = [
        PodCondition("PodReadyToStartContainers", "True" if report.phase == "Running" else "False"),
        _initialized(pod, report),
        _ready(pod, containers),
        containers,
        PodCondition("PodScheduled", "True"),
    ]
    if report.reason == "Evicted":
        found.append(PodCondition("DisruptionTarget", "True", "TerminationByKubelet", report.message))
    return found


def _initialized(pod: Pod, report: _Report) -> PodCondition:
    names = " ".join(container.name for container in pod.spec.init_containers)
    if report.phase == "Pending" and names:
        message = f"containers with incomplete status: [{names}]"
        return PodCondition("Initialized", "False", "ContainersNotInitialized", message)
    return PodCondition("Initialized", "True", "PodCompleted" if report.phase == "Succeeded" else "")


def _containers_ready(pod: Pod, report: _Report) -> PodCondition:
    if report.are_ready:
        return PodCondition("ContainersReady", "True")
    if report.phase in _OF_TERMINAL:
        return PodCondition("ContainersReady", "False", _OF_TERMINAL[report.phase])
    names = " ".join(container.name for container in pod.spec.containers)
    return PodCondition("ContainersReady", "False", "ContainersNotReady", f"containers with unready status: [{names}]")


def _ready(pod: Pod, containers: PodCondition) -> PodCondition:
    if containers.status != "True":
        return PodCondition("Ready", containers.status, containers.reason, containers.message)
    known = {condition.type: condition.status for condition in pod.status.conditions}
    unmet = [_tell_gate(gate, known.get(gate)) for gate in unmet_gates(pod)]
    return (
        PodCondition("Ready", "False", "ReadinessGatesNotReady", ", ".join(unmet))
        if unmet
        else PodCondition("Ready", "True")
    )


def _tell_gate(gate: str, status: str | None) -> str:
    if status is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    return f'the status of pod readiness gate "{gate}" is not "True", but {status}'
