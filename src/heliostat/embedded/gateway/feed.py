"""The directory, kept from what the API server tells of Services and EndpointSlices."""

from collections.abc import Callable
from ipaddress import IPv4Address

import msgspec
from msgspec import Struct

from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService, ServicePort
from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.caches import Caches

GATEWAY_LABEL = "heliostat.dev/gateway"  # on the Service of a Gateway, which the gateway itself listens for
_SERVICE_OF_SLICE = "kubernetes.io/service-name"


class _ServicePort(Struct, frozen=True, gc=False):
    port: int
    name: str = ""
    protocol: str = "TCP"


class _ServiceSpec(Struct, frozen=True, gc=False, rename="camel"):
    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    external_name: str = ""
    ports: tuple[_ServicePort, ...] = ()


class NodeService(Object, frozen=True, gc=False):
    spec: _ServiceSpec = _ServiceSpec()


class _Conditions(Struct, frozen=True, gc=False):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class _Endpoint(Struct, frozen=True, gc=False):
    addresses: tuple[str, ...] = ()
    conditions: _Conditions = _Conditions()
    hostname: str | None = None


class _SlicePort(Struct, frozen=True, gc=False):
    port: int | None = None
    name: str | None = None
    protocol: str | None = None


class NodeSlice(Object, frozen=True, gc=False, rename="camel"):
    endpoints: tuple[_Endpoint, ...] | None = None
    ports: tuple[_SlicePort, ...] | None = None
    address_type: str = "IPv4"


SERVICE = ResourceType("v1", "Service", "services")
SERVICES: CachedKind[NodeService] = CachedKind(SERVICE, NodeService)
SLICES: CachedKind[NodeSlice] = CachedKind(
    ResourceType("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"), NodeSlice
)


class DirectoryFeed:
    """In step with the caches: whoever hears of a change later finds it in the directory."""

    def __init__(self, caches: Caches, api_server: tuple[str, int]) -> None:
        self.directory = Directory()
        self._api_server = api_server
        self._listeners: list[Callable[[], None]] = []
        self._services = caches.of(SERVICES)
        self._slices = caches.of(SLICES)
        self._services.subscribe(self._service_changed)
        self._slices.subscribe(self._slice_changed)

    def subscribe(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    async def wait_filled(self) -> None:
        await self._services.synced.wait()
        await self._slices.synced.wait()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def _service_changed(self, before: NodeService | None, after: NodeService | None) -> None:
        if after is not None:
            self.directory.put_service(_known(after))
            self._put_api_server(after)
        elif before is not None:
            self.directory.drop_service(before.metadata.namespace, before.metadata.name)
        self._tell()

    def _put_api_server(self, service: NodeService) -> None:
        if (service.metadata.namespace, service.metadata.name) != ("default", "kubernetes"):
            return
        host, port = self._api_server
        ports = tuple(ServicePort(port, each.name, each.protocol) for each in service.spec.ports)
        self.directory.put_endpoints("default", "kubernetes", "", [Endpoint(address=IPv4Address(host), ports=ports)])

    def _slice_changed(self, before: NodeSlice | None, after: NodeSlice | None) -> None:
        """The label says whose endpoints they are, and may change: those of the former service go."""
        former, now = _place_of(before), _place_of(after)
        if former is not None and former != now:
            self.directory.drop_endpoints(*former)
        if after is not None and now is not None:
            self.directory.put_endpoints(*now, _endpoints(after))
        self._tell()


def _place_of(item: NodeSlice | None) -> tuple[str, str, str] | None:
    """Service and slice that a directory knows the endpoints by; the API server's own are not told by slices."""
    if item is None or item.address_type != "IPv4":
        return None
    namespace, service = item.metadata.namespace, item.metadata.labels.get(_SERVICE_OF_SLICE, "")
    is_known = bool(service) and (namespace, service) != ("default", "kubernetes")
    return (namespace, service, item.metadata.name) if is_known else None


def _known(service: NodeService) -> KnownService:
    spec = service.spec
    has_address = spec.cluster_ip not in ("", "None") and ":" not in spec.cluster_ip
    return KnownService(
        namespace=service.metadata.namespace,
        name=service.metadata.name,
        address=IPv4Address(spec.cluster_ip) if has_address else None,
        external_name=spec.external_name if spec.type == "ExternalName" else "",
        ports=tuple(ServicePort(port.port, port.name, port.protocol) for port in spec.ports),
        is_of_gateway=GATEWAY_LABEL in service.metadata.labels,
    )


def _endpoints(item: NodeSlice) -> list[Endpoint]:
    ports = tuple(
        ServicePort(port.port, port.name or "", port.protocol or "TCP") for port in item.ports or () if port.port
    )
    return [
        Endpoint(
            address=IPv4Address(address),
            hostname=endpoint.hostname or "",
            is_ready=endpoint.conditions.ready is not False,
            is_serving=_is_serving(endpoint.conditions),
            is_terminating=endpoint.conditions.terminating is True,
            ports=ports,
        )
        for endpoint in item.endpoints or ()
        for address in endpoint.addresses
    ]


def _is_serving(conditions: _Conditions) -> bool:
    """Where it is not told, it is as with being ready."""
    return conditions.ready is not False if conditions.serving is None else conditions.serving
