"""Connections of the HTTP library within limits: how many, how slow, how long their lines, and what they are told.

Rules: a connection too many ends at once; one that does not finish its headers in time ends; what is not HTTP is
answered with a Status that repeats nothing of it, and logged nowhere, because it may contain credentials. A bug of ours
is reported. Bodies are never unpacked: no client of the API packs them, and a small one could become a large one.
"""

import asyncio
import math
import select
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from heliostat.embedded.refusals import RefusedError, bad_request
from heliostat.embedded.server.errors import refusal_response
from heliostat.embedded.server.limits import Limits

Answering: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
OnBug: TypeAlias = Callable[[BaseException], None]

_AT_ONCE = pack("ii", 1, 0)  # for SO_LINGER: on, for no time
_LEFT = getattr(select, "POLLRDHUP", 0)  # without it, as on macOS, only what is broken is noticed
_LINGER_SECONDS = 5.0  # reading on after a refusal, so that the client gets to see it


class Connection(web.RequestHandler):
    """One connection; ``handle_error`` is what the library asks when it has no request to answer, or no answer."""

    __slots__ = ("_has_room", "_is_held", "_on_bug", "_streaming", "stalled_since")

    def __init__(self, server: "ConnectionServer", on_bug: OnBug, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._on_bug = on_bug
        self._streaming: asyncio.Task[Any] | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_held = False
        self.stalled_since = math.inf  # on the loop's clock: when the client left too much unread

    @asynccontextmanager
    async def until_lost(self) -> AsyncIterator[None]:
        """Ends with ConnectionError when the client goes: a stream that has nothing to say would never notice."""
        task = self._streaming = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if task is None or self._streaming is not None or task.uncancel() > 0:
                raise
            raise ConnectionError("the client is gone") from None
        finally:
            self._streaming = None

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._has_room.set()
        task, self._streaming = self._streaming, None
        if task is not None:
            task.cancel()

    def write(self, data: bytes | memoryview) -> None:
        """Without waiting; whoever writes asks ``writing_paused`` afterwards."""
        if self.transport is None or self.transport.is_closing():
            raise ConnectionError("the client is gone")
        self.transport.write(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._has_room.clear()
        self.stalled_since = asyncio.get_running_loop().time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._has_room.set()
        self.stalled_since = math.inf

    async def until_written(self) -> None:
        """Until the client has read enough for more to be written.

        Not by the library's own way: there all who wait share one future, which ends for all when one is cancelled.
        """
        await self._has_room.wait()
        if self.transport is None:
            raise ConnectionError("the client is gone")

    def hold_reading(self) -> None:
        """Until ``go_on_reading``; meanwhile nobody notices that the client is gone."""
        if self.transport is not None and not self._is_held:
            self._is_held = True
            self.transport.pause_reading()

    def go_on_reading(self) -> None:
        if self.transport is not None and self._is_held:
            self._is_held = False
            self.transport.resume_reading()

    def is_left(self) -> bool:
        """Whether the client has closed its end, even when there is something left to read from it."""
        socket = self.transport.get_extra_info("socket") if self.transport is not None else None
        if socket is None or socket.fileno() < 0:
            return True
        asked = select.poll()
        asked.register(socket.fileno(), _LEFT)
        return bool(asked.poll(0))

    def abort(self) -> None:
        """End it now, with what is still on its way: an unread answer would stay in the system's memory."""
        if self.transport is None:
            return
        socket = self.transport.get_extra_info("socket")
        if socket is not None:  # it is gone already when the client was faster
            socket.setsockopt(SOL_SOCKET, SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        del message  # repeats what was sent
        if status >= 500 and exc is not None:
            self._on_bug(exc)
        if request.writer.output_size > 0:
            raise ConnectionError("half an answer was sent already")
        told = refusal_response(_explain(status, exc))
        response = web.Response(status=told.status, body=told.body, content_type=told.content_type)
        response.force_close()
        return response


class ConnectionServer(web.Server):
    """Makes connections and counts them."""

    def __init__(self, answer: Answering, limits: Limits, on_bug: OnBug) -> None:
        super().__init__(answer)
        self._limits = limits
        self._on_bug = on_bug
        self._by_address: Counter[str] = Counter()
        self._addresses: dict[web.RequestHandler, str] = {}

    def __call__(self) -> web.RequestHandler:
        limits = self._limits
        return Connection(
            self,
            self._on_bug,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=limits.headers_seconds,
            lingering_time=_LINGER_SECONDS,
            max_field_size=limits.line_bytes,
            max_headers=limits.headers,
            max_line_size=limits.line_bytes,
        )

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if peer else ""
        self._addresses[handler] = address
        self._by_address[address] += 1
        is_too_many = len(self._addresses) > self._limits.connections
        if is_too_many or self._by_address[address] > self._limits.connections_per_address:
            transport.abort()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        address = self._addresses.pop(handler, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]


def _explain(status: int, error: BaseException | None) -> RefusedError:
    if status >= 500:
        return RefusedError(500, "InternalError", "Internal error occurred: the server met a bug; its log tells more")
    if isinstance(error, LineTooLong):
        return RefusedError(431, "BadRequest", "the request line or a header is too long")
    return bad_request("the request is not valid HTTP/1.1")
