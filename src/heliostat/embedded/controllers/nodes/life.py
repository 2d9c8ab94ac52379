"""Where in its simulated life a Pod is, and since when: read from its status alone, so that a restart loses nothing."""

from msgspec import Struct

from heliostat.embedded.controllers.views.pods import ContainerStatus, Pod
from heliostat.kube.timestamps import parse_timestamp

BOUND = "bound"  # no agent has said anything about it
CREATING = "creating"
STARTED = "started"  # its containers run; the Pod is not known to be ready
READY = "ready"
BACKING_OFF = "backing off"
OVER = "over"
CRASH_LOOP = "CrashLoopBackOff"


class Life(Struct, frozen=True):
    stage: str
    since: float  # in whole seconds, as the API has it


def life_of(pod: Pod) -> Life:
    stage = _stage_of(pod)
    return Life(stage, _since(pod, stage))


def is_terminating_since(pod: Pod) -> float:
    """When it was asked to go; the timestamp is the moment by which it must be gone."""
    return _time(pod.metadata.deletion_timestamp) - (pod.metadata.deletion_grace_period_seconds or 0)


def restarts_of(pod: Pod) -> int:
    return max((status.restart_count for status in pod.status.container_statuses), default=0)


def unmet_gates(pod: Pod) -> tuple[str, ...]:
    """Readiness gates that keep a Pod with ready containers from being ready."""
    held = {condition.type for condition in pod.status.conditions if condition.status == "True"}
    return tuple(gate.condition_type for gate in pod.spec.readiness_gates if gate.condition_type not in held)


def _stage_of(pod: Pod) -> str:
    statuses = pod.status.container_statuses
    if pod.is_over:
        return OVER
    if pod.status.start_time is None:
        return BOUND
    if any(_waits_in_crash_loop(status) for status in statuses):
        return BACKING_OFF
    if pod.status.phase != "Running":
        return CREATING
    is_settled = all(status.ready for status in statuses) and pod.is_ready == (not unmet_gates(pod))
    return READY if is_settled else STARTED


def _waits_in_crash_loop(status: ContainerStatus) -> bool:
    return status.state.waiting is not None and status.state.waiting.get("reason") == CRASH_LOOP


def _since(pod: Pod, stage: str) -> float:
    if stage in (STARTED, READY):
        begun = [(status.state.running or {}).get("startedAt") for status in pod.status.container_statuses]
        return max(map(_time, begun), default=_time(pod.status.start_time))
    if stage == BACKING_OFF:
        ended = [
            (status.last_state.get("terminated") or {}).get("finishedAt") for status in pod.status.container_statuses
        ]
        return max(map(_time, ended), default=0.0)
    return _time(pod.status.start_time)


def _time(text: str | None) -> float:
    return parse_timestamp(text) if text else 0.0
