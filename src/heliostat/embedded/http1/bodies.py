"""Where a body ends: after so many bytes, after its last chunk, or with the connection (RFC 9112, section 6).

A reader is fed with what came and tells what of it is content and what already belongs to the next message; whoever
passes a body on as it is takes the bytes before that rest. Rules: a request with two lengths, or with a coding besides
chunked, is refused, and so are lines of its chunks that end with a line feed alone, which the next reader may read on
past; a body that breaks off is never taken for a whole one.
"""

import re
from typing import TypeAlias

from heliostat.embedded.http1.heads import NoHttpError, RequestHead, ResponseHead

_MOST_LINE = 4096
_MOST_TRAILER = 64 * 1024
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_WITHOUT_BODY = frozenset((204, 304))
_LAST_CHUNK = b"0\r\n\r\n"


class NoBody:
    is_done = True
    length: int | None = 0

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        return b"", data

    def end(self) -> None:
        return


class FixedBody:
    def __init__(self, length: int) -> None:
        self.length: int | None = length
        self._left = length

    @property
    def is_done(self) -> bool:
        return not self._left

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Content, and what belongs to the next message."""
        if len(data) <= self._left:
            self._left -= len(data)
            return data, b""
        content, rest = data[: self._left], data[self._left :]
        self._left = 0
        return content, rest

    def end(self) -> None:
        """The connection is over. Raises NoHttpError when the body is not."""
        if self._left:
            raise NoHttpError("unexpected EOF")


class UntilEnd:
    length: int | None = None
    is_done = False

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        return data, b""

    def end(self) -> None:
        self.is_done = True


class ChunkedBody:
    """``take`` keeps what is incomplete, so what it was fed with is either content, framing or the rest.

    ``is_strict``: lines end as they should.
    """

    length: int | None = None

    def __init__(self, *, is_strict: bool = False) -> None:
        self.is_done = False
        self._is_strict = is_strict
        self._kept = b""  # an incomplete line
        self._left = 0  # of the chunk at hand
        self._is_after_chunk = False
        self._trailer = -1  # bytes of it; -1: not there yet

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        data, self._kept = self._kept + data if self._kept else data, b""
        content: list[bytes] = []
        at = 0  # a place, not a shorter copy each time: there may be very many chunks
        while at < len(data) and not self.is_done:
            at = self._step(data, at, content)
        return (content[0] if len(content) == 1 else b"".join(content)), data[at:]

    def end(self) -> None:
        if not self.is_done:
            raise NoHttpError("unexpected EOF")

    def _step(self, data: bytes, at: int, content: list[bytes]) -> int:
        """The place up to which it is read."""
        if self._left:
            content.append(data[at : at + self._left])
            self._left -= len(content[-1])
            self._is_after_chunk = not self._left
            return at + len(content[-1])
        end = data.find(b"\n", at) + 1
        if not end:
            self._keep(data[at:])
            return len(data)
        self._read_line(data[at:end])
        return end

    def _keep(self, data: bytes) -> None:
        if len(data) > _MOST_LINE:
            raise NoHttpError(f"a line of more than {_MOST_LINE} bytes")
        self._kept = data

    def _read_line(self, line: bytes) -> None:
        if self._is_strict and (not line.endswith(b"\r\n") or line.count(b"\r") > 1):
            raise NoHttpError(f"a line of chunks that does not end as it should: {line[:100]!r}")
        is_empty = line in (b"\r\n", b"\n")
        if self._trailer >= 0:
            self._trailer += len(line)
            if self._trailer > _MOST_TRAILER:
                raise NoHttpError(f"a trailer of more than {_MOST_TRAILER} bytes")
            self.is_done = is_empty
        elif self._is_after_chunk:
            if not is_empty:
                raise NoHttpError(f"a chunk that does not end where it says: {line[:100]!r}")
            self._is_after_chunk = False
        else:
            self._begin_chunk(line)

    def _begin_chunk(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line)
        if size is None:
            raise NoHttpError(f"the size of a chunk that is none: {line[:100]!r}")
        self._left = int(size[1], 16)
        if not self._left:
            self._trailer = 0


Body: TypeAlias = NoBody | FixedBody | ChunkedBody | UntilEnd


def request_body(head: RequestHead) -> Body:
    """Raises NoHttpError."""
    names = {name.lower() for name, _ in head.headers}
    if "transfer-encoding" in names:
        if "content-length" in names:
            raise NoHttpError("both Transfer-Encoding and Content-Length")
        coding = head.get("transfer-encoding")
        if coding.lower() != "chunked" or head.minor < 1:
            raise NoHttpError(f"a body with the coding {coding[:100]!r}")
        return ChunkedBody(is_strict=True)
    return FixedBody(_read_length(head.get("content-length"))) if "content-length" in names else NoBody()


def response_body(head: ResponseHead, method: str) -> Body:
    """Raises NoHttpError."""
    if method == "HEAD" or head.status in _WITHOUT_BODY or head.status < 200:
        return NoBody()
    coding, length = head.get("transfer-encoding"), head.get("content-length")
    if coding:
        return ChunkedBody() if coding.lower().rpartition(",")[2].strip() == "chunked" else UntilEnd()
    return FixedBody(_read_length(length)) if length else UntilEnd()


def _read_length(text: str) -> int:
    """The same length twice is one length."""
    values = {part.strip(" \t") for part in text.split(",")}
    value = values.pop()
    if values or not (value.isascii() and value.isdecimal()) or len(value) > 18:
        raise NoHttpError(f"a length that is none: {text[:100]!r}")
    return int(value)


def encode_chunk(content: bytes) -> bytes:
    """Nothing for nothing: an empty chunk would be the last one."""
    return b"%x\r\n%b\r\n" % (len(content), content) if content else b""


def encode_last_chunk() -> bytes:
    return _LAST_CHUNK
