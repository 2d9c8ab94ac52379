"""Upgrades on real connections: who may, what is refused, and that nothing goes on when a client or the server ends."""

import asyncio
import base64
import json
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

import aiohttp
import pytest
import yaml

from embedded.node_connections.memory_wire import SpdyOpener
from embedded.node_connections.running import PODS, NodeServer, node_server
from embedded.processes.running import wait_until

EXEC = f"{PODS}/p/exec?command=echo&command=hi&stdout=true"
SLEEP = f"{PODS}/p/exec?command=sleep&command=600&stdin=true&stdout=true"
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
DEADLINE = 30.0


def write_private(path: Path, text: str) -> str:
    path.write_bytes(base64.b64decode(text))
    return str(path)


class Client:
    """With the certificate of a user, or without one."""

    def __init__(self, served: NodeServer, folder: Path, user: str = "", groups: tuple[str, ...] = ()) -> None:
        self.served = served
        config = yaml.safe_load(served.server.build_kubeconfig(user or "nobody", groups).reveal())
        authority = write_private(folder / "ca", config["clusters"][0]["cluster"]["certificate-authority-data"])
        self.tls = ssl.create_default_context(cafile=authority)
        if user:
            own = config["users"][0]["user"]
            certificate = write_private(folder / "certificate", own["client-certificate-data"])
            self.tls.load_cert_chain(certificate, write_private(folder / "key", own["client-key-data"]))

    @asynccontextmanager
    async def websocket(
        self, path: str, *protocols: str, **headers: str
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        address = self.served.server.address
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{address}{path}", ssl=self.tls, protocols=protocols, headers=headers) as socket,
        ):
            connection = socket.get_extra_info("socket")
            yield socket
        while connection.fileno() >= 0:  # the library does not wait for it, and the loop must not end before
            await asyncio.sleep(0.001)

    async def refusal(self, path: str, *protocols: str, **headers: str) -> int:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with self.websocket(path, *protocols, **headers):
                pass
        return refused.value.status

    @asynccontextmanager
    async def upgraded(
        self, method: str, path: str, upgrade: str, *offered: str
    ) -> AsyncIterator[tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]]:
        """The answer's head, and the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.served.server.port, ssl=self.tls)
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", f"Upgrade: {upgrade}"]
        lines += [f"X-Stream-Protocol-Version: {name}" for name in offered]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        try:
            yield await reader.readuntil(b"\r\n\r\n"), reader, writer
        finally:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


@pytest.fixture
def admin(served: NodeServer, tmp_path: Path) -> Client:
    return Client(served, tmp_path, "admin", ("system:masters",))


@pytest.fixture
def quiet(served: NodeServer) -> Iterator[None]:
    """That the node was asked for nothing."""
    before = served.node.asked
    yield
    assert served.node.asked == before


def run(test: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await test

    asyncio.run(bounded())


class TestWhoMay:
    @pytest.mark.usefixtures("quiet")
    def test_nobody_without_credentials(self, served: NodeServer, tmp_path: Path) -> None:
        client = Client(served, tmp_path)

        async def test() -> None:
            assert await client.refusal(EXEC, V5) == 401
            async with client.upgraded("POST", EXEC, "SPDY/3.1", V4) as (head, _, _):
                assert head.startswith(b"HTTP/1.1 401 ")

        run(test())

    @pytest.mark.usefixtures("quiet")
    @pytest.mark.parametrize("header", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
    def test_no_foreign_web_page(self, admin: Client, header: dict[str, str]) -> None:
        async def test() -> None:
            assert await admin.refusal(EXEC, V5, **header) == 403

        run(test())

    @pytest.mark.parametrize(
        ("verb", "by_websocket", "by_spdy"), [("get", 101, 403), ("create", 403, 101), ("list", 403, 403)]
    )
    def test_by_the_verb_of_the_method(
        self, served: NodeServer, tmp_path: Path, verb: str, by_websocket: int, by_spdy: int
    ) -> None:
        served.grant(f"{verb}er", verb, "pods/exec")
        client = Client(served, tmp_path, f"{verb}er")

        async def test() -> None:
            if by_websocket == 101:
                async with client.websocket(EXEC, V5) as socket:
                    assert (await socket.receive()).data == b"\1"
            else:
                assert await client.refusal(EXEC, V5) == by_websocket
            async with client.upgraded("POST", EXEC, "SPDY/3.1", V4) as (head, _, _):
                assert head.startswith(b"HTTP/1.1 %d " % by_spdy)

        run(test())
        served.wait_idle()


class TestRefusals:
    @pytest.mark.usefixtures("quiet")
    @pytest.mark.parametrize(
        ("path", "protocol", "status"),
        [
            (EXEC, "v9.channel.k8s.io", 403),
            (f"{PODS}/none/exec?command=x&stdout=1", V5, 404),
            (f"{PODS}/p/exec?command=x&stdout=1&container=none", V5, 400),
            (f"{PODS}/p/exec?command=x", V5, 400),
            (f"{PODS}/p/portforward", V4, 400),
            (f"{PODS}/p/portforward?ports=0", V4, 400),
            (f"{PODS}/p/portforward?ports=80,x", V4, 400),
        ],
    )
    def test_before_the_protocol_changes(self, admin: Client, path: str, protocol: str, status: int) -> None:
        async def test() -> None:
            assert await admin.refusal(path, protocol) == status

        run(test())

    def test_a_connection_that_was_refused_goes_on(self, admin: Client) -> None:
        async def test() -> None:
            async with admin.upgraded("POST", EXEC, "SPDY/3.1", "v9") as (head, reader, writer):
                assert head.startswith(b"HTTP/1.1 403 ")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                assert b"server accepts [v4.channel.k8s.io" in await reader.readexactly(length)
                writer.write(b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")

        run(test())

    def test_a_user_has_so_many_at_once(self, tmp_path: Path) -> None:
        with node_server(tmp_path, streams_per_user=1) as served:
            client = Client(served, tmp_path, "admin", ("system:masters",))

            async def test() -> None:
                async with client.websocket(SLEEP, V5):
                    assert await client.refusal(SLEEP, V5) == 429

            run(test())
            served.wait_idle()


class TestBareBytes:
    def test_the_newest_protocol_of_many_headers_is_taken(self, admin: Client) -> None:
        async def test() -> None:
            offered = (V5, V4, "v3.channel.k8s.io", "channel.k8s.io")
            async with admin.upgraded("POST", EXEC, "SPDY/3.1", *offered) as (head, _, _):
                assert b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n" in head
                assert b"Upgrade: SPDY/3.1\r\n" in head

        run(test())

    @pytest.mark.usefixtures("quiet")
    @pytest.mark.parametrize("garbage", [b"\xff" * 100, b"\x80\x03\x00\x01\xff\xff\xff\xff", SpdyOpener().frame(2, {})])
    def test_what_is_no_spdy_ends_the_connection(self, admin: Client, garbage: bytes) -> None:
        async def test() -> None:
            async with admin.upgraded("POST", EXEC, "SPDY/3.1", V4) as (head, reader, writer):
                assert head.startswith(b"HTTP/1.1 101 ")
                writer.write(garbage)
                said = await reader.readexactly(16)
                assert said[:4] == b"\x80\x03\x00\x07"  # to go away
                writer.close()
                assert await reader.read() == b""

        run(test())

    def test_a_proxied_upgrade_belongs_to_the_back_end(self, admin: Client) -> None:
        async def test() -> None:
            async with admin.upgraded("GET", f"{PODS}/p:80/proxy/x", "shouting") as (head, reader, writer):
                assert head.startswith(b"HTTP/1.1 101 ")
                for _ in range(3):
                    writer.write(b"abc" * 100_000)
                    assert await reader.readexactly(300_000) == b"ABC" * 100_000

        run(test())


async def flood(socket: aiohttp.ClientWebSocketResponse) -> None:
    """Until nobody takes anything any more."""
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            while True:
                await socket.send_bytes(bytes(30_000))


def test_a_client_that_goes_is_noticed_even_when_nothing_is_read_from_it(served: NodeServer, admin: Client) -> None:
    """Its input fills all buffers, so that the server has stopped to read."""
    stopped = served.node.cancelled

    async def test() -> None:
        async with admin.websocket(SLEEP, V5) as socket:
            await flood(socket)
            assert served.node.running == 1
            connection = socket.get_extra_info("socket")
            connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            assert socket._response.connection is not None
            transport = socket._response.connection.transport
            assert transport is not None
            transport.abort()

    run(test())
    served.wait_idle()
    assert served.node.cancelled == stopped + 1


def test_a_server_that_stops_ends_its_commands(tmp_path: Path) -> None:
    with node_server(tmp_path) as served:
        client = Client(served, tmp_path, "admin", ("system:masters",))

        async def test() -> None:
            async with client.websocket(SLEEP, V5) as socket:
                wait_until(lambda: served.node.running == 1, "no command was started")
                stopping = asyncio.ensure_future(asyncio.to_thread(served.stop_now))
                said = [message async for message in socket]
                assert [message.data for message in said] == [b"\1"]
                await stopping

        run(test())
        assert (served.node.running, served.node.cancelled) == (0, 1)


def test_a_bug_of_the_node_is_reported_and_told(served: NodeServer, admin: Client) -> None:
    async def test() -> None:
        async with admin.websocket(f"{PODS}/p/exec?command=bug&stdout=true", V4) as socket:
            said = [message.data async for message in socket]
        told: Any = json.loads(said[-1][1:])
        assert (told["reason"], told["code"]) == ("InternalError", 500)

    run(test())
    wait_until(lambda: bool(served.bugs), "the bug was not reported")
    assert [type(bug) for bug in served.bugs] == [ZeroDivisionError]
    served.bugs.clear()
