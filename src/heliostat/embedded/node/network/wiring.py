"""The network of one machine: a namespace with a bridge that all Pods hang on, and nothing on the host's interfaces.

    Pod eth0 ──veth── bridge (gateway) in the infra namespace ──veth── DNS and every ClusterIP in one of their own

The namespace is held by a process that sleeps in it, so it outlives the node, and Pods keep talking to each other while
the node is away.
"""

import contextlib
import errno
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, ip_address
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.networks import POD_NETWORK, SERVICE_RANGE
from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxSpec, start_sandbox
from heliostat.embedded.node.isolating.shim_template import ShimTemplate
from heliostat.embedded.node.name_files import hostname_of
from heliostat.embedded.node.network.addresses import gateway_of
from heliostat.embedded.node.network.holder import Holder, find_holder, start_holder
from heliostat.embedded.node.network.namespaces import NamespaceVisitor, connect_from_host, network_of
from heliostat.embedded.node.network.netlink import Netlink
from heliostat.embedded.node.network.service_namespace import ServiceNamespace, open_service_namespace
from heliostat.embedded.node.pods import NodePod

BRIDGE = "pods"
_LONGEST_LINK_NAME = 15
_POD_END = "eth0"


class Networks(Struct, frozen=True):
    pods: IPv4Network = POD_NETWORK
    services: IPv4Network = SERVICE_RANGE


class Wiring:
    """The infra namespace, with the bridge in it."""

    def __init__(
        self, holder: Holder, networks: Networks, visitor: NamespaceVisitor, services: ServiceNamespace | None = None
    ) -> None:
        self.networks = networks
        self._services = services
        self.namespace = network_of(holder.pid)
        self.visitor = visitor
        self.holder = holder

    async def attach(self, pod: Sandbox, address: IPv4Address) -> None:
        """Connect a Pod. Asked again after a crash in the middle, it finishes what is missing."""
        name = link_name(address)
        namespace = network_of(pod.pid)
        if not await self.visitor.visit(namespace, _has_cable):
            await self.visitor.visit(self.namespace, lambda: _lay_cable(name, namespace))
        await self.visitor.visit(self.namespace, lambda: _plug_in(name))
        inside = IPv4Interface((address, self.networks.pods.prefixlen))
        gateway = gateway_of(self.networks.pods)
        await self.visitor.visit(namespace, lambda: _configure(inside, gateway))

    @property
    def pool(self) -> IPv4Network:
        return self.networks.pods

    async def start_pod(self, pod: NodePod, place: Path, address: str, template: ShimTemplate) -> Sandbox:
        """With a cable of its own, or in the network of the node, which is the one that all cables lead to."""
        network = self.namespace if pod.spec.host_network else None
        spec = SandboxSpec(directory=place, hostname=hostname_of(pod), network=network)
        sandbox = await start_sandbox(spec, template)
        try:
            if network is None:
                await self.attach(sandbox, IPv4Address(address))
        except BaseException:
            await sandbox.stop()
            await sandbox.close()
            raise
        return sandbox

    async def connect(self, address: str, port: int) -> socket.socket:
        return await self.visitor.connect(self.namespace, address, port)

    async def listen(self, address: str, port: int, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """At an address of the services."""
        namespace = self.namespace if self._services is None else self._services.path
        return await self.visitor.listen(namespace, address, port, kind)

    async def dial(self, address: str, port: int) -> socket.socket:
        to = ip_address(address)
        if isinstance(to, IPv4Address) and to in self.networks.pods:
            return await self.connect(address, port)
        return await connect_from_host(address, port)

    async def dial_inside(self, pod: Sandbox, port: int) -> socket.socket:
        return await self.visitor.connect(network_of(pod.pid), "127.0.0.1", port)

    async def close(self) -> None:
        if self._services is not None:
            self._services.close()
        self.visitor.close()

    async def stop(self) -> None:
        """For good: every cable goes with the namespace."""
        await self.holder.stop()


def link_name(address: IPv4Address) -> str:
    """The host's end of a Pod's cable; the other end goes with the Pod and takes this one along."""
    return f"pod{int(address):x}"[:_LONGEST_LINK_NAME]


async def open_wiring(directory: Path, networks: Networks, visitor: NamespaceVisitor) -> Wiring:
    """The one that an earlier life of the node made here, or a new one."""
    directory.mkdir(parents=True, exist_ok=True)
    holder = find_holder(directory) or await start_holder(directory, visitor)
    namespace = network_of(holder.pid)
    await visitor.visit(namespace, lambda: _prepare(networks))
    return Wiring(holder, networks, visitor, await _open_services(namespace, networks, visitor))


async def _open_services(namespace: Path, networks: Networks, visitor: NamespaceVisitor) -> ServiceNamespace | None:
    """None where this machine allows for none: then the services are in the infra namespace themselves."""
    try:
        return await open_service_namespace(visitor, namespace, networks.pods, networks.services)
    except OSError:
        await visitor.visit(namespace, lambda: _own_services(networks))
        return None


def _own_services(networks: Networks) -> None:
    with contextlib.closing(Netlink()) as netlink:
        _unless_there(lambda: netlink.make_local(networks.services))


def _prepare(networks: Networks) -> None:
    """Also half done already: each step is taken when its result is missing."""
    netlink = Netlink()
    try:
        netlink.set_up("lo")
        if not netlink.has(BRIDGE):
            netlink.add_bridge(BRIDGE)
        _unless_there(lambda: netlink.add_address(BRIDGE, _gateway(networks)))
        netlink.set_up(BRIDGE)
    finally:
        netlink.close()


def _gateway(networks: Networks) -> IPv4Interface:
    return IPv4Interface((gateway_of(networks.pods), networks.pods.prefixlen))


def _has_cable() -> bool:
    netlink = Netlink()
    try:
        return netlink.has(_POD_END)
    finally:
        netlink.close()


def _lay_cable(name: str, pod: Path) -> None:
    """Both ends appear at once. A link of this name from before is that of an earlier Pod with the same address: the
    kernel takes it away some time after that Pod's end, so it may stand here now and be gone in the next moment."""
    netlink = Netlink()
    try:
        _unless_gone(lambda: netlink.delete(name))
        with pod.open() as namespace:
            netlink.add_veth(name, _POD_END, namespace.fileno())
    finally:
        netlink.close()


def _plug_in(name: str) -> None:
    netlink = Netlink()
    try:
        netlink.set_up(name, master=BRIDGE)
    finally:
        netlink.close()


def _configure(address: IPv4Interface, gateway: IPv4Address) -> None:
    netlink = Netlink()
    try:
        netlink.set_up("lo")
        _unless_there(lambda: netlink.add_address(_POD_END, address))
        netlink.set_up(_POD_END)
        _unless_there(lambda: netlink.add_default_route(gateway))
    finally:
        netlink.close()


def _unless_there(add: Callable[[], None]) -> None:
    try:
        add()
    except FileExistsError:
        return


def _unless_gone(remove: Callable[[], None]) -> None:
    try:
        remove()
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
