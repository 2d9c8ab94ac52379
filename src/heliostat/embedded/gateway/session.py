"""One client's connection: its requests, one after the other, each passed on to whoever should answer it.

Rules: a request that never reached a back end is sent to another one, whoever's turn it is by then; one that may have
reached it is sent again only if that changes nothing (an idempotent method without a body). Nothing is sent again once
the client has seen a part of an answer: then the connection breaks off, so that nobody takes a part for the whole. A
connection that drains answers what it has begun, says that it closes, and closes.
"""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from heliostat.embedded.gateway.exchange import BadBodyError, Exchange, NoAnswerError
from heliostat.embedded.gateway.routing import Asked, PortTable
from heliostat.embedded.gateway.switchboard import MOST_ATTEMPTS, NO_ROUTE, Chosen, Switchboard, address, read_asked
from heliostat.embedded.gateway.upstreams import Target
from heliostat.embedded.gateway.wire import Wire
from heliostat.embedded.http1.bodies import Body, request_body
from heliostat.embedded.http1.heads import (
    MOST_HEAD,
    Headers,
    LargeHeadError,
    NoHttpError,
    RequestHead,
    build_response,
    find_head_end,
    keeps_connection,
    parse_request,
)
from heliostat.kube.objects import Key

IDEMPOTENT = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"))
IDLE_SECONDS = 75.0
LINGER_SECONDS = 2.0
_BLANK = ord(" ")
_REASONS = {
    400: "Bad Request",
    404: "Not Found",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


class Spot:
    """What a listener leads to now. ``is_draining``: it is closed, and its connections are to end."""

    def __init__(self, table: PortTable) -> None:
        self.table = table
        self.is_draining = False


class Failed(Struct, frozen=True):
    """Nobody answered, and the client has seen nothing of it."""

    status: int
    problem: str
    may_be_repeated: bool = False


class Session:
    def __init__(self, client: Wire, spot: Spot, board: Switchboard, clock: Callable[[], float]) -> None:
        self._client = client
        self._spot = spot
        self._board = board
        self._clock = clock
        self._idle_since: float | None = clock()  # None: a request is being answered

    async def run(self) -> None:
        try:
            while await self._serve_one() and not self._spot.is_draining:
                self._idle_since = self._clock()
        except (NoHttpError, ConnectionError):
            self._client.abort()
        finally:
            self._client.close()

    def end_if_idle(self, now: float) -> None:
        """Asked from time to time, and when the listener closes. What has just come is a request, and is answered."""
        is_idle = self._idle_since is not None and self._client.is_quiet
        is_old = self._idle_since is not None and now - self._idle_since > IDLE_SECONDS
        if is_idle and (is_old or self._spot.is_draining):
            self._client.close()

    def abort(self) -> None:
        self._client.abort()

    async def _serve_one(self) -> bool:
        """Whether another request may follow."""
        try:
            read = await self._read_head()
            if read is None:
                return False
            head = address(read)
            body, asked = request_body(head), read_asked(head)
        except NoHttpError as error:
            status = 431 if isinstance(error, LargeHeadError) else 400
            await self._refuse(status, str(error), NO_ROUTE)
            return False
        began, self._idle_since = self._clock(), None
        chosen = self._board.choose(self._spot.table, asked)
        keeps = await self._forward(head, body, asked, chosen)
        self._board.telemetry.seconds.observe(self._clock() - began, *_labels(chosen.route))
        return keeps

    async def _read_head(self) -> RequestHead | None:
        data = b""
        while True:
            end = find_head_end(data)
            if end >= 0:
                self._client.give_back(data[end:])
                return parse_request(data[:end])
            if len(data) > MOST_HEAD:
                raise LargeHeadError("request")
            if data and data[0] <= _BLANK:  # as TLS begins: no end of a head would ever come
                raise NoHttpError(f"malformed HTTP request {data[:20]!r}")
            more = await self._client.receive()
            if not more:
                return None
            data = data + more if data else more.lstrip(b"\r\n")

    async def _forward(self, head: RequestHead, body: Body, asked: Asked, chosen: Chosen) -> bool:
        tried: list[Target] = []
        while chosen.target is not None:
            result = await self._try(chosen.target, head, body, chosen.route, is_first=not tried)
            if isinstance(result, bool):
                return result
            tried.append(chosen.target)
            if not result.may_be_repeated or len(tried) == MOST_ATTEMPTS:
                chosen = Chosen(chosen.route, None, result.status, result.problem)
                break
            self._board.telemetry.retries.inc(*_labels(chosen.route))
            chosen = self._board.choose(self._spot.table, asked, tried)
        return await self._answer_ourselves(head, body, chosen)

    async def _try(self, target: Target, head: RequestHead, body: Body, route: Key, *, is_first: bool) -> bool | Failed:
        """Whether another request may follow; or that nobody answered this one yet."""
        try:
            wire = await self._connect(target, may_be_rested=is_first)
        except TimeoutError:
            return Failed(503, f"{target[0]}:{target[1]}: no connection in time", may_be_repeated=True)
        except OSError as error:
            return Failed(503, f"{target[0]}:{target[1]}: {error.strerror or error}", may_be_repeated=True)
        exchange = Exchange(self._client, head, body, lambda: self._spot.is_draining)
        try:
            await exchange.run(wire)
        except (NoAnswerError, BadBodyError, NoHttpError, OSError) as error:
            if exchange.is_abandoned or exchange.has_begun:
                if not exchange.is_abandoned:
                    self._board.telemetry.broken.inc(*_labels(route))
                self._break_off(head)
                return False
            if isinstance(error, BadBodyError):
                return Failed(400, str(error))
            is_harmless = head.method in IDEMPOTENT and body.length == 0
            again = isinstance(error, NoAnswerError) and is_harmless
            return Failed(502, f"{target[0]}:{target[1]}: {error}", may_be_repeated=again)
        finally:
            self._board.upstreams.give_back(target, wire, is_usable=exchange.keeps_upstream)
        self._count(route, exchange.status)
        if not body.is_done:
            await self._linger()
        return exchange.keeps_client

    def _break_off(self, head: RequestHead) -> None:
        """For a client of HTTP/1.0 an answer may end with its connection, whatever it was framed by before."""
        if head.minor < 1:
            self._client.reset()
        else:
            self._client.abort()

    async def _connect(self, target: Target, *, may_be_rested: bool) -> Wire:
        rested = self._board.upstreams.take_rested(target) if may_be_rested else None
        return rested if rested is not None else await self._board.upstreams.connect(target)

    async def _answer_ourselves(self, head: RequestHead, body: Body, chosen: Chosen) -> bool:
        keeps = body.is_done and keeps_connection(head.minor, head.headers) and not self._spot.is_draining
        await self._refuse(chosen.status, chosen.problem, chosen.route, keeps=keeps, is_silent=head.method == "HEAD")
        return keeps

    async def _refuse(
        self, status: int, problem: str, route: Key, *, keeps: bool = False, is_silent: bool = False
    ) -> None:
        self._count(route, status)
        body = f"heliostat gateway: {problem}\n".encode()
        headers: Headers = (("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body))))
        if not keeps:
            headers += (("Connection", "close"),)
        self._client.send(build_response(status, _REASONS[status], headers) + (b"" if is_silent else body))
        if not keeps:
            await self._linger()

    async def _linger(self) -> None:
        """A client that still sends would lose the answer to a connection that is closed at once."""
        self._client.end()
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while await self._client.receive():
                    pass
        except TimeoutError:
            return

    def _count(self, route: Key, status: int) -> None:
        self._board.telemetry.requests.inc(*_labels(route), str(status))


def _labels(route: Key) -> tuple[str, str]:
    return route.namespace, route.name
