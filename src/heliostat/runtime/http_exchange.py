"""One connection that carries plain HTTP/1.1 exchanges, one after the other: a request as bytes, and its answer, whole
or as a stream.

Rules: an answer is complete or it is none; how long it is must be said in one way only, and what cannot be understood
ends the connection; a connection is used again only after an answer that leaves no doubt about where it ended. Nothing
here knows addresses, credentials or what may be sent twice.
"""

import asyncio
import re
from collections.abc import Callable
from typing import cast

from heliostat.runtime.transport import Reply

MOST_HEAD = 64 * 1024
MOST_UNREAD = 256 * 1024  # bytes of a stream
_MOST_LINE = 1024  # of what says how long a chunk is
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;|$)")


class OddAnswerError(Exception):
    """No answer of HTTP/1.1, or not one that can be relied upon."""


class HttpExchange(asyncio.Protocol):
    """It is idle between an answer that leaves the connection open and the next request."""

    def __init__(self, lost: Callable[["HttpExchange"], None]) -> None:
        self.is_idle = False
        self.idle_since = 0.0
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Reply | BodyStream] | None = None
        self._reader: AnswerReader | None = None
        self._stream: BodyStream | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own are of no common class

    async def ask(
        self, request: bytes, *, most_bytes: int = 0, has_body: bool = True, deadline: float | None = None
    ) -> Reply:
        """``has_body``: an answer to HEAD has none, whatever it says. Raises ConnectionResetError for one that ends
        before its answer, TimeoutError for one that comes too late, OddAnswerError for one of another shape."""
        reply = await self._begin(request, AnswerReader(most_bytes, has_body=has_body), deadline)
        return cast("Reply", reply)  # who does not ask for a stream gets none

    async def open(self, request: bytes, *, most_bytes: int = 0, deadline: float | None = None) -> "Reply | BodyStream":
        """Of an answer of status 200 the body as it comes, however long; any other one whole."""
        return await self._begin(request, AnswerReader(most_bytes, is_streamed=True), deadline)

    async def _begin(self, request: bytes, reader: "AnswerReader", deadline: float | None) -> "Reply | BodyStream":
        if self._transport is None:
            raise ConnectionResetError("the connection was closed")
        loop = asyncio.get_running_loop()
        self.is_idle, self._reader = False, reader
        answer: asyncio.Future[Reply | BodyStream] = loop.create_future()
        self._answer = answer
        self._transport.write(request)
        alarm = loop.call_at(deadline, _be_late, answer) if deadline is not None else None
        try:
            found = await answer
        except BaseException:  # cancelled, too: nobody else knows that something is under way on this connection
            self.end()
            raise
        finally:
            if alarm is not None:
                alarm.cancel()
        if self._stream is None:
            self._reader = None
            if not self.is_idle:
                self.end()
        return found

    def data_received(self, data: bytes) -> None:
        answer, reader, stream = self._answer, self._reader, self._stream
        if answer is None or reader is None or (answer.done() and stream is None):  # nobody asked, or not any more
            self._end_soon()
            return
        reply: Reply | None = None
        odd: OddAnswerError | None = None
        try:
            reply = reader.feed(data)
        except OddAnswerError as error:
            odd = error
        if reader.is_stream:
            self._pass_on(reader)
        if odd is not None:
            self._fail(odd)
        elif reply is not None:
            self._complete(answer, reader, reply)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_idle, self._transport = False, None
        self._lost(self)
        reply = self._reader.finish() if self._reader is not None and exc is None else None
        if reply is None:
            self._fail(ConnectionResetError(str(exc) if exc else "the connection was closed"))
        elif self._stream is not None:
            self._stream.finish(None)
            self._stream = self._reader = None
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result(reply)

    def hold_up(self, *, is_held: bool) -> None:
        """Nothing is read from it while it is held up; then the other side stops, too."""
        if self._transport is None or self._transport.is_closing():
            return
        if is_held:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def end(self) -> None:
        """At once: a goodbye over TLS would keep the socket open for as long as the server takes to answer it."""
        self.is_idle = False
        if self._transport is not None:
            self._transport.abort()

    def _end_soon(self) -> None:
        self.is_idle = False
        asyncio.get_running_loop().call_soon(self.end)  # uvloop's TLS does not bear an end in the middle of a read

    def _pass_on(self, reader: "AnswerReader") -> None:
        """What has come of a stream's body."""
        if self._stream is None:
            self._stream = BodyStream(self)
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(self._stream)
        self._stream.put(reader.take())

    def _complete(self, answer: "asyncio.Future[Reply | BodyStream]", reader: "AnswerReader", reply: Reply) -> None:
        self.is_idle = reader.leaves_open
        if self._stream is None:
            answer.set_result(reply)  # who asked ends a connection that is not left open
            return
        self._stream.finish(None)
        self._stream = self._reader = None
        if not self.is_idle:
            self._end_soon()

    def _fail(self, error: Exception) -> None:
        if self._stream is not None:
            self._stream.finish(error)  # who reads ends the connection
            self._stream = self._reader = None
        elif self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)  # who asked ends the connection


class BodyStream:
    """The body of one answer as it comes. Who reads slowly holds up the connection, and so the server."""

    def __init__(self, exchange: HttpExchange) -> None:
        self._exchange = exchange
        self._unread: list[bytes] = []
        self._size = 0
        self._is_held = False
        self._is_over = False
        self._error: Exception | None = None
        self._news: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        """All that has come since; nothing: it is over. Raises what broke it off, after what came before that."""
        while not self._unread and not self._is_over:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        if self._unread:
            return self._take()
        if self._error is not None:
            raise self._error
        return b""

    def put(self, data: bytes) -> None:
        if not data:
            return
        self._unread.append(data)
        self._size += len(data)
        if self._size > MOST_UNREAD and not self._is_held:
            self._hold_up(is_held=True)
        self._wake()

    def finish(self, error: Exception | None) -> None:
        self._is_over, self._error = True, error
        if self._is_held:  # nothing more comes, and an end of the connection is to be seen
            self._hold_up(is_held=False)
        self._wake()

    def abandon(self) -> None:
        """Nobody reads it any more."""
        self._exchange.end()

    def _take(self) -> bytes:
        data = self._unread[0] if len(self._unread) == 1 else b"".join(self._unread)
        self._unread, self._size = [], 0
        if self._is_held:
            self._hold_up(is_held=False)
        return data

    def _hold_up(self, *, is_held: bool) -> None:
        self._is_held = is_held
        self._exchange.hold_up(is_held=is_held)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


def _be_late(answer: "asyncio.Future[Reply | BodyStream]") -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())


class AnswerReader:
    """The bytes of one answer as they come. ``most_bytes``: of its body; 0: as long as it likes.

    ``is_streamed``: if its status is 200, its body is taken as it comes, and has no bound.
    """

    def __init__(self, most_bytes: int = 0, *, has_body: bool = True, is_streamed: bool = False) -> None:
        self.leaves_open = False
        self.is_stream = False  # it has a head, and a body that is to be taken as it comes
        self._is_streamed = is_streamed
        self._most = most_bytes
        self._has_body = has_body
        self._rest = b""  # what is not understood yet
        self._head: tuple[int, str] | None = None  # status, Retry-After
        self._parts: list[bytes] = []
        self._read = 0
        self._left = 0  # of the body, or of its chunk
        self._take: Callable[[bytes], bool] = self._take_sized

    def feed(self, data: bytes) -> Reply | None:
        """None: it is not complete."""
        if self._head is None:
            found = self._read_head(self._rest + data if self._rest else data)
            if found is None:
                return None
            data = found
        return self._build() if self._take(data) else None

    def finish(self) -> Reply | None:
        """The server has closed the connection: the end of an answer that says no length."""
        return self._build() if self._head is not None and self._take == self._take_all else None

    def take(self) -> bytes:
        """What of the body has come since."""
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _build(self) -> Reply:
        status, retry = self._head or (0, "")
        return Reply(status, self._parts[0] if len(self._parts) == 1 else b"".join(self._parts), retry)

    def _read_head(self, data: bytes) -> bytes | None:
        """What comes after it; None: it is not complete."""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if len(data) > MOST_HEAD:
                raise OddAnswerError("an answer without an end to its head")
            self._rest = data
            return None
        self._rest = b""
        head, after = data[: end + 2], data[end + 4 :]
        low, code = head.lower(), head[9:12]
        if not low.startswith((b"http/1.1 ", b"http/1.0 ")) or not code.isdigit() or head[12:13] not in (b" ", b"\r"):
            raise OddAnswerError(f"no answer of HTTP: {head[:40]!r}")
        status = int(code)
        if 100 <= status < 200 and status != 101:  # the answer follows
            return self._read_head(after) if after else None
        if not 200 <= status <= 599:
            raise OddAnswerError(f"an answer with the status {status}")
        if self._is_streamed and status == 200:
            self.is_stream, self._most = True, 0
        self._measure(status, low)
        self._head = status, find_header(head, low, b"\r\nretry-after:").decode("latin-1")
        return after

    def _measure(self, status: int, low: bytes) -> None:
        """How long its body is, and whether the connection can be used again."""
        coding, length = find_header(low, low, b"\r\ntransfer-encoding:"), _read_length(low)
        self.leaves_open = low[7:8] == b"1" and b"close" not in find_header(low, low, b"\r\nconnection:")
        if coding and (coding != b"chunked" or length is not None):
            raise OddAnswerError("an answer that says its length in two ways")
        if not self._has_body or status in (204, 304):
            return
        if coding:
            self._left = -1
            self._take = self._take_chunks
        elif length is not None:
            self._check_size(length)
            self._left = length
        else:
            self.leaves_open, self._take = False, self._take_all

    def _take_sized(self, data: bytes) -> bool:
        if len(data) > self._left:
            raise OddAnswerError("more than one answer")
        if data:
            self._parts.append(data)
            self._left -= len(data)
        return not self._left

    def _take_all(self, data: bytes) -> bool:
        self._check_size(self._read + len(data))
        self._read += len(data)
        self._parts.append(data)
        return False

    def _take_chunks(self, data: bytes) -> bool:
        """``_left`` is what is missing of a chunk; 0: the line end after it; -1: the line that says how much comes."""
        data, at = self._rest + data if self._rest else data, 0
        while at < len(data):
            if self._left > 0:
                piece = data[at : at + self._left]
                self._parts.append(piece)
                self._left -= len(piece)
                at += len(piece)
            elif self._left == 0:
                if len(data) - at < 2:
                    break
                if data[at : at + 2] != b"\r\n":
                    raise OddAnswerError("a chunk of another length than it says")
                self._left, at = -1, at + 2
            else:
                end = data.find(b"\r\n", at, at + _MOST_LINE)
                if end < 0:
                    if len(data) - at >= _MOST_LINE:
                        raise OddAnswerError("a chunk without a size")
                    break
                self._left = _read_size(data[at:end])
                if not self._left:
                    return self._end_chunks(data[end:])
                self._check_size(self._read + self._left)
                self._read += self._left
                at = end + 2
        self._rest = data[at:]
        return False

    def _end_chunks(self, after: bytes) -> bool:
        """Trailers tell nothing that is asked for. ``after`` begins with the end of the last size's line."""
        end = after.find(b"\r\n\r\n")
        if end < 0:
            if len(after) > MOST_HEAD:
                raise OddAnswerError("trailers without an end")
            self._left, self._rest = -1, b"0" + after
            return False
        if len(after) > end + 4:
            raise OddAnswerError("more than one answer")
        return True

    def _check_size(self, size: int) -> None:
        if 0 < self._most < size:
            raise OddAnswerError(f"the answer has more than {self._most} bytes")


def _read_length(low: bytes) -> int | None:
    text = find_header(low, low, b"\r\ncontent-length:")
    if not text:
        return None
    if not text.isdigit() or low.count(b"\r\ncontent-length:") != 1:
        raise OddAnswerError("a length that is no number")
    return int(text)


def _read_size(line: bytes) -> int:
    found = _SIZE.match(line)
    if found is None:
        raise OddAnswerError("a chunk without a size")
    return int(found[1], 16)


def find_header(head: bytes, low: bytes, name: bytes) -> bytes:
    """``low`` is ``head`` in small letters; ``name`` has the line end before it and the colon after it."""
    at = low.find(name)
    return b"" if at < 0 else head[at + len(name) : head.index(b"\r\n", at + len(name))].strip()
