"""Pods as the node sees them: everything that it needs to run one, decoded straight from the bytes of the API."""

from typing import Any

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

POD = ResourceType("v1", "Pod", "pods")


class Port(Struct, frozen=True, gc=False, rename="camel"):
    container_port: int
    name: str = ""
    protocol: str = "TCP"


class VolumeMount(Struct, frozen=True, gc=False, rename="camel"):
    name: str
    mount_path: str
    read_only: bool = False
    sub_path: str = ""
    sub_path_expr: str = ""


class Capabilities(Struct, frozen=True, gc=False):
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SecurityContext(Struct, frozen=True, gc=False, rename="camel"):
    run_as_user: int | None = None
    run_as_group: int | None = None
    privileged: bool = False
    read_only_root_filesystem: bool = False
    run_as_non_root: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities = Capabilities()
    supplemental_groups: tuple[int, ...] = ()
    fs_group: int | None = None


class Resources(Struct, frozen=True, gc=False):
    requests: dict[str, str | int] = {}
    limits: dict[str, str | int] = {}


class Probe(Struct, frozen=True, gc=False, rename="camel"):
    exec_: dict[str, Any] | None = msgspec.field(default=None, name="exec")
    http_get: dict[str, Any] | None = None
    tcp_socket: dict[str, Any] | None = None
    grpc: dict[str, Any] | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None  # instead of the Pod's, when this probe ends the container


class Lifecycle(Struct, frozen=True, gc=False, rename="camel"):
    post_start: dict[str, Any] | None = None
    pre_stop: dict[str, Any] | None = None


class Container(Struct, frozen=True, gc=False, rename="camel"):
    name: str
    image: str = ""
    image_pull_policy: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[dict[str, Any], ...] = ()
    env_from: tuple[dict[str, Any], ...] = ()
    ports: tuple[Port, ...] = ()
    resources: Resources = Resources()
    volume_mounts: tuple[VolumeMount, ...] = ()
    security_context: SecurityContext = SecurityContext()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    restart_policy: str = ""  # Always: a sidecar among the init containers
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"
    tty: bool = False
    stdin: bool = False
    stdin_once: bool = False


class HostAlias(Struct, frozen=True, gc=False):
    ip: str
    hostnames: tuple[str, ...] = ()


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[dict[str, Any], ...] = ()
    node_name: str = ""
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    service_account_name: str = ""
    security_context: SecurityContext = SecurityContext()
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    host_aliases: tuple[HostAlias, ...] = ()
    dns_policy: str = "ClusterFirst"
    dns_config: dict[str, Any] = {}
    enable_service_links: bool = True
    readiness_gates: tuple[dict[str, Any], ...] = ()


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    phase: str = "Pending"
    start_time: str | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    qos_class: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[dict[str, Any], ...] = ()
    container_statuses: tuple[dict[str, Any], ...] = ()
    init_container_statuses: tuple[dict[str, Any], ...] = ()


class NodePod(Object, frozen=True, gc=False):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def container(self, name: str) -> Container:
        """Raises KeyError for a name that the Pod does not have."""
        for container in (*self.spec.init_containers, *self.spec.containers):
            if container.name == name:
                return container
        raise KeyError(name)


def pods_of(node: str) -> CachedKind[NodePod]:
    return CachedKind(POD, NodePod, field_selector=f"spec.nodeName={node}")
