"""The streams of a SPDY connection, read from and written to a wire.

Rules: one loop reads the wire; a stream whose reader is slow holds up the loop, and so in the end the client. A stream
is offered to whoever accepts streams, unless ``refuse`` finds a reason in its headers.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

from heliostat.embedded.server.messages import GoneError, Wire
from heliostat.embedded.server.upgrades.inboxes import Inbox
from heliostat.embedded.server.upgrades.spdy_connection import (
    PROTOCOL_ERROR,
    Broken,
    Event,
    Finished,
    Opened,
    Received,
    SpdyConnection,
    ToSend,
    WasReset,
)

Refuse: TypeAlias = Callable[[Mapping[str, str]], bool]

_WRITTEN_AT_ONCE = 32 * 1024  # bytes in a frame, so that streams take turns


class SpdyStream:
    def __init__(self, number: int, headers: Mapping[str, str], streams: "SpdyStreams") -> None:
        self.number = number
        self.headers = headers
        self.inbox = Inbox()
        self._connection = streams.connection
        self._wire = streams.wire
        self._forget = streams.forget

    async def read(self) -> bytes:
        return await self.inbox.read()

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), _WRITTEN_AT_ONCE):
            frame = self._connection.send(self.number, data[start : start + _WRITTEN_AT_ONCE])
            if not frame:
                raise GoneError("the client has closed the stream")
            await self._wire.send(frame)

    async def finish(self) -> None:
        await self._send(self._connection.finish(self.number))

    async def leave(self) -> None:
        """Nothing more is wanted from the client, whatever it still sends."""
        self.inbox.abandon()
        self._forget(self.number)
        await self._send(self._connection.reset(self.number))

    async def _send(self, data: bytes) -> None:
        if data:
            await self._wire.send(data)


class SpdyStreams:
    def __init__(self, wire: Wire, refuse: Refuse) -> None:
        self.wire = wire
        self.connection = SpdyConnection()
        self._refuse = refuse
        self._streams: dict[int, SpdyStream] = {}
        self._opened: asyncio.Queue[SpdyStream] = asyncio.Queue()

    async def accept(self) -> SpdyStream:
        """The next stream that the client opens."""
        return await self._opened.get()

    def forget(self, number: int) -> None:
        self._streams.pop(number, None)

    async def serve_incoming(self) -> None:
        """Until the client is gone."""
        while (data := await self.wire.receive()) is not None:
            for event in self.connection.receive(data):
                if isinstance(event, Broken):
                    return
                await self._take(event)

    async def _take(self, event: Event) -> None:
        match event:
            case ToSend(data):
                await self.wire.send(data)
            case Opened(number, headers):
                await self._open(number, headers)
            case Received(number, data):
                if number in self._streams:
                    await self._streams[number].inbox.put(data)
            case Finished(number) | WasReset(number):
                stream = self._streams.pop(number, None)
                if stream is not None:
                    stream.inbox.end()

    async def _open(self, number: int, headers: Mapping[str, str]) -> None:
        if self._refuse(headers):
            await self.wire.send(self.connection.reset(number, PROTOCOL_ERROR))
            return
        stream = self._streams[number] = SpdyStream(number, headers, self)
        await self.wire.send(self.connection.reply(number))
        self._opened.put_nowait(stream)
