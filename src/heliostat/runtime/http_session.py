"""Sessions of the HTTP library as the loop needs them: how far a request came, nothing sent twice, answers bounded.

One of the files of the loop that know the HTTP library. ``https_transport.py`` speaks to an API server, or to Ray, over
a session made here.
"""

import io
import os
import socket
import ssl
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
from aiohttp.abc import ResolveResult
from aiohttp.connector import Connection as PooledConnection
from aiohttp.tracing import Trace
from yarl import URL

from heliostat.runtime.errors import AmbiguousError, ApiError, UnavailableError
from heliostat.runtime.http_requests import build_address
from heliostat.runtime.transport import Call, Reply

_KEEP_SECONDS = 30.0  # unused; servers keep theirs for longer, so a request rarely meets one that is being closed
SENT_AT_ONCE = 1024 * 1024  # bytes of a body


class Progress:
    """How far one request has come."""

    is_connected = False

    def error(self, call: Call, problem: str) -> ApiError:
        return (AmbiguousError if self.is_connected else UnavailableError)(f"{call}: {problem}")


PROGRESS: ContextVar[Progress] = ContextVar("progress")  # of the request that this task is at


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
        raise _LostError(words_of(error)) from error
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
        PROGRESS.get().is_connected = True
        return connection


class Resolver(aiohttp.ThreadedResolver):
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


def open_session(most_connections: int, resolver: Resolver) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=_Connector(limit=most_connections, keepalive_timeout=_KEEP_SECONDS, resolver=resolver),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        auto_decompress=False,
        middlewares=(_send_once,),
    )


@lru_cache(maxsize=256)
def build_url(server: str, path: str, query: tuple[tuple[str, str], ...]) -> URL:
    """Kept, because whatever is created in a namespace goes to the same few of them."""
    return URL(build_address(server, path, query), encoded=True)


def payload_of(body: bytes) -> bytes | io.BytesIO | None:
    """A large one in pieces: the library hands bytes to the connection at once, which then holds all of them again."""
    return io.BytesIO(body) if len(body) > SENT_AT_ONCE else body or None


async def read_reply(response: ClientResponse, most: int) -> Reply:
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


def words_of(error: BaseException) -> str:
    """For people: the library's show its objects, and hide the system's words."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        return f"cannot connect to {error.host}:{error.port}: {words_of_system(error.os_error)}"
    return str(error) or type(error).__name__


def words_of_system(error: OSError) -> str:
    """An error of TLS has words of its own, and a number that is not the system's."""
    number = 0 if isinstance(error, ssl.SSLError) else error.errno or 0
    why = os.strerror(number) if number > 0 else str(error) if isinstance(error, ssl.SSLError) else error.strerror
    return why or str(error) or type(error).__name__
