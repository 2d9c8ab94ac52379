"""``portforward`` on an upgraded connection: each forwarded one is a stream of bytes and a stream for what went wrong.

Rules: over SPDY (also inside a WebSocket) the client opens a pair of streams per connection, found together by the
``requestid`` of their headers; over WebSocket channels there is one connection per port of the request, whose number is
told first on both of its channels. One that fails does not disturb the others; a bug of the back end ends all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from heliostat.embedded.refusals import PlainRefusedError
from heliostat.embedded.server.messages import GoneError, Upgrade, Wire
from heliostat.embedded.server.nodes.node_backend import Failed
from heliostat.embedded.server.upgrades.channels import Channels
from heliostat.embedded.server.upgrades.negotiation import Spoken
from heliostat.embedded.server.upgrades.spdy_streams import SpdyStream, SpdyStreams
from heliostat.embedded.server.upgrades.streams import ByteStream, converse_until_gone

PAIR_SECONDS = 30.0  # that one stream of a pair waits for the other
MOST_PORTS = 127  # of channels; there are 255 of them
_KINDS = ("data", "error")
_LARGEST_PORT = 65535

Forward: TypeAlias = Callable[[int, ByteStream], Awaitable[Failed | None]]
Describe: TypeAlias = Callable[[int, str], str]  # the port, why; the sentence


def build_forward_upgrade(spoken: Spoken, ports: tuple[int, ...], forward: Forward, describe: Describe) -> Upgrade:
    """Raises RefusedError."""
    if not spoken.is_spdy and not 0 < len(ports) <= MOST_PORTS:
        raise PlainRefusedError(400, "", f'query parameter "ports" is required, with at most {MOST_PORTS} of them')
    converse = _converse_on_spdy if spoken.is_spdy else partial(_converse_on_channels, spoken=spoken, ports=ports)
    return Upgrade(
        converse=partial(converse, forward=partial(_forward_and_tell, forward, describe)),
        websocket=spoken.websocket,
        headers=spoken.headers,
    )


_Tell: TypeAlias = Callable[[int, ByteStream, ByteStream], Awaitable[None]]  # port, data, error


async def _forward_and_tell(
    forward: Forward, describe: Describe, port: int, data: ByteStream, error: ByteStream
) -> None:
    try:
        failed = await forward(port, data)
    except GoneError:
        return  # the client left this stream
    except Exception:
        await error.write(describe(port, "the node met a bug; its log tells more").encode())
        raise
    if failed is not None:
        await error.write(describe(port, failed.why).encode())


async def _converse_on_channels(wire: Wire, *, spoken: Spoken, ports: tuple[int, ...], forward: _Tell) -> None:
    channels = Channels(wire, spoken.form, range(0, 2 * len(ports), 2))

    async def one(index: int, port: int) -> None:
        data, error = channels.channel(2 * index), channels.channel(2 * index + 1)
        with suppress(GoneError):
            await forward(port, data, error)
        channels.leave(2 * index)

    async def session() -> None:
        for index, port in enumerate(ports):
            for number in (2 * index, 2 * index + 1):
                await channels.channel(number).write(port.to_bytes(2, "little"))
        async with asyncio.TaskGroup() as tasks:
            for index, port in enumerate(ports):
                tasks.create_task(one(index, port))

    await converse_until_gone(session(), channels.serve_incoming())


async def _converse_on_spdy(wire: Wire, *, forward: _Tell) -> None:
    spdy = SpdyStreams(wire, is_no_forward)
    await converse_until_gone(_serve_pairs(spdy, forward), spdy.serve_incoming())


async def _serve_pairs(spdy: SpdyStreams, forward: _Tell) -> None:
    waiting: dict[str, tuple[SpdyStream, asyncio.Future[SpdyStream]]] = {}
    async with asyncio.TaskGroup() as tasks:
        while True:
            stream = await spdy.accept()
            request = request_of(stream.number, stream.headers)
            if request not in waiting:
                other = asyncio.get_running_loop().create_future()
                waiting[request] = (stream, other)
                tasks.create_task(_serve_pair(stream, other, forward, partial(waiting.pop, request, None)))
                continue
            first, other = waiting[request]
            if other.done() or first.headers["streamtype"] == stream.headers["streamtype"]:
                await stream.leave()
            else:
                other.set_result(stream)


async def _serve_pair(
    first: SpdyStream, other: asyncio.Future[SpdyStream], forward: _Tell, end_waiting: Callable[[], object]
) -> None:
    pair = [first]
    with suppress(GoneError):
        try:
            async with asyncio.timeout(PAIR_SECONDS):
                pair.append(await other)
            end_waiting()
            data, error = sorted(pair, key=lambda stream: _KINDS.index(stream.headers["streamtype"]))
            await forward(int(data.headers["port"]), data, error)
        except TimeoutError:
            end_waiting()
        finally:
            for stream in pair:
                await stream.finish()
                await stream.leave()


def is_no_forward(headers: Mapping[str, str]) -> bool:
    port = headers.get("port", "")
    is_port = port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) <= _LARGEST_PORT
    return not is_port or headers.get("streamtype") not in _KINDS


def request_of(number: int, headers: Mapping[str, str]) -> str:
    """Older clients name none; theirs is the number of the error stream, which comes right before the data stream."""
    named = headers.get("requestid")
    if named:
        return named
    return str(number if headers.get("streamtype") == "error" else number - 2)
