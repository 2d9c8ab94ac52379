"""EndpointSlices: the addresses behind a Service, in portions."""

from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

ENDPOINT_SLICE = ResourceType("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")


class EndpointConditions(Struct, frozen=True, omit_defaults=True):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class TargetRef(Struct, frozen=True, omit_defaults=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Endpoint(Struct, frozen=True, rename="camel", omit_defaults=True):
    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    target_ref: TargetRef | None = None
    node_name: str | None = None
    zone: str | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What does not change while it is the same endpoint."""
        target = self.target_ref
        return self.addresses, self.hostname, target and target.namespace, target and target.name


class EndpointPort(Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str | None = None
    port: int | None = None
    protocol: str | None = None
    app_protocol: str | None = None


class EndpointSlice(Object, frozen=True, rename="camel"):
    address_type: str = ""
    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None


ENDPOINT_SLICES: CachedKind[EndpointSlice] = CachedKind(ENDPOINT_SLICE, EndpointSlice)
