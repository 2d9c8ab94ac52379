"""The way out of the Pods' network: TCP to some ports of addresses elsewhere, relayed by the node on that of the host.

    Pod ── bridge in the infra namespace ── veth ── a namespace of its own, to which every address belongs

The infra namespace sends there what it knows no other way for. A listener for a port hears in there whoever wants to go
anywhere by it, and the address that was wanted is the one the connection was accepted at. Nothing of the host is
changed, and all of it goes with the node. Rules: other ports are refused, and so is what only this machine should
reach; a connection is accepted before it is known whether the other side will, and reset when it does not.
"""

import asyncio
import contextlib
import errno
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Collection
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import TypeAlias

from heliostat.embedded.node.network.accepting import accept_each
from heliostat.embedded.node.network.namespaces import connect_from_host
from heliostat.embedded.node.network.netlink import Netlink
from heliostat.embedded.node.network.relay import relay
from heliostat.embedded.node.network.wiring import Networks, Wiring

Dial: TypeAlias = Callable[[str, int], Awaitable[socket.socket]]

CONDITION = "heliostat.dev/Outbound"
DIAL_SECONDS = 30.0
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104  of the namespace out there
_OWN = "/proc/thread-self/ns/net"
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_INNER, _OUTER = "outbound", "eth0"  # the two ends of the cable
_INNER_ADDRESS, _OUTER_ADDRESS = IPv4Interface("169.254.254.1/30"), IPv4Interface("169.254.254.2/30")
_ANY_PORT = 9
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
# Where machines of Azure, Alibaba Cloud and Oracle Cloud ask who they are; elsewhere that is a link-local address.
_OF_CLOUDS = frozenset(map(IPv4Address, ("168.63.129.16", "100.100.100.200", "192.0.0.192")))
_RESET = struct.pack("ii", 1, 0)


class Outbound:
    def __init__(
        self,
        wiring: Wiring,
        ports: Collection[int],
        dial: Dial = connect_from_host,
        on_problem: Callable[[OSError], None] = lambda _error: None,
    ) -> None:
        self._wiring = wiring
        self._on_problem = on_problem
        self._ports = ports
        self._dial = dial
        self._listeners: list[socket.socket] = []
        self._relays: set[asyncio.Task[None]] = set()

    async def open(self) -> OSError | None:
        """Lay the way out, before anybody is told that there is one; what came between, if it cannot be laid."""
        try:
            self._listeners = await self._open() if self._ports else []
        except OSError as error:
            return error
        return None

    async def run(self) -> None:
        """Until cancelled."""
        with contextlib.ExitStack() as stack:
            for listener in self._listeners:
                stack.enter_context(listener)
            try:
                await asyncio.gather(*map(self._serve, self._listeners))
            finally:
                await self._end_relays()

    async def _end_relays(self) -> None:
        for task in self._relays:
            task.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)

    async def _open(self) -> list[socket.socket]:
        """The namespace lives for as long as the listeners in it do."""
        wiring, visitor = self._wiring, self._wiring.visitor
        out_there = await visitor.visit_new(lambda: os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC))
        try:
            namespace = Path(f"/proc/self/fd/{out_there}")
            await visitor.visit(wiring.namespace, lambda: _lay_cable(out_there))
            await visitor.visit(namespace, lambda: _own_everything(wiring.networks))
            await visitor.visit(wiring.namespace, _lead_out)
            return [await visitor.listen(namespace, _EVERY_ADDRESS, port) for port in self._ports]
        finally:
            os.close(out_there)

    async def _serve(self, listener: socket.socket) -> None:
        def begin(connection: socket.socket) -> None:
            task = asyncio.create_task(self._pass_on(connection))
            self._relays.add(task)
            task.add_done_callback(self._relays.discard)

        await accept_each(listener, begin, self._on_problem)

    async def _pass_on(self, connection: socket.socket) -> None:
        address, port = connection.getsockname()
        if may_leave(IPv4Address(address), self._wiring.networks):
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(DIAL_SECONDS):
                    target = await self._dial(address, port)
                await relay(connection, target)
                return
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.close()


def may_leave(address: IPv4Address, networks: Networks) -> bool:
    """Not to Pods and services that are not there, nor to this machine itself, nor where a cloud hands its machines
    their credentials: link-local addresses, and some that look like any other."""
    is_ours = address in networks.pods or address in networks.services or is_of_this_machine(address)
    is_nowhere = address.is_multicast or address.is_reserved or address in _THIS_NETWORK
    return not (is_ours or is_nowhere or address.is_loopback or address.is_link_local or address in _OF_CLOUDS)


def is_of_this_machine(address: IPv4Address) -> bool:
    """Whether one of its interfaces has it: who speaks to that speaks from it, too. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), _ANY_PORT))
        except OSError:
            return False  # there is no way to it
        return bool(probe.getsockname()[0] == str(address))


def _lay_cable(out_there: int) -> None:
    """The one of an earlier life may still be there, and go any moment."""
    with contextlib.closing(Netlink()) as netlink:
        try:
            netlink.delete(_INNER)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
        netlink.add_veth(_INNER, _OUTER, out_there)


def _own_everything(networks: Networks) -> None:
    with contextlib.closing(Netlink()) as netlink:
        netlink.set_up("lo")
        netlink.add_address(_OUTER, _OUTER_ADDRESS)
        netlink.set_up(_OUTER)
        netlink.add_route(networks.pods, _INNER_ADDRESS.ip)
        netlink.make_rest_local()


def _lead_out() -> None:
    with contextlib.closing(Netlink()) as netlink:
        netlink.add_address(_INNER, _INNER_ADDRESS)
        netlink.set_up(_INNER)
        netlink.add_default_route(_OUTER_ADDRESS.ip)
    _FORWARDING.write_text("1")  # of the namespace that this thread is in


def judge(ports: Collection[int], *, has_route: bool, is_plain: bool) -> tuple[str, str, str]:
    """Status, reason and message of the node's condition."""
    if not has_route:
        return "False", "NoRoute", "this machine has no route to anywhere, so its Pods have none"
    if is_plain:
        return "True", "HostNetwork", "Pods use the network of this machine"
    if not ports:
        return "False", "NotAllowed", "Pods reach nobody but each other, as --outbound=none asks for"
    listed = ", ".join(map(str, sorted(ports)))
    return "True", "Relayed", f"Pods reach TCP ports {listed} of other machines through a relay, and nothing else there"


def judge_failure(error: OSError) -> tuple[str, str, str]:
    """Of a relay that this machine did not allow, in place of what was hoped for."""
    message = (
        f"Pods reach nobody but each other: the relay to other machines could not be set up ({error}); it needs network"
        " namespaces and a /proc/sys/net that may be written to"
    )
    return "False", "Failed", message
