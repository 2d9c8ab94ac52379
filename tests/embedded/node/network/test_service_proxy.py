"""Which Pod a connection to a ClusterIP goes to, and that no single failure ends a service."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from typing import Any

import pytest

from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService, ServicePort
from heliostat.embedded.node.network.namespaces import _new_listener, connect_from_host
from heliostat.embedded.node.network.relay import relay
from heliostat.embedded.node.network.service_proxy import ServiceProxy

pytestmark = pytest.mark.slow

HTTP = ServicePort(80, "http")
A, B = IPv4Address("10.244.0.2"), IPv4Address("10.244.0.3")


class Cluster:
    """Pods that say who they are; services listen on this machine's loopback, at whatever port is free."""

    def __init__(self, directory: Directory) -> None:
        self.proxy = ServiceProxy(directory, self._listen, self._dial, lambda what, _error: self.problems.append(what))
        self.problems: list[str] = []
        self._fronts: dict[str, tuple[str, int]] = {}

    async def _listen(self, address: str, _port: int) -> socket.socket:
        made = socket.create_server(("127.0.0.1", 0))
        made.setblocking(False)
        self._fronts[address] = made.getsockname()
        return made

    async def _dial(self, address: str, _port: int) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.sendall(address.encode())
        theirs.close()
        return ours

    async def ask(self, address: str) -> str:
        reader, writer = await asyncio.open_connection(*self._fronts[address])
        said = await reader.read()
        writer.close()
        return said.decode()


@asynccontextmanager
async def cluster(directory: Directory) -> AsyncIterator[Cluster]:
    made = Cluster(directory)
    await made.proxy.refresh()
    try:
        async with asyncio.timeout(30):
            yield made
    finally:
        await made.proxy.close()


def build(**services: tuple[Endpoint, ...]) -> Directory:
    directory = Directory()
    for number, (name, endpoints) in enumerate(services.items(), start=1):
        address = IPv4Address(f"10.96.0.{number}")
        directory.put_service(KnownService(namespace="ns", name=name, address=address, ports=(HTTP,)))
        directory.put_endpoints("ns", name, name, endpoints)
    return directory


def pod(
    address: IPv4Address, *, is_ready: bool = True, is_serving: bool = True, is_terminating: bool = False
) -> Endpoint:
    return Endpoint(
        address=address,
        ports=(ServicePort(8000, "http"),),
        is_ready=is_ready,
        is_serving=is_serving,
        is_terminating=is_terminating,
    )


def test_each_service_has_its_own_turn() -> None:
    """Who uses two services in turn met the same Pod of each every time."""

    async def play() -> None:
        both = (pod(A), pod(B))
        async with cluster(build(one=both, two=both)) as made:
            said = [await made.ask(address) for _ in range(4) for address in ("10.96.0.1", "10.96.0.2")]
            for index in (0, 1):
                assert said[index::2].count(str(A)) == said[index::2].count(str(B)) == 2

    asyncio.run(play())


LEAVING = {"is_ready": False, "is_serving": True, "is_terminating": True}
DRAINS = [
    ((pod(A, **LEAVING), pod(B)), {str(B)}),
    ((pod(A, **LEAVING), pod(B, is_ready=False, is_serving=False)), {str(A)}),
    ((pod(A, is_ready=False, is_serving=True), pod(B, **LEAVING)), {str(B)}),
    ((pod(A, is_ready=False, is_serving=False, is_terminating=True),), {""}),
]


@pytest.mark.parametrize(("endpoints", "reached"), DRAINS)
def test_a_pod_on_its_way_out_is_met_only_when_nobody_else_is_left(
    endpoints: tuple[Endpoint, ...], reached: set[str]
) -> None:
    async def play() -> None:
        async with cluster(build(web=endpoints)) as made:
            assert {await made.ask("10.96.0.1") for _ in range(4)} == reached

    asyncio.run(play())


def test_the_address_of_a_gateway_is_left_to_it() -> None:
    async def play() -> None:
        directory = build(web=(pod(A),))
        address = IPv4Address("10.96.0.9")
        directory.put_service(
            KnownService(namespace="ns", name="gw", address=address, ports=(HTTP,), is_of_gateway=True)
        )
        async with cluster(directory) as made:
            assert set(made._fronts) == {"10.96.0.1"}

    asyncio.run(play())


def test_a_port_that_cannot_be_had_is_told_once_and_tried_again() -> None:
    async def play() -> None:
        made = Cluster(build(web=(pod(A),)))
        listen, failures = made._listen, [OSError(errno.EADDRINUSE, "in use")] * 2

        async def failing(address: str, port: int) -> socket.socket:
            if failures:
                raise failures.pop()
            return await listen(address, port)

        made.proxy._listen = failing
        assert [await made.proxy.refresh() for _ in range(3)] == [False, False, True]
        assert await made.ask("10.96.0.1") == str(A)
        assert made.problems == ["the service at 10.96.0.1:80"]
        await made.proxy.close()

    asyncio.run(play())


def test_a_failed_accept_does_not_end_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        loop, failures = asyncio.get_running_loop(), [errno.ECONNABORTED, errno.EMFILE, errno.EMFILE]
        accept = loop.sock_accept

        async def failing(listener: socket.socket) -> tuple[socket.socket, Any]:
            if failures:
                raise OSError(failures.pop(), "no connection this time")
            return await accept(listener)

        monkeypatch.setattr(loop, "sock_accept", failing)
        async with cluster(build(web=(pod(A),))) as made:
            assert await made.ask("10.96.0.1") == str(A)
            assert failures == []
            assert made.problems == ["connections to the service at 10.96.0.1:80"]  # told once

    asyncio.run(play())


def test_what_is_relayed_leaves_at_once() -> None:
    """Else the second of two small pieces waits for the other side's word on the first, which takes 40 ms."""

    async def play() -> None:
        with _new_listener("127.0.0.1", 0, socket.SOCK_STREAM) as listener:
            dialled = await connect_from_host(*listener.getsockname())
            accepted, _ = await asyncio.get_running_loop().sock_accept(listener)
            for each in (dialled, accepted):
                with each:
                    assert each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    asyncio.run(play())


def test_what_a_pod_said_before_it_took_no_more_reaches_the_client() -> None:
    """That is how a server refuses a large body."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"too large")
        await writer.drain()
        writer.close()

    async def play() -> None:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            accepted, _ = listener.accept()
            accepted.setblocking(False)
            relaying = asyncio.create_task(relay(accepted, await connect_from_host(*server.sockets[0].getsockname())))
            writer.write(b"x" * 30_000_000)
            assert await reader.readexactly(9) == b"too large"
            writer.transport.abort()
            await relaying
        server.close()

    asyncio.run(play())
