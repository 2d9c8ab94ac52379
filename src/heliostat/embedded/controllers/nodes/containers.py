"""The containerStatuses of a simulated Pod: all its containers do the same at the same time.

What is known from before stays: restarts are only counted up, a start time holds as long as the container runs.
"""

from heliostat.embedded.controllers.nodes.steps import restart_delay
from heliostat.embedded.controllers.views.pods import Container, ContainerStatus, Pod
from heliostat.kube.plan import JsonObject

_MARK = "simulated://"


def exit_reason(code: int) -> str:
    return "Completed" if code == 0 else "Error"


def build_creating(pod: Pod) -> list[JsonObject]:
    reason = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
    state = {"waiting": {"reason": reason}}
    return [_status(pod, container, state, restarts=0) for container in pod.spec.containers]


def build_running(pod: Pod, *, is_ready: bool, now: str) -> list[JsonObject]:
    return [_running(pod, container, is_ready=is_ready, now=now) for container in pod.spec.containers]


def build_backing_off(pod: Pod, code: int, now: str) -> list[JsonObject]:
    return [_backing_off(pod, container, code, now) for container in pod.spec.containers]


def build_terminated(pod: Pod, code: int, reason: str, now: str) -> list[JsonObject]:
    return [
        _status(pod, container, {"terminated": _ended(pod, container, code, reason, now)})
        for container in pod.spec.containers
    ]


def build_init(pod: Pod, phase: str, now: str) -> list[JsonObject]:
    """While the Pod is pending they wait; then they are done, and sidecars run as long as the Pod does."""
    return [_init(pod, container, phase, now) for container in pod.spec.init_containers]


def _init(pod: Pod, container: Container, phase: str, now: str) -> JsonObject:
    if phase == "Pending":
        return _status(pod, container, {"waiting": {"reason": "PodInitializing"}}, restarts=0)
    is_sidecar = container.restart_policy == "Always"
    if is_sidecar and phase == "Running":
        return _running(pod, container, is_ready=True, now=now)
    state = {"terminated": _ended(pod, container, 0, "Completed", now)}
    return _status(pod, container, state) | {"ready": not is_sidecar}


def _running(pod: Pod, container: Container, *, is_ready: bool, now: str) -> JsonObject:
    known = _known(pod, container)
    began = (known.state.running or {}).get("startedAt") if known is not None else None
    is_restart = known is not None and bool(known.last_state) and began is None
    restarts = (known.restart_count if known is not None else 0) + is_restart
    status = _status(pod, container, {"running": {"startedAt": began or now}}, restarts)
    return status | {"ready": is_ready, "started": True}


def _backing_off(pod: Pod, container: Container, code: int, now: str) -> JsonObject:
    known = _known(pod, container)
    restarts = known.restart_count if known is not None else 0
    metadata = pod.metadata
    place = f"container={container.name} pod={metadata.name}_{metadata.namespace}({metadata.uid})"
    message = f"back-off {_go_seconds(restart_delay(restarts))} restarting failed {place}"
    status = _status(pod, container, {"waiting": {"reason": "CrashLoopBackOff", "message": message}}, restarts)
    return status | {"lastState": {"terminated": _ended(pod, container, code, exit_reason(code), now)}}


def _status(pod: Pod, container: Container, state: JsonObject, restarts: int | None = None) -> JsonObject:
    known = _known(pod, container)
    if restarts is None:
        restarts = known.restart_count if known is not None else 0
    is_made = "waiting" not in state
    status: JsonObject = {
        "name": container.name,
        "image": container.image,
        "imageID": f"{_MARK}{container.image}" if is_made else "",
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "state": state,
        "lastState": known.last_state if known is not None else {},
    }
    return status | ({"containerID": _container_id(pod, container, restarts)} if is_made else {})


def _ended(pod: Pod, container: Container, code: int, reason: str, now: str) -> JsonObject:
    """When it ended; one that ended before ended then."""
    known = _known(pod, container)
    if known is not None and known.state.terminated is not None:
        code, reason = known.state.terminated.exit_code, known.state.terminated.reason
        now = known.state.terminated.finished_at or now
    began = (known.state.running or {}).get("startedAt") if known is not None else None
    restarts = known.restart_count if known is not None else 0
    identity = _container_id(pod, container, restarts)
    return {
        "exitCode": code,
        "reason": reason,
        "startedAt": began or now,
        "finishedAt": now,
        "containerID": identity,
    }


def _known(pod: Pod, container: Container) -> ContainerStatus | None:
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next((status for status in statuses if status.name == container.name), None)


def _container_id(pod: Pod, container: Container, restarts: int) -> str:
    return f"{_MARK}{pod.metadata.uid}/{container.name}/{restarts}"


def _go_seconds(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
