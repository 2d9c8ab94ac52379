"""A connection in memory, with the test on the other side, and a SPDY client's half of the protocol."""

import asyncio
import struct
from collections.abc import Mapping

from heliostat.embedded.server.messages import GoneError
from heliostat.embedded.server.upgrades.spdy_frames import SYN_STREAM, build_control
from heliostat.embedded.server.upgrades.spdy_headers import HeaderPacker


class MemoryWire:
    """``unread`` is how many bytes fit; the server waits when the test does not take them."""

    def __init__(self, unread: int = 2**30) -> None:
        self._room = unread
        self._to_server: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._news = asyncio.Condition()
        self._is_gone = False
        self.sent: list[bytes] = []

    def say(self, data: bytes) -> None:
        self._to_server.put_nowait(data)

    def go(self) -> None:
        self._is_gone = True
        self._to_server.put_nowait(None)

    @property
    def waiting(self) -> int:
        """Messages that the server has not taken."""
        return self._to_server.qsize()

    async def receive(self) -> bytes | None:
        return await self._to_server.get()

    async def send(self, data: bytes) -> None:
        if self._is_gone:
            raise GoneError("gone")
        async with self._news:
            await self._news.wait_for(lambda: sum(map(len, self.sent)) < self._room)
            self.sent.append(data)
            self._news.notify_all()

    async def take_all(self) -> bytes:
        async with self._news:
            taken = b"".join(self.sent)
            self.sent.clear()
            self._news.notify_all()
        return taken


class SpdyOpener:
    """Opens streams as a client does: odd numbers, one packing for all."""

    def __init__(self) -> None:
        self._packer = HeaderPacker()
        self._next = 1

    def open(self, headers: Mapping[str, str], flags: int = 0) -> tuple[int, bytes]:
        number, self._next = self._next, self._next + 2
        return number, self.frame(number, headers, flags)

    def frame(self, number: int, headers: Mapping[str, str], flags: int = 0) -> bytes:
        return build_control(SYN_STREAM, struct.pack(">IIBB", number, 0, 0, 0) + self._packer.pack(headers), flags)
