"""What the API server sends a node beside its question: input of a conversation, or the body of a proxied request.

Rules: input is sent only into room that the node has told of, so that little of it is ever held here; a body that
breaks off ends the connection, because the node must not take that for its end.
"""

import asyncio
from collections.abc import Awaitable, Callable

from heliostat.embedded.node.linking.link import LARGEST_PIECE, ROOM, Asked, Kind, Link
from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.messages import Upload


class InputSender:
    def __init__(self, link: Link, read: Callable[[], Awaitable[bytes]]) -> None:
        self._link = link
        self._read = read
        self._room = ROOM
        self._has_room = asyncio.Event()

    def give_room(self, content: bytes) -> None:
        self._room += int.from_bytes(content, "big")
        self._has_room.set()

    async def run(self) -> None:
        """To the end of the input. Raises what reading raises, and ConnectionError when the node is gone."""
        while data := await self._read():
            await self._send_into_room(data)
        await self._link.send(Kind.INPUT_END)

    async def _send_into_room(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            while self._room <= 0:
                self._has_room.clear()
                await self._has_room.wait()
            size = min(self._room, LARGEST_PIECE)
            self._room -= len(left[:size])
            await self._link.send(Kind.INPUT, bytes(left[:size]))
            left = left[size:]


class Exchange:
    """A question, the body that goes with it, and its answer: body and answer may be on their way at the same time."""

    def __init__(self, link: Link, upload: Upload | None) -> None:
        self.link = link
        self.refusal: RefusedError | None = None  # of the client's body
        self._sender = InputSender(link, upload.read) if upload is not None else None
        self._sending: asyncio.Task[None] | None = None

    async def begin(self, asked: Asked) -> None:
        await self.link.send_value(Kind.HEADER, asked)
        if self._sender is not None:
            self._sending = asyncio.ensure_future(self._send(self._sender))

    async def receive(self) -> tuple[Kind, bytes]:
        """The next frame of the answer. Raises LinkError at the end."""
        while True:
            kind, content = await self.link.receive()
            if kind is not Kind.ROOM or self._sender is None:
                return kind, content
            self._sender.give_room(content)

    async def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        await self.link.close()

    async def _send(self, sender: InputSender) -> None:
        try:
            await sender.run()
        except RefusedError as refused:
            self.refusal = refused
            self.link.abort()
        except ConnectionError:  # the client left, or the node did: whoever receives hears it
            self.link.abort()
