"""The gateway as a part of a node's program: its controllers in the host, and its data plane beside them.

Who runs it hands in how to listen in the cluster's network, how to reach Pods, and the directory of Services.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.gateway.conditions import NOWHERE, Front
from heliostat.embedded.gateway.definitions import GATEWAY, GATEWAY_CLASS, GROUP, HTTP_ROUTE
from heliostat.embedded.gateway.feed import SERVICE, DirectoryFeed
from heliostat.embedded.gateway.fronts import LOOPBACK, HostWish, is_of, read_host_wish, service_name
from heliostat.embedded.gateway.knowledge import Knowledge
from heliostat.embedded.gateway.listening import Listen, Listening, Place
from heliostat.embedded.gateway.objects import GATEWAY_CLASSES, Gateway
from heliostat.embedded.gateway.reconcilers import GatewayClassReconciler, GatewayReconciler, HttpRouteReconciler
from heliostat.embedded.gateway.routing import PortTable, Tables
from heliostat.embedded.gateway.switchboard import Switchboard
from heliostat.embedded.gateway.telemetry import Telemetry
from heliostat.embedded.gateway.upstreams import DRAIN_SECONDS, Dial, Upstreams
from heliostat.kube.objects import Key, Object
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.host import Host
from heliostat.runtime.metrics import Registry
from heliostat.runtime.reconciler import Signal

OnProblem: TypeAlias = Callable[[str, Exception], None]

TIDY_SECONDS = 5.0
LAST_SECONDS = 5.0  # for what is on its way when the node stops


class Surface(Struct, frozen=True):
    """The network as the gateway uses it."""

    listen: Listen
    dial: Dial


class LocalGateway:
    """To be made inside a running loop, before the host runs."""

    def __init__(self, host: Host, feed: DirectoryFeed, surface: Surface, registry: Registry) -> None:
        self._known = Knowledge(host.caches, feed.directory)
        self._feed = feed
        self._board = Switchboard(feed.directory, Upstreams(surface.dial), Telemetry(registry))
        self._listening = Listening(self._board, surface.listen, _listen_on_host, drain_seconds=DRAIN_SECONDS)
        self._fronts: Mapping[Key, Front] = {}
        self._told = Signal()
        self._changed = asyncio.Event()
        for kind in (GATEWAY_CLASS, GATEWAY, HTTP_ROUTE, SERVICE):
            host.types.add(kind)
        host.add(GatewayClassReconciler(self._known.classes))
        host.add(GatewayReconciler(self._known, lambda key: self._fronts.get(key, NOWHERE), self._told))
        host.add(HttpRouteReconciler(self._known))
        host.beside.append(self.run)

    async def run(self) -> None:
        await self._known.wait_filled()
        await self._feed.wait_filled()
        for cache in (self._known.classes, self._known.gateways, self._known.routes, self._known.namespaces):
            cache.subscribe(self._notice)
        self._feed.subscribe(self._changed.set)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_up())
                group.create_task(self._keep_tidy())
        finally:
            await self._listening.close(LAST_SECONDS)
            self._board.upstreams.close()

    def _notice(self, _before: Object | None, _after: Object | None) -> None:
        self._changed.set()

    async def _keep_up(self) -> None:
        while True:
            self._changed.clear()
            await self._use(self._known.build_tables())
            await self._changed.wait()

    async def _keep_tidy(self) -> None:
        """Rested and idle connections end, deadlines pass, and ports that could not be had are tried again."""
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            self._board.tidy()
            self._listening.tidy()
            if self._listening.problems:
                self._changed.set()

    async def _use(self, tables: Tables) -> None:
        gateways = dict(self._known.all())
        self._board.use(tables)
        await self._listening.use(
            {
                place: table
                for key, gateway in gateways.items()
                for place, table in self._places(key, gateway, tables.get(key, {}))
            }
        )
        fronts = {key: self._front(key, gateway) for key, gateway in gateways.items()}
        changed = [key for key, front in fronts.items() if self._fronts.get(key) != front]
        self._fronts = fronts
        for key in changed:
            self._told.send(key)

    def _places(self, key: Key, gateway: Gateway, tables: Mapping[int, PortTable]) -> Iterator[tuple[Place, PortTable]]:
        address = self._address(gateway)
        for port, table in tables.items():
            if address:
                yield Place(address, port, gateway=key), table
        wish = read_host_wish(gateway)
        if wish.port is not None and tables:
            yield Place(LOOPBACK, wish.port, is_host=True, gateway=key), next(iter(tables.values()))

    def _address(self, gateway: Gateway) -> str:
        service = self._known.service_of(gateway)
        if service is None or not is_of(gateway, service):
            return ""
        return service.spec.cluster_ip

    def _front(self, key: Key, gateway: Gateway) -> Front:
        address, ports = self._address(gateway), self._listening.ports
        problems = {place: why for place, why in self._listening.problems.items() if place.gateway == key}
        host, host_problem = self._host_front(key, read_host_wish(gateway), problems)
        return Front(
            address=address,
            listening=frozenset(place.port for place in ports if place.gateway == key and not place.is_host),
            problems={place.port: why for place, why in problems.items() if not place.is_host}
            | self._name_taken(gateway),
            host=host,
            host_problem=host_problem,
        )

    def _host_front(self, key: Key, wish: HostWish, problems: Mapping[Place, str]) -> tuple[str, str]:
        if wish.port is None:
            return "", wish.problem
        place = Place(LOOPBACK, wish.port, is_host=True, gateway=key)
        port = self._listening.ports.get(place)
        return (f"{LOOPBACK}:{port}", "") if port is not None else ("", problems.get(place, ""))

    def _name_taken(self, gateway: Gateway) -> dict[int, str]:
        service = self._known.service_of(gateway)
        if service is None or is_of(gateway, service):
            return {}
        words = f"Service {service_name(gateway)} belongs to somebody else; remove it, or call the Gateway otherwise"
        return {each.port: words for each in gateway.spec.listeners}


def without_absent_kinds(on_problem: OnProblem) -> OnProblem:
    """A server without the Gateway API has no Gateways: that is no problem of a node's."""

    def told(what: str, error: Exception) -> None:
        is_absence = isinstance(error, NotFoundError) and what.startswith("watch of ") and what.endswith(f".{GROUP}")
        if not is_absence:
            on_problem(what, error)

    return told


def refuse_gateways(host: Host, because: str) -> None:
    """Where there is no network of the cluster: classes of ours are told so, and nothing listens."""
    host.types.add(GATEWAY_CLASS)
    host.add(GatewayClassReconciler(host.caches.dispensable(GATEWAY_CLASSES), because))


async def _listen_on_host(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.setblocking(False)
    except BaseException:  # nobody else knows this socket
        made.close()
        raise
    return made
