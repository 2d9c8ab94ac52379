"""``exec`` and ``attach`` on an upgraded connection: the streams of the client become a terminal for the back end.

Rules: a command starts when all streams that the request speaks of are there; the error stream tells how it ended,
after all its output; a client that goes ends it. What was not asked for is not sent.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from heliostat.embedded.server.messages import GoneError, Upgrade, Wire
from heliostat.embedded.server.nodes.node_backend import Execution, Failed, Outcome, TerminalSize
from heliostat.embedded.server.upgrades.channels import Channels
from heliostat.embedded.server.upgrades.negotiation import Spoken
from heliostat.embedded.server.upgrades.outcomes import build_outcome
from heliostat.embedded.server.upgrades.spdy_streams import SpdyStreams
from heliostat.embedded.server.upgrades.streams import ByteStream, Nowhere, converse_until_gone

STREAMS_SECONDS = 30.0  # until a client has opened its streams
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE = range(5)  # channels
_NAMES = ("stdin", "stdout", "stderr", "error", "resize")
_LONGEST_SIZE = 4096  # bytes in which a size must have ended


_Cells: TypeAlias = Annotated[int, Meta(ge=1, lt=2**16)]


class _Size(Struct, frozen=True, rename="pascal"):
    width: _Cells
    height: _Cells


_SIZES = msgspec.json.Decoder(_Size)


class CommandStreams(Struct, frozen=True, kw_only=True):
    error: ByteStream
    stdin: ByteStream = Nowhere()
    stdout: ByteStream = Nowhere()
    stderr: ByteStream = Nowhere()
    resize: ByteStream = Nowhere()


class StreamTerminal:
    """What the back end sees."""

    def __init__(self, streams: CommandStreams) -> None:
        self._streams = streams
        self._sizes = b""

    async def read_stdin(self) -> bytes:
        return await self._streams.stdin.read()

    async def write_stdout(self, data: bytes) -> None:
        await self._streams.stdout.write(data)

    async def write_stderr(self, data: bytes) -> None:
        await self._streams.stderr.write(data)

    async def read_size(self) -> TerminalSize | None:
        """Sizes follow each other as flat JSON objects, however they are cut; what is none ends them."""
        while (end := self._sizes.find(b"}") + 1) == 0:
            data = await self._streams.resize.read()
            if not data or len(self._sizes) > _LONGEST_SIZE:
                return None
            self._sizes += data
        text, self._sizes = self._sizes[:end], self._sizes[end:]
        try:
            size = _SIZES.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return TerminalSize(size.width, size.height)


Run: TypeAlias = Callable[[StreamTerminal], Awaitable[Outcome]]


def build_command_upgrade(spoken: Spoken, execution: Execution, kind: str, run: Run) -> Upgrade:
    converse = _converse_on_spdy if spoken.is_spdy else _converse_on_channels
    return Upgrade(
        converse=partial(converse, spoken=spoken, execution=execution, tell=partial(_run_and_tell, run, kind, spoken)),
        websocket=spoken.websocket,
        headers=spoken.headers,
    )


_Tell: TypeAlias = Callable[[CommandStreams], Awaitable[None]]


async def _converse_on_channels(wire: Wire, *, spoken: Spoken, execution: Execution, tell: _Tell) -> None:
    readable = (_STDIN, _RESIZE) if execution.stdin else (_RESIZE,)
    channels = Channels(wire, spoken.form, readable)
    wanted = {name for name in ("stdin", "stdout", "stderr") if getattr(execution, name)} | {"error", "resize"}
    streams = {name: channels.channel(number) for number, name in enumerate(_NAMES) if name in wanted}
    first = next(streams[name] for name in ("stdout", "stderr", "error") if name in streams)

    async def session() -> None:
        await first.write(b"")  # tells the client that the connection stands
        await tell(CommandStreams(**streams))

    await converse_until_gone(session(), channels.serve_incoming())


async def _converse_on_spdy(wire: Wire, *, spoken: Spoken, execution: Execution, tell: _Tell) -> None:
    wanted = {name for name in ("stdin", "stdout", "stderr") if getattr(execution, name)} | {"error"}
    if execution.tty and spoken.tells_size:
        wanted.add("resize")
    spdy = SpdyStreams(wire, _is_unknown)

    async def session() -> None:
        found = await _gather(spdy, wanted)
        if found is not None:
            await tell(CommandStreams(**found))

    await converse_until_gone(session(), spdy.serve_incoming())


async def _gather(spdy: SpdyStreams, wanted: set[str]) -> dict[str, ByteStream] | None:
    """The streams by their names; None for a client that does not open them, which cannot be told anything either."""
    found: dict[str, ByteStream] = {}
    try:
        async with asyncio.timeout(STREAMS_SECONDS):
            while not wanted <= found.keys():
                stream = await spdy.accept()
                found[stream.headers["streamtype"]] = stream
    except TimeoutError:
        return None
    return {name: found[name] for name in wanted}


def _is_unknown(headers: Mapping[str, str]) -> bool:
    return headers.get("streamtype") not in _NAMES


async def _run_and_tell(run: Run, kind: str, spoken: Spoken, streams: CommandStreams) -> None:
    try:
        outcome = await run(StreamTerminal(streams))
    except GoneError:
        raise
    except Exception:
        await _tell(Failed("the node met a bug; its log tells more"), kind, spoken, streams)
        raise
    await _tell(outcome, kind, spoken, streams)


async def _tell(outcome: Outcome, kind: str, spoken: Spoken, streams: CommandStreams) -> None:
    await streams.stdout.finish()
    await streams.stderr.finish()
    told = build_outcome(outcome, kind, tells_status=spoken.tells_status)
    if told:
        await streams.error.write(told)
    await streams.error.finish()
