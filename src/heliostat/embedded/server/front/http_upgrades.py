"""Connections that are handed over: as WebSocket messages, which the HTTP library frames, or as bare bytes.

Rules: a message has a largest size, the kubelet's; reading stops while nobody takes what came, writing waits while the
client does not read; after the last word the client has a moment to read it, because closing at once could lose it.
"""

import asyncio
import sys
from abc import abstractmethod
from collections import deque
from contextlib import suppress
from typing import Any, Protocol, cast

from aiohttp import WSMsgType, web

from heliostat.embedded.server.front.http_connections import Connection
from heliostat.embedded.server.messages import GoneError, Upgrade, WebSocket, Wire

LARGEST_MESSAGE = 32 * 1024 * 1024
_LINGER_SECONDS = 5.0  # that a client has to read the end, and to close
_LOOK_SECONDS = 1.0
_UNREAD = 256 * 1024  # bytes that may wait to be taken


class _ClosingWire(Wire, Protocol):
    @abstractmethod
    async def close(self) -> None:
        """After everything that was sent has arrived, or some time has passed."""


async def hand_over(incoming: web.BaseRequest, connection: Connection, upgrade: Upgrade) -> web.StreamResponse:
    """Until the conversation has ended. What it raises is a bug."""
    response, wire = _build(connection, upgrade)
    watching = asyncio.ensure_future(_abort_when_gone(connection))
    try:
        with suppress(ConnectionError):
            await response.prepare(incoming)
            try:
                async with connection.until_lost():
                    await upgrade.converse(wire)
            finally:
                if connection.connected:
                    await wire.close()
    finally:
        watching.cancel()
    return response


async def _abort_when_gone(connection: Connection) -> None:
    """A connection from which nothing is read, because nobody takes what came, does not notice by itself."""
    while not connection.is_left():
        await asyncio.sleep(_LOOK_SECONDS)
    connection.abort()


def _build(connection: Connection, upgrade: Upgrade) -> tuple[web.StreamResponse, _ClosingWire]:
    if upgrade.websocket is not None:
        response = _build_websocket(upgrade.websocket)
        return response, _WebSocketWire(response, connection, is_text=upgrade.websocket.is_text)
    bare = web.StreamResponse(status=upgrade.status, headers=upgrade.headers)
    bare.force_close()
    return bare, _BareWire(connection)


def _build_websocket(wanted: WebSocket) -> web.WebSocketResponse[Any]:
    return web.WebSocketResponse(
        protocols=(wanted.subprotocol,) if wanted.subprotocol else (),
        compress=False,
        decode_text=False,
        max_msg_size=LARGEST_MESSAGE,
        timeout=_LINGER_SECONDS,
        writer_limit=sys.maxsize,  # the library's way to wait does not survive a cancellation: see Connection
    )


class _WebSocketWire:
    def __init__(self, response: web.WebSocketResponse[Any], connection: Connection, *, is_text: bool) -> None:
        self._response = response
        self._connection = connection
        self._is_text = is_text

    async def receive(self) -> bytes | None:
        message = await self._response.receive()
        if message.type in (WSMsgType.BINARY, WSMsgType.TEXT):
            return cast("bytes", message.data)
        return None

    async def send(self, data: bytes) -> None:
        kind = WSMsgType.TEXT if self._is_text else WSMsgType.BINARY
        try:
            await self._response.send_frame(data, kind)
            await self._connection.until_written()
        except ConnectionError as error:
            raise GoneError(str(error)) from error

    async def close(self) -> None:
        await self._response.close()


class _BareWire:
    """Takes the connection's bytes from when it is made; the library calls ``feed_data`` and ``feed_eof``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._is_ended = False
        self._has_news = asyncio.Event()
        connection.set_parser(cast("Any", self))

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._pieces.append(bytes(data))
        self._size += len(data)
        self._has_news.set()
        if self._size >= _UNREAD:
            self._connection.hold_reading()
        return False, b""

    def feed_eof(self) -> None:
        self._is_ended = True
        self._has_news.set()

    async def receive(self) -> bytes | None:
        await self._has_news.wait()
        if not self._pieces:
            return None
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._size < _UNREAD:
            self._connection.go_on_reading()
        if not self._pieces and not self._is_ended:
            self._has_news.clear()
        return piece

    async def send(self, data: bytes) -> None:
        try:
            self._connection.write(data)
            await self._connection.until_written()
        except ConnectionError as error:
            raise GoneError(str(error)) from error

    async def close(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while await self.receive() is not None:
                    pass
