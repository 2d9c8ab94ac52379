"""Calls over HTTPS: one of the two files of the loop that know the HTTP library.

Rules: until a connection is there nothing can have been sent, and every failure is ``UnavailableError``; from then on
it is ``AmbiguousError``. Nothing is ever sent twice: the library's own resending of PUT and DELETE is stopped, because
a second sending would hide what became of the first. Redirects are not followed and cookies not kept. Requests and
streams have pools of their own, so that watches cannot starve requests. Streams have no read deadline; who watches has.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Self, TypeAlias
from urllib.parse import quote, urlencode

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
from aiohttp.abc import ResolveResult
from aiohttp.connector import Connection as PooledConnection
from aiohttp.tracing import Trace
from multidict import CIMultiDict
from yarl import URL

from heliostat.kube.hidden import Hidden
from heliostat.runtime.client_tls import build_tls
from heliostat.runtime.connection import Certificate, Connection, Proof
from heliostat.runtime.errors import AmbiguousError, ApiError, UnavailableError
from heliostat.runtime.server_address import split_proxy
from heliostat.runtime.transport import Call, Chunks, Reply

MOST_REQUESTS = 272  # connections: more than the limiter ever lets in, and some for what passes it by
NO_LIMIT = 0  # of streams: there are as many as caches, and none of them ends to let another in

_TlsParts: TypeAlias = tuple[Hidden | None, Certificate | None]  # authority, client certificate

_KEEP_SECONDS = 30.0  # unused; servers keep theirs for longer, so a request rarely meets one that is being closed
_PATH_SAFE = "/:@!$&'()*+,;=~"
_TURNS_TO_CLOSE = 5  # of the event loop, after which aborted TLS connections have closed their sockets


class HttpsTransport:
    """``on_resolve`` hears of every look-up of a name, and how long it took."""

    def __init__(
        self,
        connection: Connection,
        user_agent: str = "heliostat",
        most_requests: int = MOST_REQUESTS,
        on_resolve: Callable[[str, float], None] | None = None,
    ) -> None:
        self._connection = connection
        self._user_agent = user_agent
        resolver = _Resolver(on_resolve)
        self._requests = _open_session(most_requests, resolver)
        self._streams = _open_session(NO_LIMIT, resolver)
        # Apart from each other, because the library shows addresses in its errors.
        self._proxy: str | None = None
        self._proxy_login: Hidden | None = None
        if connection.proxy is not None:
            self._proxy, self._proxy_login = split_proxy(connection.proxy)
        self._open: set[_StreamChunks] = set()
        self._tls: ssl.SSLContext | None = None
        self._tls_parts: _TlsParts | None = None

    async def send(self, call: Call, seconds: float) -> Reply:
        progress = _Progress()
        try:
            async with asyncio.timeout(seconds):
                response = await self._begin(self._requests, call, progress)
                async with response:
                    return await _read(response)
        except TimeoutError:
            raise progress.error(call, f"no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise progress.error(call, _words_of(error)) from error

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        progress = _Progress()
        try:
            async with asyncio.timeout(seconds):
                response = await self._begin(self._streams, call, progress)
                if response.status == 200:
                    return _StreamChunks(response, call, self._open)
                async with response:
                    return await _read(response)
        except TimeoutError:
            raise UnavailableError(f"{call}: no answer within {seconds:.3g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{call}: {_words_of(error)}") from error

    async def close(self) -> None:
        """End every connection, those of open streams too."""
        for stream in tuple(self._open):
            await stream.aclose()
        await self._requests.close()
        await self._streams.close()
        await self._connection.credentials.close()
        for _ in range(_TURNS_TO_CLOSE):
            await asyncio.sleep(0)

    async def _begin(self, session: aiohttp.ClientSession, call: Call, progress: "_Progress") -> ClientResponse:
        proof = await self._connection.credentials.fetch()
        _PROGRESS.set(progress)
        response = await session.request(
            call.method,
            _build_url(self._connection.server, call.path, call.query),
            headers=self._build_headers(call, proof),
            data=call.body or None,
            ssl=self._build_tls(proof.certificate),
            server_hostname=self._connection.tls_server_name or None,
            proxy=self._proxy,
            proxy_headers={"Proxy-Authorization": self._proxy_login.reveal()} if self._proxy_login else None,
            allow_redirects=False,
        )
        if response.status == 401:
            self._connection.credentials.refused(proof)
        return response

    def _build_headers(self, call: Call, proof: Proof) -> CIMultiDict[str]:
        headers = CIMultiDict({"Accept": call.accept, "Accept-Encoding": "identity", "User-Agent": self._user_agent})
        if call.body:
            headers["Content-Type"] = call.content_type
        if proof.authorization is not None:
            headers["Authorization"] = proof.authorization.reveal()
        headers.extend(self._connection.impersonation)
        headers.extend(call.headers)
        return headers

    def _build_tls(self, certificate: Certificate | None) -> ssl.SSLContext:
        """A new context only when authority or certificate changed: connections are kept for each context."""
        authority = self._connection.authority
        parts = (authority.read() if authority else None, certificate)
        if self._tls is None or parts != self._tls_parts:
            skip = self._connection.skip_tls_verify
            self._tls = build_tls(self._connection.server, *parts, skip=skip)
            self._tls_parts = parts
        return self._tls


class _Progress:
    """How far one request has come."""

    is_connected = False

    def error(self, call: Call, problem: str) -> ApiError:
        return (AmbiguousError if self.is_connected else UnavailableError)(f"{call}: {problem}")


_PROGRESS: ContextVar[_Progress] = ContextVar("progress")  # of the request that this task is at


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


class _LostError(aiohttp.ClientError):
    """The connection ended while a request was on it. The library resends upon its own error, not upon ours."""


async def _send_once(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _LostError(_words_of(error)) from error


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
    shown = f"?{urlencode(query)}" if query else ""
    return URL(f"{server}{quote(path, safe=_PATH_SAFE)}{shown}", encoded=True)


async def _read(response: ClientResponse) -> Reply:
    return Reply(response.status, await response.read(), response.headers.get("Retry-After", ""))


def _words_of(error: BaseException) -> str:
    return str(error) or type(error).__name__
