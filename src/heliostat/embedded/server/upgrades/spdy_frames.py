"""SPDY/3.1 on the wire: bytes into frames, and frames into bytes. No frame is understood here.

Rules: control frames come whole and have a bounded length; data frames may be long, so their bytes are passed on as
they come and only the last piece can say that the stream ends. However the bytes are cut, the same is read from them.
"""

from collections.abc import Iterator
from struct import Struct as Layout

from msgspec import Struct

from heliostat.embedded.server.upgrades.spdy_headers import LARGEST_BLOCK, SpdyError

VERSION = 3
LONGEST_CONTROL = LARGEST_BLOCK  # bytes
LONGEST_DATA = 0xFFFFFF  # what fits into the length of a frame

SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
FLAG_FIN = 0x01

_HEAD = Layout(">II")  # kind or stream; flags and length
_IS_CONTROL = 0x8000_0000
_STREAM = 0x7FFF_FFFF


class Control(Struct, frozen=True):
    kind: int
    flags: int
    body: bytes


class Piece(Struct, frozen=True):
    """Of the data of a stream."""

    stream: int
    data: bytes
    is_last: bool = False  # the stream's, not the frame's


class _Data(Struct):
    """A data frame that is being read."""

    stream: int
    flags: int
    missing: int


class FrameReader:
    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: _Data | None = None

    def read(self, data: bytes) -> Iterator[Control | Piece]:
        """All that is complete by now. Raises SpdyError."""
        self._rest += data
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Control | Piece | None:
        if self._data is not None:
            return self._next_piece(self._data)
        if len(self._rest) < _HEAD.size:
            return None
        first, second = _HEAD.unpack_from(self._rest)
        flags, length = second >> 24, second & LONGEST_DATA
        if first & _IS_CONTROL:
            return self._next_control((first >> 16) & 0x7FFF, first & 0xFFFF, flags, length)
        del self._rest[: _HEAD.size]
        self._data = _Data(first & _STREAM, flags, length)
        return self._next_piece(self._data)

    def _next_control(self, version: int, kind: int, flags: int, length: int) -> Control | None:
        if version != VERSION:
            raise SpdyError(f"a frame is of version {version} and not of version {VERSION}")
        if length > LONGEST_CONTROL:
            raise SpdyError(f"a control frame has {length} bytes; {LONGEST_CONTROL} is the most")
        end = _HEAD.size + length
        if len(self._rest) < end:
            return None
        body = bytes(self._rest[_HEAD.size : end])
        del self._rest[:end]
        return Control(kind, flags, body)

    def _next_piece(self, frame: _Data) -> Piece | None:
        if frame.missing and not self._rest:
            return None
        data = bytes(self._rest[: frame.missing])
        del self._rest[: frame.missing]
        frame.missing -= len(data)
        if frame.missing:
            return Piece(frame.stream, data)
        self._data = None
        return Piece(frame.stream, data, bool(frame.flags & FLAG_FIN))


def build_control(kind: int, body: bytes, flags: int = 0) -> bytes:
    return _HEAD.pack(_IS_CONTROL | VERSION << 16 | kind, flags << 24 | len(body)) + body


def build_data(stream: int, data: bytes, *, is_last: bool = False) -> bytes:
    """As one frame."""
    return _HEAD.pack(stream, (FLAG_FIN if is_last else 0) << 24 | len(data)) + data
