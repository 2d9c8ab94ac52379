"""Pod facts: ready? terminating? over? and if it is not ready, why not.

``view_pod`` cuts a Pod tree down to the slim frozen ``PodView``; everything else answers from that. A field that is
absent or null reads as its empty value, so a Pod nobody has reported on yet is simply not ready.
What to do about a Pod is decided elsewhere: nothing here knows Ray or restart rules.
"""

from typing import Any

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject, drop_nulls
from heliostat.kube.objects import Metadata


class Waiting(Struct, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class Running(Struct, frozen=True, gc=False, rename="camel"):
    started_at: str | None = None


class Terminated(Struct, frozen=True, gc=False, rename="camel"):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None  # a time that nobody knows is null: of a container that was lost, say
    finished_at: str | None = None
    container_id: str = msgspec.field(default="", name="containerID")


class ContainerState(Struct, frozen=True, gc=False):
    """At most one is set; none means the kubelet has not said anything yet."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Struct, frozen=True, gc=False, rename="camel"):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodView(Struct, frozen=True, kw_only=True):
    """What decisions need to know of a Pod. Texts are empty and times are "" when the Pod does not say."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    controller_uid: str = ""  # uid of the owner reference with controller: true
    restart_policy: str = ""
    container_names: tuple[str, ...] = ()
    node_name: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class PodError(ValueError):
    """A Pod tree whose fields have the wrong types; the text names the field."""


class _Owner(Struct):
    uid: str = ""
    controller: bool = False


class _Metadata(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[_Owner] = []


class ContainerName(Struct, frozen=True, gc=False):
    name: str = ""


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a Pod's spec that decisions read."""

    restart_policy: str = ""
    node_name: str = ""
    containers: tuple[ContainerName, ...] = ()


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a Pod's status that decisions read."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class _Pod(Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


def view_pod(tree: JsonObject) -> PodView:
    """The slim view of a Pod tree; raises ``PodError`` when a field has the wrong type."""
    pod = _convert(tree)
    controller = next((owner.uid for owner in pod.metadata.owner_references if owner.controller), "")
    return build_view(pod.metadata, controller, pod.spec, pod.status)


def build_view(metadata: _Metadata | Metadata, controller_uid: str, spec: PodSpec, status: PodStatus) -> PodView:
    """From a Pod that is decoded already."""
    return PodView(
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        creation_timestamp=metadata.creation_timestamp or "",
        deletion_timestamp=metadata.deletion_timestamp or "",
        labels=metadata.labels,
        annotations=metadata.annotations,
        controller_uid=controller_uid,
        restart_policy=spec.restart_policy,
        container_names=tuple([container.name for container in spec.containers]),
        node_name=spec.node_name,
        phase=status.phase,
        reason=status.reason,
        message=status.message,
        pod_ip=status.pod_ip,
        conditions=status.conditions,
        container_statuses=status.container_statuses,
        init_container_statuses=status.init_container_statuses,
    )


def _convert(tree: Any) -> _Pod:
    """Straight when nothing is null (an API server never sends null); otherwise without the nulls."""
    try:
        return msgspec.convert(tree, _Pod)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(drop_nulls(tree), _Pod)
    except msgspec.ValidationError as error:
        raise PodError(f"not a Pod: {error}") from None


def condition(pod: PodView, type_: str) -> PodCondition | None:
    for found in pod.conditions:
        if found.type == type_:
            return found
    return None


def ready_condition(pod: PodView) -> PodCondition | None:
    return condition(pod, "Ready")


def is_ready(pod: PodView) -> bool:
    """The Ready condition is True. Phase and deletion are separate questions."""
    ready = ready_condition(pod)
    return ready is not None and ready.status == "True"


def is_running(pod: PodView) -> bool:
    return pod.phase == "Running"


def is_terminating(pod: PodView) -> bool:
    return pod.deletion_timestamp != ""


def is_terminal(pod: PodView) -> bool:
    """Over for good: no container will ever run again."""
    return pod.phase in ("Succeeded", "Failed")


def container_status(pod: PodView, name: str) -> ContainerStatus | None:
    for status in pod.container_statuses:
        if status.name == name:
            return status
    return None


# Reasons that say "on its way", not "stuck": anything more telling comes first.
_UNDER_WAY = ("ContainerCreating", "PodInitializing", "")


def why_waiting(pod: PodView) -> tuple[str, str] | None:
    """Why this Pod is not ready, as (reason, sentence); None when it is ready or over.

    The first that applies: being deleted, not scheduled, init container, container, readiness gate, nothing reported.
    """
    if is_terminal(pod):
        return None
    if is_terminating(pod):
        return "Terminating", f"the Pod is being deleted since {pod.deletion_timestamp}"
    if is_ready(pod):
        return None
    return _why_not_scheduled(pod) or _why_not_initialized(pod) or _why_containers_wait(pod) or _why_not_reported(pod)


def _why_not_scheduled(pod: PodView) -> tuple[str, str] | None:
    scheduled = condition(pod, "PodScheduled")
    if scheduled is None or scheduled.status == "True":
        return None
    return scheduled.reason or "Unschedulable", scheduled.message or "no node has been found for the Pod yet"


def _why_not_initialized(pod: PodView) -> tuple[str, str] | None:
    initialized = condition(pod, "Initialized")
    if initialized is not None and initialized.status == "True":
        return None  # what still runs in the init list is a sidecar
    for status in pod.init_container_statuses:
        state = status.state
        if state.waiting is not None and (state.waiting.reason not in _UNDER_WAY or state.waiting.message):
            return state.waiting.reason, _about("init container", status.name, state.waiting.message or "is waiting")
        if state.terminated is not None and state.terminated.exit_code != 0:
            return _why_terminated("init container", status.name, state.terminated)
        if state.running is not None:
            return "Initializing", _about("init container", status.name, "is still running")
    return None


def _why_containers_wait(pod: PodView) -> tuple[str, str] | None:
    """A container that is stuck or has ended tells more than one that is starting or not yet ready."""
    later: tuple[str, str] | None = None
    for status in pod.container_statuses:
        state = status.state
        if state.waiting is not None:
            reason = state.waiting.reason or "ContainerCreating"
            why = reason, _about("container", status.name, state.waiting.message or "is waiting")
            if state.waiting.reason not in _UNDER_WAY:
                return why
        elif state.terminated is not None:
            return _why_terminated("container", status.name, state.terminated)
        elif state.running is not None and not status.ready:
            why = "ContainersNotReady", _about("container", status.name, "is running but not ready")
        else:
            continue
        later = later or why
    return later


def _why_terminated(what: str, name: str, ended: Terminated) -> tuple[str, str]:
    outcome = f"exited with code {ended.exit_code}" + (f": {ended.message}" if ended.message else "")
    return ended.reason or ("Completed" if ended.exit_code == 0 else "Error"), _about(what, name, outcome)


def _why_not_reported(pod: PodView) -> tuple[str, str]:
    ready = ready_condition(pod)
    if pod.reason or pod.message:
        return pod.reason or "NotReady", pod.message or "the Pod is not ready"
    if ready is not None:
        return ready.reason or "NotReady", ready.message or "the Pod is not ready"
    return "Pending", "no node has reported on the Pod yet"


def _about(what: str, name: str, text: str) -> str:
    return f"{what} {name} {text}" if text.startswith(("is ", "exited ")) else f"{what} {name}: {text}"
