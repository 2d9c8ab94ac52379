"""Pods on a network of their own, for real: they reach each other and services, and the host has no new interface."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService, ServicePort
from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxSpec, start_sandbox
from heliostat.embedded.node.network.namespaces import NamespaceVisitor, network_of
from heliostat.embedded.node.network.service_proxy import ServiceProxy
from heliostat.embedded.node.network.wiring import BRIDGE, Networks, Wiring, open_wiring

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

ONE, TWO = IPv4Address("10.244.0.2"), IPv4Address("10.244.0.3")


@asynccontextmanager
async def network(directory: Path) -> AsyncIterator[Wiring]:
    visitor = NamespaceVisitor()
    wiring = await open_wiring(directory / "network", Networks(), visitor)
    try:
        yield wiring
    finally:
        await wiring.stop()
        await wiring.close()


@asynccontextmanager
async def pod(wiring: Wiring, directory: Path, address: IPv4Address) -> AsyncIterator[Sandbox]:
    place = directory / str(address)
    place.mkdir(parents=True)
    sandbox = await start_sandbox(SandboxSpec(directory=place, hostname="pod"))
    try:
        await wiring.attach(sandbox, address)
        yield sandbox
    finally:
        await sandbox.stop()
        await sandbox.close()


def scenario(play: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60):
            await play()

    asyncio.run(run())


async def echo_once(listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    connection, _ = await loop.sock_accept(listener)
    with connection:
        await loop.sock_sendall(connection, b"heard " + await loop.sock_recv(connection, 100))


async def talk(connection: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    with connection:
        await loop.sock_sendall(connection, b"hello")
        return await loop.sock_recv(connection, 100)


def links() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def test_pods_reach_each_other_and_leave_no_link_behind(tmp_path: Path) -> None:
    before = links()

    async def play() -> None:
        async with network(tmp_path) as wiring:
            async with pod(wiring, tmp_path, ONE) as one, pod(wiring, tmp_path, TWO) as two:
                await wiring.attach(one, ONE)  # asked again: nothing is doubled
                listener = await wiring.visitor.listen(network_of(one.pid), str(ONE), 8000)
                with listener:
                    heard = asyncio.create_task(echo_once(listener))
                    connection = await wiring.visitor.connect(network_of(two.pid), str(ONE), 8000)
                    assert await talk(connection) == b"heard hello"
                    await heard
                assert links() == before
            async with asyncio.timeout(10):
                while await wiring.visitor.visit(wiring.namespace, links) != {"lo", BRIDGE, "services"}:
                    await asyncio.sleep(0.01)

    scenario(play)
    assert links() == before


def test_an_address_is_free_for_a_new_pod_before_the_cable_of_the_last_one_is_away(tmp_path: Path) -> None:
    async def play() -> None:
        async with network(tmp_path) as wiring, pod(wiring, tmp_path / "last", ONE), pod(wiring, tmp_path, ONE) as new:
            assert "eth0" in await wiring.visitor.visit(network_of(new.pid), links)
            listener = await wiring.visitor.listen(network_of(new.pid), str(ONE), 8000)
            with listener:
                heard = asyncio.create_task(echo_once(listener))
                connection = await wiring.visitor.connect(wiring.namespace, str(ONE), 8000)
                assert await talk(connection) == b"heard hello"
                await heard

    scenario(play)


def test_the_network_outlives_the_node(tmp_path: Path) -> None:
    async def play() -> None:
        visitor = NamespaceVisitor()
        first = await open_wiring(tmp_path / "network", Networks(), visitor)
        await first.close()
        async with network(tmp_path) as second:
            assert second.holder.pid == first.holder.pid

    scenario(play)


def test_a_service_is_reached_by_its_cluster_address(tmp_path: Path) -> None:
    async def play() -> None:
        async with network(tmp_path) as wiring, pod(wiring, tmp_path, ONE) as one, pod(wiring, tmp_path, TWO) as two:
            visitor = wiring.visitor
            directory = Directory()
            address = IPv4Address("10.96.0.7")
            proxy = ServiceProxy(
                directory,
                wiring.listen,
                wiring.connect,
                lambda what, error: pytest.fail(f"{what}: {error}"),
            )
            directory.put_service(
                KnownService(namespace="ns", name="web", address=address, ports=(ServicePort(80, "http"),))
            )
            await proxy.refresh()
            nobody = await visitor.connect(network_of(two.pid), str(address), 80)
            with nobody:
                assert await asyncio.get_running_loop().sock_recv(nobody, 1) == b""
            gone = Endpoint(address=IPv4Address("10.244.0.99"), is_ready=False, ports=(ServicePort(8000, "http"),))
            ready = Endpoint(address=ONE, ports=(ServicePort(8000, "http"),))
            directory.put_endpoints("ns", "web", "web-1", (gone, ready))
            listener = await visitor.listen(network_of(one.pid), str(ONE), 8000)
            with listener:
                heard = asyncio.create_task(echo_once(listener))
                connection = await visitor.connect(network_of(two.pid), str(address), 80)
                assert await talk(connection) == b"heard hello"
                await heard
            directory.drop_service("ns", "web")
            await proxy.refresh()
            await proxy.close()
            with pytest.raises(ConnectionRefusedError):
                await visitor.connect(network_of(two.pid), str(address), 80)

    scenario(play)


@pytest.mark.parametrize("first", ["host", "service"])
def test_a_pod_on_the_host_network_and_a_service_may_have_the_same_port(tmp_path: Path, first: str) -> None:
    """Whoever comes second got no port: both listened in one namespace."""

    async def play() -> None:
        async with network(tmp_path) as wiring, pod(wiring, tmp_path, ONE) as one:
            visitor, address = wiring.visitor, "10.96.0.7"
            listeners = {
                "host": lambda: visitor.listen(wiring.namespace, "0.0.0.0", 80),  # noqa: S104
                "service": lambda: wiring.listen(address, 80),
            }
            with await listeners.pop(first)() as heard_first, await next(iter(listeners.values()))() as heard_second:
                answering = [asyncio.create_task(echo_once(each)) for each in (heard_first, heard_second)]
                assert await talk(await visitor.connect(network_of(one.pid), address, 80)) == b"heard hello"
                assert await talk(await visitor.connect(network_of(one.pid), "10.244.0.1", 80)) == b"heard hello"
                await asyncio.gather(*answering)

    scenario(play)


def test_services_are_reached_from_the_host_network_and_after_the_node_came_back(tmp_path: Path) -> None:
    async def play() -> None:
        first_visitor = NamespaceVisitor()
        first = await open_wiring(tmp_path / "network", Networks(), first_visitor)
        await first.close()
        async with network(tmp_path) as wiring:
            with await wiring.listen("10.96.0.7", 80) as listener:
                heard = asyncio.create_task(echo_once(listener))
                assert await talk(await wiring.connect("10.96.0.7", 80)) == b"heard hello"
                await heard

    scenario(play)
