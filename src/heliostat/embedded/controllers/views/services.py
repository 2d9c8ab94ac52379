"""Services as the controllers of their endpoints see them."""

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

SERVICE = ResourceType("v1", "Service", "services")


class ServicePort(Struct, frozen=True, rename="camel"):
    port: int = 0
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str = 0
    app_protocol: str | None = None


class ServiceSpec(Struct, frozen=True, rename="camel"):
    type: str = "ClusterIP"
    selector: dict[str, str] | None = None
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    ip_families: tuple[str, ...] = ()
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool = False


class Service(Object, frozen=True, rename="camel"):
    spec: ServiceSpec = ServiceSpec()

    @property
    def has_address(self) -> bool:
        """False for headless ones."""
        return self.spec.cluster_ip not in ("", "None")

    @property
    def selects_pods(self) -> bool:
        """Otherwise somebody else says what its endpoints are."""
        return self.spec.type != "ExternalName" and bool(self.spec.selector)


SERVICES: CachedKind[Service] = CachedKind(SERVICE, Service)
