"""Services and names for the Pods of this node: proxy and resolver on a directory that is kept from the API."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping
from typing import Any

from heliostat.embedded.gateway.directory import KnownService
from heliostat.embedded.gateway.feed import DirectoryFeed
from heliostat.embedded.node.network.dns_server import DnsServer
from heliostat.embedded.node.network.dns_upstream import PORT as DNS_PORT
from heliostat.embedded.node.network.dns_upstream import host_resolvers
from heliostat.embedded.node.network.dns_zone import Zone
from heliostat.embedded.node.network.service_proxy import ServiceProxy
from heliostat.embedded.node.network.wiring import Wiring
from heliostat.embedded.node.node_facts import NodeFacts

AGAIN_SECONDS = 5.0


class ClusterNetwork:
    def __init__(
        self, feed: DirectoryFeed, wiring: Wiring, facts: NodeFacts, on_problem: Callable[[str, Exception], None]
    ) -> None:
        self._directory = feed.directory
        self._feed = feed
        self._wiring = wiring
        self._facts = facts
        self._on_problem = on_problem
        self._changed = asyncio.Event()
        self._proxy = ServiceProxy(feed.directory, wiring.listen, wiring.dial, on_problem)

    def variables(self, namespace: str) -> Mapping[str, str]:
        """What containers are told about services: those of their namespace, and where the API is."""
        own = [service for service in self._directory.services() if service.namespace == namespace]
        api = self._directory.find("default", "kubernetes")
        found: dict[str, str] = {}
        for service in (*own, *((api,) if api is not None else ())):
            found |= _variables_of(service)
        return found

    async def run(self) -> None:
        await self._feed.wait_filled()
        self._feed.subscribe(self._changed.set)
        address, wiring = self._facts.dns_address, self._wiring
        datagrams = await wiring.listen(address, DNS_PORT, socket.SOCK_DGRAM)
        listener = await wiring.listen(address, DNS_PORT)
        zone = Zone(self._directory, self._facts.domain, (wiring.networks.pods, wiring.networks.services))
        server = DnsServer(zone, host_resolvers(), lambda error: self._on_problem("the cluster's DNS server", error))
        with datagrams, listener:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(server.run(datagrams, listener))
                    group.create_task(self._keep_proxy())
            finally:
                await self._proxy.close()

    async def _keep_proxy(self) -> None:
        while True:
            self._changed.clear()
            is_complete = await self._proxy.refresh()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if is_complete else AGAIN_SECONDS):
                    await self._changed.wait()


def _variables_of(service: KnownService) -> dict[str, Any]:
    if service.address is None or not service.ports:
        return {}
    prefix, first = service.name.upper().replace("-", "_"), service.ports[0]
    found = {f"{prefix}_SERVICE_HOST": str(service.address), f"{prefix}_SERVICE_PORT": str(first.port)}
    for port in service.ports:
        if port.name:
            found[f"{prefix}_SERVICE_PORT_{port.name.upper().replace('-', '_')}"] = str(port.port)
    return found
