"""A TLS server that says exactly what a test wants, byte by byte, and remembers what it was asked."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from heliostat.embedded.access.identity import new_identity
from heliostat.embedded.access.tls import build_server_context
from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import Connection
from heliostat.runtime.stored_credentials import StoredCredentials
from heliostat.runtime.stored_texts import FixedText

IDENTITY = new_identity(time.time())
AUTHORITY = FixedText(Hidden(IDENTITY.authority.certificate))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Exchange:
    """One request that has been read whole."""

    def __init__(self, head: bytes, body: bytes, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        self.head = head.decode()
        self.body = body
        self.writer = writer
        self.reader = reader

    @property
    def line(self) -> str:
        return self.head.split("\r\n", 1)[0]

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def until_closed(self) -> None:
        await self.reader.read()


Answer: TypeAlias = Callable[[Exchange], Awaitable[bool]]  # whether the connection goes on


class RawServer:
    def __init__(self, answer: Answer, tls: ssl.SSLContext | None) -> None:
        self._answer = answer
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[Exchange] = []
        self.connections = 0
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _ in range(5):
            await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        sizes = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        exchange = Exchange(head, await reader.readexactly(sum(sizes)), writer, reader)
        self.asked.append(exchange)
        return await self._answer(exchange)


def server_tls() -> ssl.SSLContext:
    return build_server_context(IDENTITY.server, IDENTITY.authority.certificate)


@asynccontextmanager
async def raw_server(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    server = RawServer(answer, tls or server_tls())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def connection_to(port: int, path: str = "") -> Connection:
    return Connection(
        server=f"https://127.0.0.1:{port}{path}", credentials=StoredCredentials("here"), authority=AUTHORITY
    )


Handle: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handle: Handle) -> AsyncIterator[int]:
    """Plain TCP on the port it gives; every connection ends with the block."""
    tasks: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.transport.abort()

    listener = await asyncio.start_server(
        lambda reader, writer: tasks.append(asyncio.create_task(serve(reader, writer))), "127.0.0.1", 0
    )
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
