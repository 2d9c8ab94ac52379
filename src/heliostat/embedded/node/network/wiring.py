"""The network of one machine: a namespace with a bridge that all Pods hang on, and nothing on the host's interfaces.

    Pod eth0 ──veth── bridge (gateway, DNS, every ClusterIP) in the infra namespace

The namespace is held by a sandbox without containers, so it outlives the node, and Pods keep talking to each other
while the node is away.
"""

import errno
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.node.network.addresses import gateway_of
from heliostat.embedded.node.network.namespaces import NamespaceVisitor, network_of
from heliostat.embedded.node.network.netlink import Netlink
from heliostat.embedded.node.sandbox import Sandbox, SandboxSpec, find_sandbox, start_sandbox

BRIDGE = "pods"
POD_NETWORK = IPv4Network("10.244.0.0/16")
SERVICE_NETWORK = IPv4Network("10.96.0.0/12")
_LONGEST_LINK_NAME = 15
_POD_END = "eth0"


class Networks(Struct, frozen=True):
    pods: IPv4Network = POD_NETWORK
    services: IPv4Network = SERVICE_NETWORK


class Wiring:
    """The infra namespace, with the bridge in it."""

    def __init__(self, holder: Sandbox, networks: Networks, visitor: NamespaceVisitor) -> None:
        self.networks = networks
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

    async def stop(self) -> None:
        """For good: every cable goes with the namespace."""
        await self.holder.stop()
        await self.holder.close()


def link_name(address: IPv4Address) -> str:
    """The host's end of a Pod's cable; the other end goes with the Pod and takes this one along."""
    return f"pod{int(address):x}"[:_LONGEST_LINK_NAME]


async def open_wiring(directory: Path, networks: Networks, visitor: NamespaceVisitor) -> Wiring:
    """The one that an earlier life of the node made here, or a new one."""
    directory.mkdir(parents=True, exist_ok=True)
    holder = await find_sandbox(directory)
    if holder is None:
        holder = await start_sandbox(SandboxSpec(directory=directory, hostname="heliostat-network"))
    wiring = Wiring(holder, networks, visitor)
    await visitor.visit(wiring.namespace, lambda: _prepare(networks))
    return wiring


def _prepare(networks: Networks) -> None:
    """Also half done already: each step is taken when its result is missing."""
    netlink = Netlink()
    try:
        netlink.set_up("lo")
        if not netlink.has(BRIDGE):
            netlink.add_bridge(BRIDGE)
        _unless_there(lambda: netlink.add_address(BRIDGE, _gateway(networks)))
        netlink.set_up(BRIDGE)
        _unless_there(lambda: netlink.make_local(networks.services))
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
