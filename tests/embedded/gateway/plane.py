"""The data plane in a test: one listener on loopback, back ends that are functions, and a client that reads answers."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import IPv4Address
from typing import Any, TypeAlias

from embedded.gateway.shapes import backend, gateway, route, rule
from heliostat.embedded.gateway.attaching import attach
from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService, ServicePort
from heliostat.embedded.gateway.listening import Listening, Place
from heliostat.embedded.gateway.objects import HttpRoute
from heliostat.embedded.gateway.routing import build_tables
from heliostat.embedded.gateway.switchboard import Switchboard
from heliostat.embedded.gateway.telemetry import Telemetry
from heliostat.embedded.gateway.upstreams import Upstreams
from heliostat.kube.objects import Key
from heliostat.runtime.metrics import Registry

Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
WEB = Key("ns", "web")
PLACE = Place("127.0.0.1", 0)


class Plane:
    def __init__(self, drain_seconds: float) -> None:
        self.directory = Directory()
        self.telemetry = Telemetry(Registry())
        self.dialled: list[int] = []
        self.clients: list[Client] = []
        self.upstreams = Upstreams(self._dial, drain_seconds=drain_seconds)
        self.board = Switchboard(self.directory, self.upstreams, self.telemetry)
        self.listening = Listening(self.board, _listen, _listen, drain_seconds=drain_seconds)

    async def use(self, *routes: HttpRoute, wanted: bool = True) -> None:
        made = gateway()
        attached = [(each, found) for each in routes for found in attach(each, {WEB: made}.get, lambda _: {})]
        tables = build_tables(attached, {WEB: [(80, "")]}, self.directory.find)
        self.board.use(tables)
        await self.listening.use({PLACE: tables[WEB][80]} if wanted else {})

    async def weigh(self, **weights: int) -> None:
        await self.use(route(rule(to=[backend(name, weight) for name, weight in weights.items()])))

    def put(self, name: str, *ports: int) -> None:
        """A Service with a Pod behind it at each of these ports of loopback."""
        self.directory.put_service(KnownService(namespace="ns", name=name, ports=(ServicePort(80, "http"),)))
        pods = [Endpoint(address=IPv4Address("127.0.0.1"), ports=(ServicePort(port, "http"),)) for port in ports]
        self.directory.put_endpoints("ns", name, name, pods)
        self.board.tidy()

    def port_of(self, name: str) -> int:
        return self.directory.endpoints("ns", name)[0].ports[0].port

    @property
    def port(self) -> int:
        return self.listening.ports[PLACE]

    async def connect(self) -> "Client":
        self.clients.append(Client(*await asyncio.open_connection("127.0.0.1", self.port)))
        return self.clients[-1]

    async def close(self) -> None:
        for client in self.clients:
            client.writer.transport.abort()
        await self.listening.close(0.0)
        self.upstreams.close()
        await asyncio.sleep(0)  # for transports to let go of their sockets

    async def ask(self, request: str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n") -> tuple[int, bytes]:
        client = await self.connect()
        try:
            return await client.ask(request)
        finally:
            client.writer.close()

    async def _dial(self, address: str, port: int) -> socket.socket:
        self.dialled.append(port)
        made = socket.socket()
        made.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(made, (address, port))
        except BaseException:
            made.close()
            raise
        return made


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, request: str | bytes) -> tuple[int, bytes]:
        self.send(request)
        return await self.read()

    def send(self, data: str | bytes) -> None:
        self.writer.write(data.encode() if isinstance(data, str) else data)

    async def read_head(self) -> tuple[int, dict[str, str]]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.partition(": ") for line in lines[1:] if line)
        return int(lines[0].split(" ")[1]), {name.lower(): value for name, _, value in pairs}

    async def read(self) -> tuple[int, bytes]:
        status, headers = await self.read_head()
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while piece := await self.read_chunk():
                body += piece
            return status, body
        return status, await self.reader.readexactly(int(headers["content-length"]))

    async def read_chunk(self) -> bytes:
        size = int(await self.reader.readline(), 16)
        data = await self.reader.readexactly(size + 2)
        return data[:size]


async def _listen(address: str, port: int) -> socket.socket:
    made = socket.create_server((address, port))
    made.setblocking(False)
    return made


@asynccontextmanager
async def plane(drain_seconds: float = 30.0, **backends: Serve) -> AsyncIterator[Plane]:
    """A Service for each function, all with the same weight."""
    async with asyncio.timeout(30), AsyncExitStack() as stack:
        made = Plane(drain_seconds)
        for name, serve in backends.items():
            made.put(name, await stack.enter_async_context(server(serve)))
        await made.weigh(**dict.fromkeys(backends, 1))
        stack.push_async_callback(made.close)
        yield made


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[int]:
    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(quietly, "127.0.0.1", 0)
    try:
        yield int(listener.sockets[0].getsockname()[1])
    finally:
        listener.close()


def says(text: str) -> Serve:
    """Answers every request with these words."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await read_request(reader):
            await reader.readexactly(int(head.get("content-length", "0")))
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())

    return serve


async def read_request(reader: asyncio.StreamReader) -> Mapping[str, Any]:
    """Headers by name, and the first line under ''."""
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return {}
    pairs = (line.partition(": ") for line in lines[1:] if line)
    return {"": lines[0], **{name.lower(): value for name, _, value in pairs}}
