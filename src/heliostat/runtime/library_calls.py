"""Calls by way of the HTTP library: through a proxy, with a large body, and the messages of a WebSocket.

The only file of the loop that knows the library, and imported only when it is needed. Nothing is ever sent twice: the
library's own resending of PUT and DELETE is stopped, because a second sending would hide what became of the first.
Redirects are not followed and cookies not kept.
"""

import asyncio
import io
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
from aiohttp.abc import ResolveResult
from aiohttp.connector import Connection as PooledConnection
from aiohttp.tracing import Trace
from multidict import CIMultiDict
from yarl import URL

from heliostat.runtime.caller import Caller
from heliostat.runtime.errors import UnavailableError
from heliostat.runtime.http_failures import Progress, words_of_system
from heliostat.runtime.http_requests import build_address
from heliostat.runtime.server_address import split_proxy
from heliostat.runtime.transport import Call, Chunks, Reply

if TYPE_CHECKING:
    from heliostat.kube.hidden import Hidden

_KEEP_SECONDS = 30.0  # unused; servers keep theirs for longer, so a request rarely meets one that is being closed
_NO_LIMIT = 0  # of streams: none of them ends to let another in

_PROGRESS: ContextVar[Progress] = ContextVar("progress")  # of the request that this task is at


class LibraryCalls:
    """``most_requests`` at a time; ``on_resolve`` hears of every look-up of a name, and how long it took."""

    def __init__(self, caller: Caller, most_requests: int, on_resolve: Callable[[str, float], None] | None) -> None:
        self._caller = caller
        resolver = _Resolver(on_resolve)
        self._requests = _open_session(most_requests, resolver)
        self._streams = _open_session(_NO_LIMIT, resolver)
        # Apart from each other, because the library shows addresses in its errors.
        self._proxy: str | None = None
        self._proxy_login: Hidden | None = None
        if caller.connection.proxy is not None:
            self._proxy, self._proxy_login = split_proxy(caller.connection.proxy)
        self._open: set[_StreamChunks] = set()

    async def send(self, call: Call, seconds: float) -> Reply:
        progress = Progress()
        try:
            async with asyncio.timeout(seconds):
                response = await self._begin(self._requests, call, progress)
                async with response:
                    return await _read_reply(response, call.most_bytes)
        except TimeoutError:
            raise progress.error(call, f"no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise progress.error(call, _words_of(error)) from error

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        try:
            async with asyncio.timeout(seconds):
                response = await self._begin(self._streams, call, Progress())
                if response.status == 200:
                    return _StreamChunks(response, call, self._open)
                async with response:
                    return await _read_reply(response, call.most_bytes)
        except TimeoutError:
            raise UnavailableError(f"{call}: no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{call}: {_words_of(error)}") from error

    async def listen(self, call: Call, seconds: float) -> Reply | AsyncGenerator[str, None]:
        try:
            async with asyncio.timeout(seconds):
                return _messages(await self._upgrade(call, Progress()), call)
        except aiohttp.WSServerHandshakeError as error:
            return Reply(error.status, error.message.encode())
        except TimeoutError:
            raise UnavailableError(f"{call}: no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{call}: {_words_of(error)}") from error

    async def close(self) -> None:
        for stream in tuple(self._open):
            await stream.aclose()
        await self._requests.close()
        await self._streams.close()

    async def _begin(self, session: aiohttp.ClientSession, call: Call, progress: Progress) -> ClientResponse:
        connection = self._caller.connection
        proof = await connection.credentials.fetch()
        _PROGRESS.set(progress)
        response = await session.request(
            call.method,
            _build_url(connection.server, call.path, call.query),
            headers=CIMultiDict(self._caller.list_headers(call, proof)),
            data=_payload_of(call.body),
            ssl=self._caller.build_tls(proof.certificate) or True,
            server_hostname=connection.tls_server_name or None,
            proxy=self._proxy,
            proxy_headers=self._proxy_headers(),
            allow_redirects=False,
        )
        if response.status == 401:
            connection.credentials.refused(proof)
        return response

    async def _upgrade(self, call: Call, progress: Progress) -> aiohttp.ClientWebSocketResponse:
        connection = self._caller.connection
        proof = await connection.credentials.fetch()
        _PROGRESS.set(progress)
        return await self._streams.ws_connect(
            _build_url(connection.server, call.path, call.query),
            headers=CIMultiDict(self._caller.list_headers(call, proof)),
            ssl=self._caller.build_tls(proof.certificate) or True,
            server_hostname=connection.tls_server_name or None,
            proxy=self._proxy,
            proxy_headers=self._proxy_headers(),
            max_msg_size=call.most_bytes,
        )

    def _proxy_headers(self) -> dict[str, str] | None:
        return {"Proxy-Authorization": self._proxy_login.reveal()} if self._proxy_login else None


class _StreamChunks:
    """``among`` is where it stays for as long as it is open."""

    def __init__(self, response: ClientResponse, call: Call, among: "set[_StreamChunks]") -> None:
        self._response = response
        self._call = call
        self._chunks = response.content.iter_any()
        self._among = among
        among.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{self._call}: {_words_of(error)}") from error

    async def aclose(self) -> None:
        """At once: a goodbye over TLS would keep the socket open for as long as the server takes to answer it."""
        self._among.discard(self)
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()


async def _messages(socket: aiohttp.ClientWebSocketResponse, call: Call) -> AsyncGenerator[str, None]:
    try:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                yield message.data
            elif message.type is aiohttp.WSMsgType.ERROR:
                raise UnavailableError(f"{call}: {_words_of(socket.exception() or ConnectionError('broken'))}")
        if socket.close_code != aiohttp.WSCloseCode.OK:
            raise UnavailableError(f"{call}: the stream broke off with code {socket.close_code}")
    finally:
        await socket.close()


class _LostError(aiohttp.ClientError):
    """The connection ended while a request was on it. The library resends upon its own error, not upon ours."""


class _TooLongError(aiohttp.ClientError):
    pass


async def _send_once(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
    try:
        response = await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _LostError(_words_of(error)) from error
    if 300 <= response.status < 400 and "Upgrade" in request.headers:  # here the library would follow it
        response.close()
        raise _LostError(f"answered with a redirect ({response.status})")
    return response


class _Connector(aiohttp.TCPConnector):
    """Notes when a request has its connection. The library's tracing tells it too, with a value for every step."""

    async def connect(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> PooledConnection:
        connection = await super().connect(req, traces, timeout)
        _PROGRESS.get().is_connected = True
        return connection


class _Resolver(aiohttp.ThreadedResolver):
    """Told of names alone, and not of those that the connector still knows."""

    def __init__(self, on_resolve: Callable[[str, float], None] | None) -> None:
        super().__init__()
        self._on_resolve = on_resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        begun = time.perf_counter()
        try:
            return await super().resolve(host, port, family)
        finally:
            if self._on_resolve is not None:
                self._on_resolve(host, time.perf_counter() - begun)


def _open_session(most_connections: int, resolver: _Resolver) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=_Connector(limit=most_connections, keepalive_timeout=_KEEP_SECONDS, resolver=resolver),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        auto_decompress=False,
        middlewares=(_send_once,),
    )


@lru_cache(maxsize=256)
def _build_url(server: str, path: str, query: tuple[tuple[str, str], ...]) -> URL:
    """Kept, because whatever is created in a namespace goes to the same few of them."""
    return URL(build_address(server, path, query), encoded=True)


def _payload_of(body: bytes) -> io.BytesIO | None:
    """In pieces: the library hands bytes to the connection at once, which then holds all of them again."""
    return io.BytesIO(body) if body else None


async def _read_reply(response: ClientResponse, most: int) -> Reply:
    body = await (_read_bounded(response, most) if most else response.read())
    return Reply(response.status, body, response.headers.get("Retry-After", ""))


async def _read_bounded(response: ClientResponse, most: int) -> bytes:
    """Not more than so much is ever held; what is left of a longer answer goes with its connection."""
    parts: list[bytes] = []
    left = most
    async for part in response.content.iter_any():
        left -= len(part)
        if left < 0:
            response.close()
            raise _TooLongError(f"the answer has more than {most} bytes")
        parts.append(part)
    return b"".join(parts)


def _words_of(error: BaseException) -> str:
    """For people: the library's show its objects, and hide the system's words."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        return f"cannot connect to {error.host}:{error.port}: {words_of_system(error.os_error)}"
    return str(error) or type(error).__name__
