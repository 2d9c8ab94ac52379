"""The handlers behind HTTPS. With the other files named ``http_…`` all that knows the HTTP library.

Order: what only a foreign web page would send is turned away, then who is asking is found out, and only then is a body
read. Paths and queries reach the handlers decoded once; nothing here takes a path apart.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from functools import lru_cache
from typing import Protocol, TypeAlias

from aiohttp import HttpVersion11, web
from msgspec import structs

from heliostat.embedded.access.authenticate import Authenticator, ClientCertificate
from heliostat.embedded.access.client_certificates import read_client_certificate
from heliostat.embedded.access.impersonation import PREFIX, Decide, impersonate
from heliostat.embedded.access.listening import Gate
from heliostat.embedded.access.users import User
from heliostat.embedded.server.errors import RefusedError, bad_request, refusal_response
from heliostat.embedded.server.front.http_bodies import HttpUpload, is_passed_on, read_body
from heliostat.embedded.server.front.http_connections import Connection, ConnectionServer, OnBug
from heliostat.embedded.server.front.http_upgrades import hand_over
from heliostat.embedded.server.front.unread import UnreadAnswers
from heliostat.embedded.server.limits import RETRY_SECONDS, Limits, StreamCounts, too_many_requests
from heliostat.embedded.server.messages import (
    Answer,
    BrokenOffError,
    Chunks,
    Dropped,
    Pushed,
    Request,
    Response,
    Sink,
    Stream,
    Upgrade,
)
from heliostat.embedded.server.warning_texts import bound_warnings, build_warning

Handle: TypeAlias = Callable[[Request], Awaitable[Answer]]

_TURNS_TO_CLOSE = 5  # of the event loop, after which an aborted TLS connection has closed its socket
_STOP_SECONDS = 1.0
_BACKLOG = 128  # connections that wait to be accepted
_OFFERS = ("connection", "sec-websocket-protocol", "x-stream-protocol-version")
_WRITTEN_AT_ONCE = 256 * 1024  # bytes of an answer; they fit into the connection's buffers, read or not


# Answered without credentials, as kube-apiserver does: whether it lives, and which version it is.
PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")


class Door(Protocol):
    """Who may come in at all."""

    def identify(self, incoming: web.BaseRequest) -> User:
        """Raises RefusedError."""


class Doorkeeper:
    """Turns away what only a foreign web page would send, and finds out who everybody else is."""

    def __init__(self, authenticator: Authenticator, gate: Gate, decide: Decide, now: Callable[[], float]) -> None:
        self._authenticator = authenticator
        self._gate = gate
        self._decide = decide
        self._now = now

    def identify(self, incoming: web.BaseRequest) -> User:
        headers = incoming.headers
        refused = self._gate.refuse(*(_joined(incoming, name) for name in ("Host", "Origin", "Sec-Fetch-Site")))
        if refused is not None:
            raise refused
        is_public = incoming.path.startswith(PUBLIC_PATHS)
        found = self._authenticator.identify(
            self._certificate(incoming), headers.getall("Authorization", []), self._now(), is_public=is_public
        )
        if isinstance(found, RefusedError):
            raise found
        wishes = [(key, _text(value)) for name, value in headers.items() if (key := name.lower()).startswith(PREFIX)]
        if wishes:
            found = impersonate(found, wishes, self._decide, incoming.raw_path)
        if isinstance(found, RefusedError):
            raise found
        return found

    def _certificate(self, incoming: web.BaseRequest) -> ClientCertificate | None:
        tls = incoming.transport.get_extra_info("ssl_object") if incoming.transport is not None else None
        der = tls.getpeercert(binary_form=True) if tls is not None else None
        return _read_known_certificate(der) if der else None


@lru_cache(maxsize=1024)
def _read_known_certificate(der: bytes) -> ClientCertificate:
    """Clients are few and ask often."""
    return read_client_certificate(der)


class HttpServer:
    def __init__(self, handle: Handle, door: Door, limits: Limits, on_bug: OnBug) -> None:
        self._handle = handle
        self._door = door
        self._limits = limits
        self._on_bug = on_bug
        self._listener: asyncio.Server | None = None
        self.streams = StreamCounts(limits.streams_per_user)
        self.unread = UnreadAnswers(limits.unread_bytes, limits.stalled_seconds)

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; gives the port, which the system chose when it was 0."""
        self._server = ConnectionServer(self._answer, self._limits, self._on_bug)
        patience = self._limits.handshake_seconds if tls is not None else None
        self._listener = await asyncio.get_running_loop().create_server(
            self._server, host, port, ssl=tls, ssl_handshake_timeout=patience, backlog=_BACKLOG
        )
        return int(self._listener.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """End every connection, watches too: clients come back by themselves, so nothing is gained by waiting."""
        if self._listener is None:
            return
        self._listener.close()
        for connection in self._server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0)
        self._server.pre_shutdown()
        await self._server.shutdown(_STOP_SECONDS)
        for _ in range(_TURNS_TO_CLOSE):
            await asyncio.sleep(0)

    async def _answer(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            request = await self._read(incoming)
        except RefusedError as refused:
            return _respond(refusal_response(refused))
        answer = await self._handle(request)
        if isinstance(answer, Dropped):
            return await _drop(incoming)
        if isinstance(answer, Stream):
            return await self._stream(incoming, answer, request.user.name)
        if isinstance(answer, Upgrade):
            return await self._hand_over(incoming, answer, request.user.name)
        if len(answer.body) > _WRITTEN_AT_ONCE and incoming.method != "HEAD":
            with self.unread.counting(_connection(incoming), answer.body) as body:
                if body is None:
                    return _refuse_for_now()
                answer = structs.replace(answer, body=body)
                return await self._send(incoming, answer)
        return _respond(answer)

    async def _read(self, incoming: web.BaseRequest) -> Request:
        user = self._door.identify(incoming)
        if not incoming.path.startswith("/"):
            raise bad_request("the request does not name a path")
        body, upload, seconds = b"", None, self._limits.body_seconds
        if incoming.can_read_body and is_passed_on(incoming):
            upload = HttpUpload(incoming, seconds)
        elif incoming.can_read_body:
            body = await read_body(incoming, seconds)
        query: dict[str, list[str]] = {}
        for key, value in incoming.query.items():
            query.setdefault(key, []).append(value)
        headers = {key.lower(): value if value.isascii() else _text(value) for key, value in incoming.headers.items()}
        if "upgrade" in headers:  # such a client offers its protocols in as many headers
            headers |= {name: joined for name in _OFFERS if (joined := _joined(incoming, name)) is not None}
        method, path = incoming.method, incoming.path
        return Request(method=method, path=path, user=user, query=query, headers=headers, body=body, upload=upload)

    async def _send(self, incoming: web.BaseRequest, answer: Response) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        response.content_length = len(answer.body)
        try:
            await response.prepare(incoming)
            await self._write(_connection(incoming), answer.body)
            await response.write_eof()
        except (ConnectionError, TimeoutError):
            _connection(incoming).abort()
        return response

    async def _write(self, connection: Connection, data: bytes) -> None:
        """In pieces: of what is written at once nobody would notice that it is not read."""
        view = memoryview(data)
        for start in range(0, len(data), _WRITTEN_AT_ONCE):
            connection.write(view[start : start + _WRITTEN_AT_ONCE])
            await (self._until_read(connection) if connection.writing_paused else asyncio.sleep(0))

    async def _until_read(self, connection: Connection) -> None:
        async with asyncio.timeout(self._limits.write_seconds):
            await connection.until_written()

    async def _stream(self, incoming: web.BaseRequest, stream: Stream, user: str) -> web.StreamResponse:
        """Until the stream ends or the client does. One that stops reading is cut off: others must not wait for it."""
        async with aclosing(stream.chunks) as chunks:
            if self.streams.is_full(user):
                return _refuse_for_now()
            response = web.StreamResponse(status=stream.status, headers=_headers(stream))
            with self.streams.counting(user), suppress(ConnectionError):
                async with _connection(incoming).until_lost():
                    await self._write_chunks(incoming, response, chunks)
        return response

    async def _hand_over(self, incoming: web.BaseRequest, upgrade: Upgrade, user: str) -> web.StreamResponse:
        if self.streams.is_full(user):
            return _refuse_for_now()
        with self.streams.counting(user):
            return await hand_over(incoming, _connection(incoming), upgrade)

    async def _write_chunks(self, incoming: web.BaseRequest, response: web.StreamResponse, chunks: Chunks) -> None:
        connection, is_chunked = _connection(incoming), incoming.version >= HttpVersion11
        if is_chunked:
            response.enable_chunked_encoding()
        await response.prepare(incoming)
        if isinstance(chunks, Pushed):
            chunks.push_to(_sink(connection, is_chunked=is_chunked))
        try:
            async for chunk in chunks:
                if chunk:  # an empty one would say that the stream has ended
                    await self._write(connection, _frame(chunk) if is_chunked else chunk)
                elif connection.writing_paused:
                    await self._until_read(connection)
            await response.write_eof()
        except (TimeoutError, BrokenOffError):
            connection.abort()


def _frame(chunk: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(chunk), chunk)


def _sink(connection: Connection, *, is_chunked: bool) -> Sink:
    """Around the library's writer and without a time limit: this is done for every event and every watcher."""

    def write(chunk: bytes) -> bool:
        connection.write(_frame(chunk) if is_chunked else chunk)
        return not connection.writing_paused

    return write


def _refuse_for_now() -> web.Response:
    return _respond(refusal_response(too_many_requests(), (("Retry-After", str(RETRY_SECONDS)),)))


def _respond(response: Response) -> web.Response:
    return web.Response(status=response.status, body=response.body, headers=_headers(response))


def _headers(answer: Response | Stream) -> list[tuple[str, str]]:
    headers = [("Content-Type", answer.content_type)] if answer.content_type else []
    headers += answer.headers
    warnings = answer.warnings if isinstance(answer, Response) else ()
    return headers + [("Warning", build_warning(text)) for text in bound_warnings(warnings)]


async def _drop(incoming: web.BaseRequest) -> web.Response:
    """End the connection, and give the library its response only when nobody can get it any more."""
    if incoming.transport is not None:
        incoming.transport.abort()
    while incoming.transport is not None:
        await asyncio.sleep(0)
    return web.Response()


def _connection(incoming: web.BaseRequest) -> Connection:
    connection = incoming.protocol
    if not isinstance(connection, Connection):
        raise TypeError("not a connection of this server")
    return connection


def _text(value: str) -> str:
    """Bytes that are no UTF-8 come from the library as half characters, which no answer could repeat."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _joined(incoming: web.BaseRequest, name: str) -> str | None:
    """Every value of a header that should have one: two of them are no value that anybody would accept."""
    values = incoming.headers.getall(name, None)
    return None if values is None else ", ".join(values)
