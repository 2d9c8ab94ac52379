"""The way out of the Pods' network: what is relayed to the host's, what is refused, and what stays inside."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Any

import pytest

from embedded.node.node_world import is_phase, node_world, shell
from heliostat.embedded.node.isolating.sandbox import SandboxSpec, start_sandbox
from heliostat.embedded.node.network import outbound as outbound_module
from heliostat.embedded.node.network.namespaces import NamespaceVisitor, network_of
from heliostat.embedded.node.network.netlink import Netlink
from heliostat.embedded.node.network.outbound import CONDITION, Outbound, judge, may_leave
from heliostat.embedded.node.network.wiring import Networks, Wiring, open_wiring

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

ELSEWHERE = "203.0.113.7"
SERVICE = "10.96.0.9"
Connect = Callable[[str, int], Coroutine[Any, Any, socket.socket]]


class Outside:
    """The host's network, in which every address leads to one server that says where the caller wanted to go."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def dial(self, address: str, port: int) -> socket.socket:
        if port == 80:
            raise ConnectionRefusedError("nobody listens")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        self._tasks.add(asyncio.create_task(self._answer(theirs, f"{address}:{port}".encode())))
        return ours

    async def _answer(self, connection: socket.socket, text: bytes) -> None:
        with connection:
            await asyncio.get_running_loop().sock_sendall(connection, text)


@asynccontextmanager
async def pod_with_a_way_out(directory: Path) -> AsyncIterator[tuple[Wiring, Connect]]:
    """Connections of a Pod."""
    visitor = NamespaceVisitor()
    wiring = await open_wiring(directory / "network", Networks(), visitor)
    (directory / "pod").mkdir()
    pod = await start_sandbox(SandboxSpec(directory=directory / "pod", hostname="pod"))
    outbound = Outbound(wiring, (80, 443), Outside().dial)
    assert await outbound.open() is None
    running = asyncio.create_task(outbound.run())
    try:
        await wiring.attach(pod, IPv4Address("10.244.0.2"))
        yield wiring, lambda address, port: visitor.connect(network_of(pod.pid), address, port)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await pod.stop()
        await pod.close()
        await wiring.stop()
        await wiring.close()


async def hear(connect: Connect, address: str, port: int) -> bytes:
    """Asked again until the relay listens."""
    while True:
        try:
            connection = await connect(address, port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.01)
            continue
        with connection:
            return await asyncio.get_running_loop().sock_recv(connection, 100)


@needs_root
def test_a_pod_reaches_the_ports_that_are_allowed_and_no_others(tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(30), pod_with_a_way_out(tmp_path) as (_, connect):
            assert await hear(connect, ELSEWHERE, 443) == b"203.0.113.7:443"
            with pytest.raises(ConnectionResetError):  # nobody listens there
                await hear(connect, ELSEWHERE, 80)
            with pytest.raises(ConnectionRefusedError):
                await connect(ELSEWHERE, 81)
            with pytest.raises(ConnectionRefusedError):  # the service network is not elsewhere
                await connect(SERVICE, 443)
            with pytest.raises(ConnectionResetError):
                await hear(connect, "169.254.169.254", 443)

    asyncio.run(play())


@needs_root
def test_a_service_keeps_its_port_whoever_listens_for_the_rest(tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(30), pod_with_a_way_out(tmp_path) as (wiring, connect):
            assert await hear(connect, ELSEWHERE, 443) == b"203.0.113.7:443"
            with await wiring.listen(SERVICE, 443) as listener:
                connection = await connect(SERVICE, 443)
                with connection, (await asyncio.get_running_loop().sock_accept(listener))[0] as accepted:
                    assert accepted.getsockname() == (SERVICE, 443)

    asyncio.run(play())


@needs_root
def test_a_node_that_cannot_lead_out_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where /proc/sys may only be read: the last thing that is needed."""
    monkeypatch.setattr(outbound_module, "_FORWARDING", tmp_path / "missing" / "ip_forward")

    async def play() -> None:
        async with node_world(tmp_path / "node", outbound_ports=(443,)) as world:
            condition = await world.node_condition(CONDITION)
            assert condition is not None
            assert (condition["status"], condition["reason"]) == ("False", "Failed")
            assert "No such file" in condition["message"]
            assert [what for what, _ in world.problems] == ["the way out of the Pods' network"]
            await world.run_pod("inside", shell("exec sleep 1000"))
            await world.until("inside", is_phase("Running"))

    asyncio.run(play())


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("203.0.113.7", True),
        ("192.168.1.1", True),
        ("10.244.3.3", False),
        ("10.96.0.1", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("0.0.0.7", False),
        ("255.255.255.255", False),
        ("168.63.129.16", False),
        ("100.100.100.200", False),
        ("192.0.0.192", False),
    ],
)
def test_what_only_this_machine_should_reach_is_refused(address: str, may: bool) -> None:
    assert may_leave(IPv4Address(address), Networks()) is may


@needs_root
def test_no_address_of_the_machine_itself_is_reached(tmp_path: Path) -> None:
    """In a network of the test's own, where the machine has an address on a LAN."""

    async def play() -> None:
        visitor = NamespaceVisitor()
        assert await visitor.visit_new(lambda: _join_lan("192.168.7.4/24")) == [False, True]
        visitor.close()

    asyncio.run(play())


def _join_lan(address: str) -> list[bool]:
    """Whether the machine's address and its neighbour's may be reached from there."""
    interface = IPv4Interface(address)
    with contextlib.closing(Netlink()) as netlink:
        netlink.add_bridge("lan")
        netlink.add_address("lan", interface)
        netlink.set_up("lan")
    return [may_leave(each, Networks()) for each in (interface.ip, interface.ip + 1)]


@pytest.mark.parametrize(
    ("ports", "has_route", "is_plain", "reason"),
    [
        ((443, 80), True, False, "Relayed"),
        ((), True, False, "NotAllowed"),
        ((), True, True, "HostNetwork"),
        ((443,), False, False, "NoRoute"),
        ((443,), False, True, "NoRoute"),
    ],
)
def test_the_node_says_where_its_pods_get_to(
    ports: tuple[int, ...], has_route: bool, is_plain: bool, reason: str
) -> None:
    status, told, message = judge(ports, has_route=has_route, is_plain=is_plain)
    assert told == reason
    assert (status == "True") is (reason in ("Relayed", "HostNetwork"))
    assert ("80, 443" in message) is (reason == "Relayed")
