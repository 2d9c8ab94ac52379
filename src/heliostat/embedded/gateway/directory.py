"""Who is where in the cluster: services, their addresses, and the Pods behind them. Names and ports are looked up here.

Pure: it is filled from what the API server tells and knows no sockets.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address

from msgspec import Struct


class ServicePort(Struct, frozen=True):
    port: int
    name: str = ""
    protocol: str = "TCP"


class KnownService(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    address: IPv4Address | None = None  # None: headless
    external_name: str = ""
    ports: tuple[ServicePort, ...] = ()
    is_of_gateway: bool = False  # its listeners are a Gateway's


class Endpoint(Struct, frozen=True, kw_only=True):
    """One Pod behind a service."""

    address: IPv4Address
    hostname: str = ""
    is_ready: bool = True
    is_serving: bool = True  # answers, whether it is on its way out or not
    is_terminating: bool = False
    ports: tuple[ServicePort, ...] = ()  # where it really listens, under the names of the service's ports


class Directory:
    def __init__(self) -> None:
        self._services: dict[tuple[str, str], KnownService] = {}
        self._endpoints: dict[tuple[str, str], dict[str, tuple[Endpoint, ...]]] = {}  # by slice

    def put_service(self, service: KnownService) -> None:
        self._services[service.namespace, service.name] = service

    def drop_service(self, namespace: str, name: str) -> None:
        self._services.pop((namespace, name), None)

    def put_endpoints(self, namespace: str, service: str, slice_: str, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints.setdefault((namespace, service), {})[slice_] = tuple(endpoints)

    def drop_endpoints(self, namespace: str, service: str, slice_: str) -> None:
        slices = self._endpoints.get((namespace, service), {})
        slices.pop(slice_, None)
        if not slices:
            self._endpoints.pop((namespace, service), None)

    def services(self) -> list[KnownService]:
        return list(self._services.values())

    def find(self, namespace: str, name: str) -> KnownService | None:
        return self._services.get((namespace, name))

    def find_by_address(self, address: IPv4Address) -> KnownService | None:
        return next((service for service in self._services.values() if service.address == address), None)

    def find_endpoints_at(self, address: IPv4Address) -> Iterator[tuple[KnownService, Endpoint]]:
        for service in self._services.values():
            for endpoint in self.endpoints(service.namespace, service.name):
                if endpoint.address == address:
                    yield service, endpoint

    def endpoints(self, namespace: str, name: str) -> list[Endpoint]:
        slices = self._endpoints.get((namespace, name), {})
        return [endpoint for key in sorted(slices) for endpoint in slices[key]]

    def has_namespace(self, namespace: str) -> bool:
        return any(service.namespace == namespace for service in self._services.values())

    def targets(self, namespace: str, name: str, port: ServicePort) -> list[tuple[IPv4Address, int]]:
        """Where a connection may go: to Pods that are ready, else to those that still answer on their way out."""
        endpoints = self.endpoints(namespace, name)
        leaving = [each for each in endpoints if each.is_terminating and each.is_serving]
        chosen = [each for each in endpoints if each.is_ready] or leaving
        return [
            (endpoint.address, there.port)
            for endpoint in chosen
            for there in endpoint.ports
            if there.name == port.name and there.protocol == port.protocol
        ]
