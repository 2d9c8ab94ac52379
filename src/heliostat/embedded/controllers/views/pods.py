"""Pods as the controllers see them: where they run, what they ask for, how they are."""

from typing import Any

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

POD = ResourceType("v1", "Pod", "pods")
BINDING = ResourceType("v1", "Binding", "pods", subresource="binding")


class Resources(Struct, frozen=True, gc=False):
    requests: dict[str, str | int] = {}
    limits: dict[str, str | int] = {}


class ContainerPort(Struct, frozen=True, gc=False, rename="camel"):
    container_port: int
    name: str = ""
    protocol: str = "TCP"
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")


class Container(Struct, frozen=True, gc=False, rename="camel"):
    name: str
    image: str = ""
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""  # Always: a sidecar among the init containers


class Toleration(Struct, frozen=True, gc=False, rename="camel"):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NamedGate(Struct, frozen=True, gc=False):
    name: str


class ReadinessGate(Struct, frozen=True, gc=False, rename="camel"):
    condition_type: str


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    preemption_policy: str = ""
    scheduling_gates: tuple[NamedGate, ...] = ()
    node_selector: dict[str, str] = {}
    affinity: dict[str, Any] | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[dict[str, Any], ...] = ()
    overhead: dict[str, str | int] = {}
    resources: Resources | None = None  # of the Pod as a whole
    volumes: tuple[dict[str, Any], ...] = ()
    readiness_gates: tuple[ReadinessGate, ...] = ()
    restart_policy: str = "Always"
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    host_network: bool = False
    hostname: str = ""
    subdomain: str = ""


class PodCondition(Struct, frozen=True, gc=False, rename="camel"):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


class PodAddress(Struct, frozen=True, gc=False):
    ip: str = ""


class ExitedContainer(Struct, frozen=True, gc=False, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    finished_at: str | None = None


class ContainerState(Struct, frozen=True, gc=False):
    """At most one is set."""

    terminated: ExitedContainer | None = None
    waiting: dict[str, Any] | None = None
    running: dict[str, Any] | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    name: str
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: dict[str, Any] = {}


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: tuple[PodAddress, ...] = msgspec.field(default=(), name="podIPs")
    host_ip: str = msgspec.field(default="", name="hostIP")
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Object, frozen=True, gc=False, rename="camel"):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_over(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_active(self) -> bool:
        """Counts as a replica: not over, and nobody has asked it to go."""
        return not self.is_over and not self.metadata.is_terminating

    @property
    def is_ready(self) -> bool:
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions)


PODS: CachedKind[Pod] = CachedKind(POD, Pod)
