"""A small HTTP server for probes and scrapes: /healthz, /livez, /readyz and /metrics, or some of them.

Rules: GET and HEAD only; a request is read within a time and a size, and only so many at once; every connection serves
one request. It is meant for an event loop of its own (``side_thread``), so that it answers, and turns red, while the
main loop is stuck. It shows no secrets, as there is no authentication, and listens on loopback unless told otherwise.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Self

from msgspec import Struct

from heliostat.runtime.health import Health, HealthReport
from heliostat.runtime.metrics import CONTENT_TYPE, Registry

PROBES: Final = ("/healthz", "/livez", "/readyz")
METRICS: Final = ("/metrics",)

_PLAIN: Final = "text/plain; charset=utf-8"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
}
_LARGEST_REQUEST = 8192
_MOST_CONNECTIONS = 64
_EXCHANGE_SECONDS = 5.0


class HealthServerError(Exception):
    """It cannot listen."""


class Served(Struct, frozen=True):
    """Which pages are served where, under a name for people."""

    name: str = "health"
    host: str = "127.0.0.1"  # empty: every interface
    port: int = 0  # 0: any free one
    pages: tuple[str, ...] = (*PROBES, *METRICS)

    def url(self, port: int) -> str:
        host = self.host or "0.0.0.0"  # noqa: S104  shown, not listened on
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Answer(Struct, frozen=True):
    status: int
    body: str
    content_type: str = _PLAIN


class HealthServer:
    """``async with HealthServer(...) as server: server.port``."""

    def __init__(self, health: Health, registry: Registry, served: Served = Served()) -> None:  # noqa: B008  frozen
        self._health = health
        self._registry = registry
        self._served = served
        self.port = served.port
        self._open = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def start(self) -> None:
        try:
            host = self._served.host or None
            self._server = await asyncio.start_server(self._serve, host, self.port, limit=_LARGEST_REQUEST)
        except OSError as error:
            where = f"{self._served.name} on {self._served.host}:{self.port}"
            raise HealthServerError(
                f"cannot serve {where}: {error.strerror or error}; choose another address"
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._open += 1
        try:
            async with asyncio.timeout(_EXCHANGE_SECONDS):
                await self._exchange(reader, writer)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            writer.transport.abort()  # a client that says nothing gets nothing
        finally:
            self._open -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            answer, with_body = Answer(431, "the request is too large\n"), True
        else:
            answer, with_body = self._answer_safely(head)
        writer.write(_render(answer, with_body=with_body))

    def _answer_safely(self, head: bytes) -> tuple[Answer, bool]:
        try:
            return self._answer(head)
        except Exception as error:  # noqa: BLE001  a metric that cannot be read must not end the server
            return Answer(500, f"this page failed: {type(error).__name__}: {error}\n"), True

    def _answer(self, head: bytes) -> tuple[Answer, bool]:
        line = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(line) != 3 or not line[2].startswith("HTTP/1."):
            return Answer(400, "this is not an HTTP/1 request\n"), True
        method, target, _version = line
        if method not in ("GET", "HEAD"):
            return Answer(405, "only GET and HEAD\n"), True
        return self._find(target), method == "GET"

    def _find(self, target: str) -> Answer:
        path, _, query = target.partition("?")
        page = self._pages().get(path)
        if page is None:
            return Answer(404, f"there are only {', '.join(self._pages())}\n")
        is_verbose = any(part.split("=")[0] == "verbose" for part in query.split("&"))
        return page(is_verbose)

    def _pages(self) -> dict[str, Callable[[bool], Answer]]:
        pages: dict[str, Callable[[bool], Answer]] = {
            "/healthz": lambda verbose: _judge(self._health.livez("healthz"), is_verbose=verbose),
            "/livez": lambda verbose: _judge(self._health.livez(), is_verbose=verbose),
            "/readyz": lambda verbose: _judge(self._health.readyz(), is_verbose=verbose),
            "/metrics": lambda _verbose: Answer(200, self._registry.render(), CONTENT_TYPE),
        }
        return {path: page for path, page in pages.items() if path in self._served.pages}


def _judge(verdict: HealthReport, *, is_verbose: bool) -> Answer:
    if verdict.is_well and not is_verbose:
        return Answer(200, "ok")
    return Answer(200 if verdict.is_well else 500, verdict.render())


def _render(answer: Answer, *, with_body: bool) -> bytes:
    body = answer.body.encode()
    head = [
        f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(body)}",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-cache, private",
        "Connection: close",
    ]
    if answer.status == 405:
        head.append("Allow: GET, HEAD")
    return "\r\n".join([*head, "", ""]).encode("latin-1") + (body if with_body else b"")
