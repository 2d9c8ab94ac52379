"""Bytes on their way to one reader, in bounded memory.

Rules: whoever fills waits while it is full, which in the end holds back the sender; the end comes after all that was
put in; what nobody will read is thrown away instead of being waited for.
"""

import asyncio
from collections import deque

ROOM = 256 * 1024  # bytes; a single piece may be larger


class Inbox:
    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._is_ended = False
        self._has_news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def put(self, data: bytes) -> None:
        await self._has_room.wait()
        if self._is_ended or not data:
            return
        self._pieces.append(data)
        self._size += len(data)
        self._has_news.set()
        if self._size >= self._room:
            self._has_room.clear()

    async def read(self) -> bytes:
        """The next piece; empty at the end, and ever after."""
        await self._has_news.wait()
        if not self._pieces:
            return b""
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._size < self._room:
            self._has_room.set()
        if not self._pieces and not self._is_ended:
            self._has_news.clear()
        return piece

    def end(self) -> None:
        """Nothing follows what is there."""
        self._is_ended = True
        self._has_news.set()
        self._has_room.set()

    def abandon(self) -> None:
        """There is no reader any more."""
        self._pieces.clear()
        self._size = 0
        self.end()
