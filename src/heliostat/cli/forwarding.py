"""A local port that is forwarded to a port of a Pod, through the API server, for as long as somebody serves it.

Each connection is forwarded by itself, to the Pod that is meant at that moment: a head that was replaced is found
again. When there is none, a browser is told why.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from heliostat.cli.channels import Channel, Channels, open_channels
from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError
from heliostat.operator.kinds import POD
from heliostat.runtime.calls import path_of
from heliostat.runtime.errors import ApiError
from heliostat.runtime.transport import Call

HOST = "127.0.0.1"
_DATA, _ERROR = 0, 1
_MOST = 64 * 1024


class PodPort(Struct, frozen=True):
    namespace: str
    pod: str
    port: int


FindPort = Callable[[], Awaitable[PodPort]]  # raises CommandError


@asynccontextmanager
async def forwarded(cluster: Cluster, find: FindPort, port: int) -> AsyncIterator[int]:
    """The port that is listened on; 0 asks for any free one. Raises OSError when it cannot be had."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _forward(cluster, await find(), reader, writer)
        except (ApiError, CommandError) as error:
            await _refuse(writer, str(error))
        except (OSError, asyncio.CancelledError):
            pass  # either side has left, or we have
        finally:
            writer.close()

    server = await asyncio.start_server(serve, HOST, port)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def _forward(
    cluster: Cluster, place: PodPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    path = path_of(POD, place.namespace, place.pod, "portforward")
    call = Call(method="GET", path=path, query=(("ports", str(place.port)),))
    async with open_channels(cluster, call) as channels:
        sides = {asyncio.create_task(_send(reader, channels)), asyncio.create_task(_receive(channels, writer))}
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)


async def _send(reader: asyncio.StreamReader, channels: Channels) -> None:
    while data := await reader.read(_MOST):
        await channels.send(Channel.STDIN, data)


async def _receive(channels: Channels, writer: asyncio.StreamWriter) -> None:
    """The first message of each channel repeats the port."""
    begun: set[int] = set()
    while (received := await channels.receive()) is not None:
        channel, data = received
        if channel not in begun:
            begun.add(channel)
        elif channel == _DATA:
            writer.write(data)
            await writer.drain()
        elif channel == _ERROR:
            await _refuse(writer, data.decode(errors="replace"))
            return


async def _refuse(writer: asyncio.StreamWriter, why: str) -> None:
    body = f"{why}\n".encode()
    head = f"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}"
    with suppress(OSError):
        writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
