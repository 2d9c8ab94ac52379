"""Pipes and terminals on the event loop, whichever it is: read and written without blocking anybody."""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any

_CHUNK = 64 * 1024


class Descriptor:
    """Ours to close; one reader and one writer at a time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._is_ending = False
        self._waiting: asyncio.Future[None] | None = None  # the reader
        self._is_closed = False
        os.set_blocking(number, False)

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""
        while True:
            try:
                return os.read(self.number, _CHUNK)
            except BlockingIOError:
                if self._is_ending:
                    return b""
            except OSError:  # a terminal that nobody has open any more
                return b""
            self._waiting = asyncio.get_running_loop().create_future()
            await self._ready(self._waiting, self._loop().add_reader, self._loop().remove_reader)

    def end_when_empty(self) -> None:
        """Who wrote is over: what is there now is all that counts, even if somebody else still has the other end."""
        self._is_ending = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def write(self, data: bytes) -> None:
        """All of it. Raises OSError when nobody has the other end any more."""
        while data:
            try:
                data = data[os.write(self.number, data) :]
            except BlockingIOError:
                ready = asyncio.get_running_loop().create_future()
                await self._ready(ready, self._loop().add_writer, self._loop().remove_writer)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            os.close(self.number)

    def _loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def _ready(self, ready: asyncio.Future[None], add: Callable[..., None], remove: Callable[[int], Any]) -> None:
        add(self.number, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            remove(self.number)


async def receive_descriptor(channel: socket.socket) -> int:
    """One that somebody hands over; the socket does not block. Waits for ever if nobody does."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[None] = loop.create_future()
    loop.add_reader(channel.fileno(), lambda: None if arrived.done() else arrived.set_result(None))
    try:
        await arrived
    finally:
        loop.remove_reader(channel.fileno())
    _data, descriptors, _flags, _address = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        raise ConnectionError("the other side has closed the socket and handed nothing over")
    return descriptors[0]
