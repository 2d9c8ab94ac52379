"""The handlers behind HTTPS: the only file that knows the HTTP library."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import lru_cache
from typing import Protocol, TypeAlias

from aiohttp import web

from heliostat.embedded.access.authenticate import Authenticator, ClientCertificate
from heliostat.embedded.access.client_certificates import read_client_certificate
from heliostat.embedded.access.listening import Gate
from heliostat.embedded.access.users import User
from heliostat.embedded.server.errors import RefusedError, refusal_response
from heliostat.embedded.server.messages import Answer, Dropped, Request, Response, Stream

Handle: TypeAlias = Callable[[Request], Awaitable[Answer]]
Impersonation: TypeAlias = Callable[[User, Mapping[str, str]], RefusedError | None]

_TURNS_TO_CLOSE = 5  # of the event loop, after which an aborted TLS connection has closed its socket
LONGEST_WRITE = 60.0  # seconds that a client may leave a stream unread
LARGEST_BODY = 3 * 1024 * 1024 + 1  # one byte more, so that the handler itself can refuse what is too large


# Answered without credentials, as kube-apiserver does: whether it lives, and which version it is.
PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")


class Door(Protocol):
    """Who may come in at all."""

    def identify(self, incoming: web.BaseRequest) -> User:
        """Raises RefusedError."""


class Doorkeeper:
    """Turns away what only a foreign web page would send, and finds out who everybody else is."""

    def __init__(
        self, authenticator: Authenticator, gate: Gate, refuse_impersonation: Impersonation, now: Callable[[], float]
    ) -> None:
        self._authenticator = authenticator
        self._gate = gate
        self._refuse_impersonation = refuse_impersonation
        self._now = now

    def identify(self, incoming: web.BaseRequest) -> User:
        headers = incoming.headers
        refused = self._gate.refuse(headers.get("Host"), headers.get("Origin"), headers.get("Sec-Fetch-Site"))
        if refused is not None:
            raise refused
        is_public = incoming.path.startswith(PUBLIC_PATHS)
        found = self._authenticator.identify(
            self._certificate(incoming), headers.getall("Authorization", []), self._now(), is_public=is_public
        )
        if isinstance(found, RefusedError):
            raise found
        wishes = {name.lower(): value for name, value in headers.items() if name.lower().startswith("impersonate-")}
        refused = self._refuse_impersonation(found, wishes) if wishes else None
        if refused is not None:
            raise refused
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
    def __init__(self, handle: Handle, door: Door) -> None:
        self._handle = handle
        self._door = door
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; gives the port, which the system chose when it was 0."""
        server = web.Server(self._answer, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=tls)
        await site.start()
        address = self._runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """End every connection, watches too: clients come back by themselves, so nothing is gained by waiting."""
        if self._runner is None:
            return
        if self._runner.server is not None:
            for connection in self._runner.server.connections:
                if connection.transport is not None:
                    connection.transport.abort()
        await self._runner.cleanup()
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
            return await _stream(incoming, answer)
        return _respond(answer)

    async def _read(self, incoming: web.BaseRequest) -> Request:
        user = self._door.identify(incoming)
        body = b""
        if incoming.can_read_body:
            body = await _read_body(incoming)
        query: dict[str, list[str]] = {}
        for key, value in incoming.query.items():
            query.setdefault(key, []).append(value)
        headers = {key.lower(): value for key, value in incoming.headers.items()}
        return Request(method=incoming.method, path=incoming.path, user=user, query=query, headers=headers, body=body)


async def _read_body(incoming: web.BaseRequest) -> bytes:
    body = bytearray()
    async for chunk in incoming.content.iter_any():
        body += chunk
        if len(body) > LARGEST_BODY:
            limit = LARGEST_BODY - 1
            raise RefusedError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")
    return bytes(body)


def _respond(response: Response) -> web.Response:
    headers = [("Content-Type", response.content_type), *response.headers]
    headers += [("Warning", f'299 - "{_quoted(text)}"') for text in response.warnings]
    return web.Response(status=response.status, body=response.body, headers=headers)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")


async def _drop(incoming: web.BaseRequest) -> web.Response:
    """End the connection, and give the library its response only when nobody can get it any more."""
    if incoming.transport is not None:
        incoming.transport.abort()
    while incoming.transport is not None:
        await asyncio.sleep(0)
    return web.Response()


async def _stream(incoming: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    """Until the stream ends or the client does. One that stops reading is cut off: others must not wait for it."""
    response = web.StreamResponse(status=stream.status, headers={"Content-Type": stream.content_type})
    try:
        await response.prepare(incoming)
        async with aclosing(stream.chunks) as chunks:
            async for chunk in chunks:
                if chunk:
                    async with asyncio.timeout(LONGEST_WRITE):
                        await response.write(chunk)
        await response.write_eof()
    except (ConnectionError, TimeoutError):
        if incoming.transport is not None:
            incoming.transport.abort()
    return response
