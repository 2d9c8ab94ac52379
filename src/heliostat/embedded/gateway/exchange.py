"""One request passed on to a back end, and its answer on the way back; both as they come, piece by piece.

Rules: a body that is framed stays as it is framed; an answer that ends with its connection is sent on in chunks, so
that the client's connection can go on; what breaks off breaks off for the other side too, and is never made to look
whole; a client that hangs up while it waits takes the back end's connection along. How long a body is and whom a
request is for is told to the other side in our own words, once, so that nobody can have it left out or told twice.
What a back end says beyond its answer is dropped with its connection. After ``101 Switching Protocols`` the bytes are
nobody else's.
"""

import asyncio
from collections.abc import Callable

from heliostat.embedded.gateway.wire import Wire
from heliostat.embedded.http1.bodies import (
    Body,
    ChunkedBody,
    FixedBody,
    NoBody,
    UntilEnd,
    encode_chunk,
    encode_last_chunk,
    response_body,
)
from heliostat.embedded.http1.heads import (
    MOST_HEAD,
    SWITCHED,
    Headers,
    LargeHeadError,
    NoHttpError,
    RequestHead,
    ResponseHead,
    asks_for_upgrade,
    build_request,
    build_response,
    find_head_end,
    keeps_connection,
    parse_response,
    passed_on,
)


class NoAnswerError(Exception):
    """The back end ended the connection before it said anything."""


class BadBodyError(Exception):
    """The client's body is not what it should be; the text says what is wrong with it."""


class Exchange:
    """To be used once. ``is_draining`` says whether the client's connection should not be used again."""

    def __init__(self, client: Wire, head: RequestHead, body: Body, is_draining: Callable[[], bool]) -> None:
        self.status = 0
        self.has_begun = False  # the client has seen something of the answer
        self.keeps_client = keeps_connection(head.minor, head.headers)
        self.keeps_upstream = False
        self.is_abandoned = False  # the client hung up before the end
        self._client = client
        self._head = head
        self._body = body
        self._is_draining = is_draining
        self._bad_body = ""

    async def run(self, upstream: Wire) -> None:
        """Raises NoAnswerError, BadBodyError, NoHttpError and OSError; whether the client has seen anything says
        ``has_begun``."""
        self._client.on_end = lambda: self._abandon(upstream)
        upstream.send(build_upstream_head(self._head, self._body, self._client.peer))
        sending = None if self._body.is_done else asyncio.create_task(self._send_body(upstream))
        try:
            await self._pass_back(upstream)
        except NoAnswerError:
            if self._bad_body:
                raise BadBodyError(self._bad_body) from None
            raise
        finally:
            self._client.on_end = None
            if sending is not None:
                if not self._body.is_done:  # an answer before the end of the request: neither side can go on from here
                    self.keeps_client = self.keeps_upstream = False
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)

    def _abandon(self, upstream: Wire) -> None:
        self.is_abandoned = True
        upstream.abort()

    async def _send_body(self, upstream: Wire) -> None:
        """A client that leaves in the middle takes the back end's connection along: half is not the whole."""
        while not self._body.is_done:
            data = await self._client.receive()
            if not data:
                upstream.abort()
                return
            try:
                _, rest = self._body.take(data)
            except NoHttpError as error:
                self._bad_body = str(error)
                upstream.abort()
                return
            self._client.give_back(rest)
            upstream.send(data[: len(data) - len(rest)] if rest else data)
            try:
                await upstream.drain()
            except ConnectionResetError:
                return  # it takes no more; what it answered says why

    async def _pass_back(self, upstream: Wire) -> None:
        head, begun = await self._read_head(upstream)
        self.status = head.status
        if head.status == SWITCHED:
            if not (self._body.is_done and _wanted_protocols(self._head)):
                raise NoHttpError("it switches protocols unasked")
            await self._switch(upstream, head, begun)
            return
        body = response_body(head, self._head.method)
        is_encoded = isinstance(body, UntilEnd) and self._head.minor >= 1
        if self._is_draining() or (isinstance(body, (UntilEnd, ChunkedBody)) and self._head.minor < 1):
            self.keeps_client = False
        self.has_begun = True
        answer = build_client_head(self._head, head, body, keeps=self.keeps_client)
        await self._pass_body(upstream, body, begun, answer, is_encoded=is_encoded)
        self.keeps_upstream = body.is_done and not isinstance(body, UntilEnd) and self._keeps(head)

    def _keeps(self, head: ResponseHead) -> bool:
        return self._body.is_done and keeps_connection(head.minor, head.headers)

    async def _read_head(self, upstream: Wire) -> tuple[ResponseHead, bytes]:
        data = b""
        while True:
            end = find_head_end(data) if data else -1
            if end >= 0:
                head, data = parse_response(data[:end]), data[end:]
                if head.status == SWITCHED or head.status >= 200:
                    return head, data
                await self._announce(head)
                continue
            if len(data) > MOST_HEAD:
                raise LargeHeadError("answer")
            more = await upstream.receive()
            if not more:
                raise NoHttpError("unexpected EOF") if data else NoAnswerError("it closed the connection")
            data = data + more if data else more

    async def _announce(self, head: ResponseHead) -> None:
        """``100 Continue`` and the like, which clients before HTTP/1.1 do not know. The answer is still to come."""
        if self._head.minor >= 1:
            self._client.send(build_response(head.status, head.reason, passed_on(head.headers)))
            await self._client.drain()

    async def _pass_body(self, upstream: Wire, body: Body, begun: bytes, answer: bytes, *, is_encoded: bool) -> None:
        """Head and first piece leave together."""
        data, is_plain = begun, isinstance(body, ChunkedBody) and self._head.minor < 1
        while True:
            if data:
                content, rest = body.take(data)
                if is_encoded:
                    content = encode_chunk(content)
                elif not is_plain:
                    content = data[: len(data) - len(rest)] if rest else data
                answer += content
                upstream.give_back(rest)  # a connection on which something waits is not used again
            if answer:
                self._client.send(answer)
                answer = b""
            if body.is_done:
                return
            await self._client.drain()
            data = await upstream.receive()
            if not data:
                if upstream.is_broken:
                    raise NoHttpError("unexpected EOF")
                body.end()
                if is_encoded:
                    self._client.send(encode_last_chunk())
                return

    async def _switch(self, upstream: Wire, head: ResponseHead, begun: bytes) -> None:
        self.keeps_client = False
        self.has_begun = True
        self._client.on_end = None  # an end of one direction is passed on
        headers = (("Connection", "Upgrade"), ("Upgrade", head.get("upgrade")), *passed_on(head.headers))
        self._client.send(build_response(head.status, head.reason, headers) + begun)
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(self._client, upstream))
            group.create_task(_copy(upstream, self._client))


async def _copy(source: Wire, sink: Wire) -> None:
    """An end of one side is passed on; a side that is lost takes the other along."""
    try:
        while data := await source.receive():
            sink.send(data)
            await sink.drain()
    except ConnectionResetError:
        source.abort()
        return
    if source.is_lost:
        sink.close()
    else:
        sink.end()


def build_upstream_head(head: RequestHead, body: Body, peer: str) -> bytes:
    known = head.get("x-forwarded-for")
    headers: Headers = (
        ("Host", head.get("host")),  # an empty one for a client of HTTP/1.0 that names none: HTTP/1.1 has one
        *passed_on(head.headers, _TOLD_BY_US),
        ("X-Forwarded-For", f"{known}, {peer}" if known else peer),
        ("X-Forwarded-Proto", "http"),
    )
    if isinstance(body, ChunkedBody):
        headers += (("Transfer-Encoding", "chunked"),)
    elif isinstance(body, FixedBody):
        headers += (("Content-Length", str(body.length)),)
    if protocols := _wanted_protocols(head):
        headers += (("Connection", "Upgrade"), ("Upgrade", protocols))
    return build_request(head.method, head.target, headers)


def _wanted_protocols(head: RequestHead) -> str:
    """Those that the client would rather speak; there is no such thing before HTTP/1.1."""
    return head.get("upgrade") if head.minor >= 1 and asks_for_upgrade(head.headers) else ""


_LENGTH = frozenset(("content-length",))
_TOLD_BY_US = _LENGTH | {"host", "x-forwarded-for", "x-forwarded-proto"}


def build_client_head(request: RequestHead, head: ResponseHead, body: Body, *, keeps: bool) -> bytes:
    headers = passed_on(head.headers, frozenset() if isinstance(body, NoBody) else _LENGTH)
    if isinstance(body, FixedBody):
        headers += (("Content-Length", str(body.length)),)
    elif isinstance(body, ChunkedBody) and request.minor >= 1:
        headers += (("Transfer-Encoding", head.get("transfer-encoding")),)
    elif isinstance(body, UntilEnd) and request.minor >= 1:
        headers += (("Transfer-Encoding", "chunked"),)
    if not keeps:
        headers += (("Connection", "close"),)
    elif request.minor < 1:
        headers += (("Connection", "keep-alive"),)
    return build_response(head.status, head.reason, headers)
