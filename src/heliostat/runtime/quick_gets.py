"""Plain GETs over kept connections, for what is asked again and again: a dashboard, every two seconds, of each cluster.

The HTTP library spends most of a small request on what such a one does not need (docs/decisions/0016). Here is the
narrow way: one request at a time on a connection, an answer with a Content-Length. Whatever is not that (another
method, an answer in chunks, a header that cannot be written as it is) goes over the transport behind. A GET changes
nothing, so one that meets a connection which the server was about to close is sent once more.
"""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Callable
from functools import lru_cache
from typing import cast
from urllib.parse import urlencode

from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.transport import Call, Chunks, MessageTransport, Reply, Transport

KEPT = 16  # connections to one server that wait for the next request
KEPT_SECONDS = 30.0  # so long they wait
_MOST_HEAD = 32 * 1024
_PLAIN_PATH = re.compile(r"//([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:]+\]):(\d+)(/[A-Za-z0-9/_.\-:]*)")
_PLAIN_HEADER = re.compile(r"[\x20-\x7e]*")
_ENDLESS = (b"\r\ntransfer-encoding:", b"\r\ncontent-encoding:")


class _OddError(Exception):
    """Not for this narrow way."""


class QuickGets:
    """A transport; ``behind`` has the same manners and does everything else."""

    def __init__(self, behind: Transport, user_agent: str) -> None:
        self._behind = behind
        self._user_agent = user_agent
        self._idle: dict[tuple[str, int], list[_Exchange]] = {}
        self._swept = 0.0

    async def send(self, call: Call, seconds: float) -> Reply:
        found = _PLAIN_PATH.fullmatch(call.path) if call.method == "GET" and not call.body else None
        if found is None or not all(_PLAIN_HEADER.fullmatch(text) for pair in call.headers for text in pair):
            return await self._behind.send(call, seconds)
        request = _write(found[1] + ":" + found[2], found[3], call.query, call.accept, self._user_agent)
        if call.headers:  # a token among them is kept nowhere
            more = "".join(f"{name}: {value}\r\n" for name, value in call.headers)
            request = request[:-2] + more.encode() + b"\r\n"
        try:
            return await self._ask(call, (found[1].strip("[]"), int(found[2])), request, seconds)
        except _OddError:
            return await self._behind.send(call, seconds)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self._behind.open(call, seconds)

    async def listen(self, call: Call, seconds: float) -> Reply | AsyncGenerator[str, None]:
        if not isinstance(self._behind, MessageTransport):
            raise UnavailableError(f"{call}: this transport reads no messages")
        return await self._behind.listen(call, seconds)

    async def close(self) -> None:
        for kept in self._idle.values():
            for exchange in kept:
                exchange.end()
        self._idle.clear()
        await self._behind.close()

    async def _ask(self, call: Call, place: tuple[str, int], request: bytes, seconds: float) -> Reply:
        exchange: _Exchange | None = None
        try:
            async with asyncio.timeout(seconds):
                while (kept := self._take(place)) is not None:
                    exchange = kept
                    try:
                        return self._keep(place, kept, await kept.ask(request, call.most_bytes))
                    except ConnectionError:
                        continue  # it was about to be closed
                exchange = await self._connect(place)
                return self._keep(place, exchange, await exchange.ask(request, call.most_bytes))
        except TimeoutError:
            error = UnavailableError if exchange is None else AmbiguousError
            raise error(f"{call}: no answer within {seconds:.3g} s") from None
        except ConnectionResetError as error:
            raise AmbiguousError(f"{call}: {error}") from error
        except OSError as error:
            words = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise UnavailableError(f"{call}: cannot connect to {place[0]}:{place[1]}: {words}") from error
        finally:
            if exchange is not None and not exchange.is_idle:
                exchange.end()

    def _take(self, place: tuple[str, int]) -> "_Exchange | None":
        kept = self._idle.get(place)
        while kept:
            exchange = kept.pop()
            if not kept:
                del self._idle[place]
            if exchange.is_idle:
                return exchange
        return None

    def _keep(self, place: tuple[str, int], exchange: "_Exchange", reply: Reply) -> Reply:
        now = exchange.idle_since = asyncio.get_running_loop().time()
        if exchange.is_idle:
            kept = self._idle.setdefault(place, [])
            kept.append(exchange)
            if len(kept) > KEPT:
                kept.pop(0).end()
        if now > self._swept + KEPT_SECONDS:
            self._sweep(now)
        return reply

    def _sweep(self, now: float) -> None:
        """A server that is gone may never have said so."""
        self._swept = now
        for kept in list(self._idle.values()):
            for exchange in list(kept):
                if now > exchange.idle_since + KEPT_SECONDS:
                    exchange.end()

    async def _connect(self, place: tuple[str, int]) -> "_Exchange":
        _transport, exchange = await asyncio.get_running_loop().create_connection(
            lambda: _Exchange(lambda lost: self._lost(place, lost)), *place
        )
        return exchange

    def _lost(self, place: tuple[str, int], exchange: "_Exchange") -> None:
        kept = self._idle.get(place, [])
        if exchange in kept:
            kept.remove(exchange)
            if not kept:
                del self._idle[place]


@lru_cache(maxsize=4096)
def _write(host: str, path: str, query: tuple[tuple[str, str], ...], accept: str, user_agent: str) -> bytes:
    asked = f"?{urlencode(query)}" if query else ""
    lines = [f"GET {path}{asked} HTTP/1.1", f"Host: {host}", f"Accept: {accept}", "Accept-Encoding: identity"]
    return "\r\n".join([*lines, f"User-Agent: {user_agent}", "", ""]).encode()


class _Exchange(asyncio.Protocol):
    """One connection. It is idle between an answer that leaves it open and the next request."""

    def __init__(self, lost: "Callable[[_Exchange], None]") -> None:
        self.is_idle = False
        self.idle_since = 0.0
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self._buffer = b""
        self._most = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own are of no common class

    async def ask(self, request: bytes, most_bytes: int) -> Reply:
        """Raises ConnectionResetError for one that ends before its answer."""
        if self._transport is None:
            raise ConnectionResetError("the connection was closed")
        self.is_idle, self._buffer, self._most = False, b"", most_bytes
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None or answer.done():
            self.end()  # nobody asked
            return
        self._buffer = self._buffer + data if self._buffer else data
        try:
            found = read_answer(self._buffer, self._most)
        except _OddError as error:
            answer.set_exception(error)
            self.end()
            return
        if found is not None:
            reply, self.is_idle = found
            answer.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_idle, self._transport = False, None
        self._lost(self)
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError(str(exc) if exc else "the connection was closed"))

    def end(self) -> None:
        self.is_idle = False
        if self._transport is not None:
            self._transport.abort()


def read_answer(data: bytes, most_bytes: int) -> tuple[Reply, bool] | None:
    """The answer and whether another may follow; None: it is not complete. Raises for one of another shape."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > _MOST_HEAD:
            raise _OddError
        return None
    head = data[: end + 2]
    low = head.lower()
    length = _read_length(low)
    if not low.startswith(b"http/1.1 ") or any(sign in low for sign in _ENDLESS) or 0 < most_bytes < length:
        raise _OddError
    missing = end + 4 + length - len(data)
    if missing > 0:
        return None
    status = int(head[9:12]) if head[9:12].isdigit() else 0
    if missing < 0 or not 200 <= status <= 599:
        raise _OddError
    retry = _find(head, low, b"\r\nretry-after:").decode("latin-1")
    return Reply(status, data[end + 4 :], retry), _find(low, low, b"\r\nconnection:") != b"close"


def _read_length(low: bytes) -> int:
    text = _find(low, low, b"\r\ncontent-length:")
    if not text.isdigit() or low.count(b"\r\ncontent-length:") != 1:
        raise _OddError
    return int(text)


def _find(head: bytes, low: bytes, name: bytes) -> bytes:
    at = low.find(name)
    return b"" if at < 0 else head[at + len(name) : head.index(b"\r\n", at + len(name))].strip()
