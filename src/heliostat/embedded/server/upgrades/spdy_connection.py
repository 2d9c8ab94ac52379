"""The serving side of a SPDY/3.1 connection as a state machine: bytes come in, events go out; actions become bytes.

Rules: streams are opened by the client, with odd and rising numbers; each direction of a stream ends once; what comes
for a stream that has ended is dropped. Who breaks the protocol is told to go away, and nothing is read from them after.
Windows are not kept: the library that all Go clients speak with knows none, it neither waits for updates nor sends any,
and is held back by the connection itself.
"""

from collections.abc import Iterator, Mapping
from struct import Struct as Layout
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.server.upgrades.spdy_frames import (
    FLAG_FIN,
    GOAWAY,
    PING,
    RST_STREAM,
    SYN_REPLY,
    SYN_STREAM,
    Control,
    FrameReader,
    Piece,
    build_control,
    build_data,
)
from heliostat.embedded.server.upgrades.spdy_headers import HeaderPacker, HeaderUnpacker, SpdyError

MOST_STREAMS = 1000  # open at once; a forwarded connection needs two
PROTOCOL_ERROR, REFUSED_STREAM, CANCEL = 1, 3, 5  # why a stream is reset
_GO_AWAY_ERROR = 1

_NUMBER = Layout(">I")
_TWO_NUMBERS = Layout(">II")
_SYN_HEAD = 10  # bytes before the headers: the stream, the one it belongs to, priority and slot
_STREAM = 0x7FFF_FFFF


class Opened(Struct, frozen=True):
    stream: int
    headers: dict[str, str]


class Received(Struct, frozen=True):
    stream: int
    data: bytes


class Finished(Struct, frozen=True):
    """The client will send nothing more on this stream."""

    stream: int


class WasReset(Struct, frozen=True):
    """The client wants nothing more of this stream."""

    stream: int


class ToSend(Struct, frozen=True):
    """The protocol itself has something to say."""

    data: bytes


class Broken(Struct, frozen=True):
    """The last event: the client went away, or broke the protocol."""

    why: str


Event: TypeAlias = Opened | Received | Finished | WasReset | ToSend | Broken


class _GoneAwayError(Exception):
    """Nothing is read after it, as after an error."""


class _Directions(Struct):
    receives: bool = True
    sends: bool = True


class SpdyConnection:
    def __init__(self) -> None:
        self._frames = FrameReader()
        self._unpacker = HeaderUnpacker()
        self._packer = HeaderPacker()
        self._open: dict[int, _Directions] = {}
        self._newest = 0
        self._is_broken = False

    def receive(self, data: bytes) -> Iterator[Event]:
        if self._is_broken:
            return
        try:
            for frame in self._frames.read(data):
                yield from self._take_piece(frame) if isinstance(frame, Piece) else self._take_control(frame)
        except _GoneAwayError:
            self._is_broken = True
            yield Broken("the client went away")
        except SpdyError as error:
            self._is_broken = True
            yield ToSend(build_control(GOAWAY, _TWO_NUMBERS.pack(self._newest, _GO_AWAY_ERROR)))
            yield Broken(str(error))

    def reply(self, stream: int, headers: Mapping[str, str] | None = None) -> bytes:
        """Accept a stream that was opened."""
        return build_control(SYN_REPLY, _NUMBER.pack(stream) + self._packer.pack(headers or {}))

    def send(self, stream: int, data: bytes) -> bytes:
        """Empty when the stream takes nothing more."""
        return build_data(stream, data) if self.can_send(stream) else b""

    def finish(self, stream: int) -> bytes:
        if not self.can_send(stream):
            return b""
        self._open[stream].sends = False
        self._forget_ended(stream)
        return build_data(stream, b"", is_last=True)

    def reset(self, stream: int, why: int = CANCEL) -> bytes:
        """End both directions at once; empty when both have ended."""
        return _build_reset(stream, why) if self._open.pop(stream, None) is not None else b""

    def can_send(self, stream: int) -> bool:
        return stream in self._open and self._open[stream].sends

    def _take_piece(self, piece: Piece) -> Iterator[Event]:
        directions = self._open.get(piece.stream)
        if directions is None or not directions.receives:
            return
        if piece.data:
            yield Received(piece.stream, piece.data)
        if piece.is_last:
            yield from self._end_receiving(piece.stream)

    def _take_control(self, frame: Control) -> Iterator[Event]:
        if frame.kind == SYN_STREAM:
            yield from self._open_stream(frame)
        elif frame.kind == RST_STREAM:
            stream = _read_number(frame) & _STREAM
            if self._open.pop(stream, None) is not None:
                yield WasReset(stream)
        elif frame.kind == PING:
            if _read_number(frame) % 2:  # even ones would be answers to ours
                yield ToSend(build_control(PING, frame.body))
        elif frame.kind == GOAWAY:
            raise _GoneAwayError

    def _open_stream(self, frame: Control) -> Iterator[Event]:
        if len(frame.body) < _SYN_HEAD:
            raise SpdyError("a stream is opened by a frame that is too short")
        stream = _read_number(frame) & _STREAM
        headers = self._unpacker.unpack(frame.body[_SYN_HEAD:])
        if stream % 2 == 0 or stream <= self._newest:
            raise SpdyError(f"stream {stream} is opened after stream {self._newest}")
        self._newest = stream
        if len(self._open) >= MOST_STREAMS:
            yield ToSend(_build_reset(stream, REFUSED_STREAM))
            return
        self._open[stream] = _Directions()
        yield Opened(stream, headers)
        if frame.flags & FLAG_FIN:
            yield from self._end_receiving(stream)

    def _end_receiving(self, stream: int) -> Iterator[Event]:
        if stream in self._open:  # whoever was told that it is open may have reset it
            self._open[stream].receives = False
            self._forget_ended(stream)
            yield Finished(stream)

    def _forget_ended(self, stream: int) -> None:
        directions = self._open[stream]
        if not directions.receives and not directions.sends:
            del self._open[stream]


def _build_reset(stream: int, why: int) -> bytes:
    return build_control(RST_STREAM, _TWO_NUMBERS.pack(stream, why))


def _read_number(frame: Control) -> int:
    if len(frame.body) < _NUMBER.size:
        raise SpdyError(f"a frame of kind {frame.kind} is too short")
    return int.from_bytes(frame.body[: _NUMBER.size])
