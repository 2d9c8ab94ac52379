"""One connection as bytes in both directions, with as little as possible between the socket and who reads it.

Rules: what nobody has taken stays bounded, because the other side is then not read any more; ``send`` never waits, and
``drain`` waits while the other side takes nothing; an end is told once everything before it was taken, and at once to
``on_end``: asyncio's own streams tell nobody that a client hung up while no one reads. What the other side had said
before it took no more is still heard: that is how a server refuses a large body.
"""

import asyncio
import contextlib
import os
import socket
import struct
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_WAITING = 256 * 1024
_RESET = struct.pack("ii", 1, 0)


class Wire(asyncio.Protocol):
    def __init__(self, on_made: "Callable[[Wire], None] | None" = None) -> None:
        self.on_end: Callable[[], None] | None = None  # whoever has to know at once that the other side hung up
        self.is_over = False  # nothing more will come
        self.is_lost = False  # nothing more can be sent either
        self.is_broken = False  # it is over, and not because the other side ended it
        self._on_made = on_made
        self._transport: asyncio.Transport | None = None
        self._waiting: list[bytes] = []
        self._size = 0
        self._is_reading = True
        self._reader: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._is_full = False

    async def receive(self) -> bytes:
        """What has come; nothing at the end."""
        while not self._waiting:
            if self.is_over:
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        data = self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        if not self._is_reading and self._transport is not None and not self.is_over:
            self._is_reading = True
            self._transport.resume_reading()
        return data

    def give_back(self, data: bytes) -> None:
        """What was received and belongs to the next message."""
        if data:
            self._waiting.insert(0, data)
            self._size += len(data)

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self.is_lost:
            self._transport.write(data)

    async def drain(self) -> None:
        """Raises ConnectionResetError when nobody takes it any more."""
        if self._is_full and not self.is_lost:
            self._room = asyncio.get_running_loop().create_future()
            try:
                await self._room
            finally:
                self._room = None
        if self.is_lost:
            raise ConnectionResetError("the other side has left")

    def end(self) -> None:
        """Nothing more will be sent; what comes is still read."""
        if self._transport is not None and not self.is_lost and self._transport.can_write_eof():
            self._transport.write_eof()

    def close(self) -> None:
        """After what was sent has left."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def reset(self) -> None:
        """So that the other side cannot take it for an end."""
        if self._transport is not None and not self.is_lost:
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()

    @property
    def is_quiet(self) -> bool:
        """Open, and nothing has come that nobody asked for."""
        return not (self.is_over or self.is_lost or self._waiting)

    @property
    def peer(self) -> str:
        name = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(name[0]) if isinstance(name, tuple) else ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._on_made is not None:
            self._on_made(self)

    def data_received(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        if self._size > _MOST_WAITING and self._is_reading and self._transport is not None:
            self._is_reading = False
            self._transport.pause_reading()
        self._wake_reader()

    def eof_received(self) -> bool:
        """True: the transport stays open for what we still send."""
        self.is_over = True
        self._wake_reader()
        if self.on_end is not None:
            self.on_end()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None and not self.is_over:
            self._take_rest()
        self.is_broken = not self.is_over
        self.is_over = self.is_lost = True
        self._wake_reader()
        self._wake_writer()
        if self.on_end is not None:
            self.on_end()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake_writer()

    def _take_rest(self) -> None:
        """Of what came: asyncio gives up reading as soon as a write fails. The socket is closed after this."""
        if self._transport is not None:
            file = self._transport.get_extra_info("socket").fileno()
            with contextlib.suppress(OSError):
                while data := os.read(file, _MOST_WAITING):
                    self._waiting.append(data)

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _wake_writer(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
