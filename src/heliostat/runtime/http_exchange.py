"""One connection that carries plain HTTP/1.1 exchanges, one after the other: a request as bytes, its whole answer.

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
        self._answer: asyncio.Future[Reply] | None = None
        self._reader: AnswerReader | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own are of no common class

    async def ask(
        self, request: bytes, *, most_bytes: int = 0, has_body: bool = True, deadline: float | None = None
    ) -> Reply:
        """``has_body``: an answer to HEAD has none, whatever it says. Raises ConnectionResetError for one that ends
        before its answer, TimeoutError for one that comes too late, OddAnswerError for one of another shape."""
        if self._transport is None:
            raise ConnectionResetError("the connection was closed")
        loop = asyncio.get_running_loop()
        self.is_idle, self._reader = False, AnswerReader(most_bytes, has_body=has_body)
        answer: asyncio.Future[Reply] = loop.create_future()
        self._answer = answer
        self._transport.write(request)
        alarm = loop.call_at(deadline, _be_late, answer) if deadline is not None else None
        try:
            return await answer
        finally:
            if alarm is not None:
                alarm.cancel()
            self._reader = None
            if not self.is_idle:
                self.end()

    def data_received(self, data: bytes) -> None:
        answer, reader = self._answer, self._reader
        if answer is None or reader is None or answer.done():  # nobody asked, or not any more
            self.is_idle = False
            asyncio.get_running_loop().call_soon(self.end)  # uvloop's TLS does not bear an end in the middle of a read
            return
        try:
            reply = reader.feed(data)
        except OddAnswerError as error:
            answer.set_exception(error)  # who asked ends the connection
            return
        if reply is not None:
            self.is_idle = reader.leaves_open
            answer.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_idle, self._transport = False, None
        self._lost(self)
        if self._answer is None or self._answer.done():
            return
        reply = self._reader.finish() if self._reader is not None and exc is None else None
        if reply is not None:
            self._answer.set_result(reply)
        else:
            self._answer.set_exception(ConnectionResetError(str(exc) if exc else "the connection was closed"))

    def end(self) -> None:
        """At once: a goodbye over TLS would keep the socket open for as long as the server takes to answer it."""
        self.is_idle = False
        if self._transport is not None:
            self._transport.abort()


def _be_late(answer: "asyncio.Future[Reply]") -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())


class AnswerReader:
    """The bytes of one answer as they come. ``most_bytes``: of its body; 0: as long as it likes."""

    def __init__(self, most_bytes: int = 0, *, has_body: bool = True) -> None:
        self.leaves_open = False
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
