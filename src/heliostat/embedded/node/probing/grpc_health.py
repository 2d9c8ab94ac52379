"""The gRPC health check of a service: one unary call in plain HTTP/2, written out byte by byte.

A call needs so little of HTTP/2 that no library is worth its weight: our frames are always the same, of the server's
only the message and the end of the stream count. Headers of the server are compressed and left unread, so a refusal is
known by the message that does not come.
"""

import asyncio
import socket
import struct
from enum import IntEnum

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_PATH = "/grpc.health.v1.Health/Check"
_FRAME = struct.Struct(">BHBBI")  # length (3 bytes), type, flags, stream
_LITERAL = b"\x00"  # a header in full, without the table
_STREAM = 1
_MOST_FRAME = 1 << 20


class _Frame(IntEnum):
    DATA = 0
    HEADERS = 1
    RESET = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7


_END_STREAM, _ACK, _END_HEADERS = 0x1, 0x1, 0x4

STATUSES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


class NoHealthServiceError(Exception):
    """The server answers, but has no health service or does not know the one that was asked for."""


async def fetch_health(connection: socket.socket, authority: str, service: str) -> str:
    """SERVING or another of STATUSES. The connection is closed."""
    reader, writer = await asyncio.open_connection(sock=connection)
    try:
        writer.write(build_call(authority, service))
        await writer.drain()
        return read_status(await _fetch_message(reader, writer))
    finally:
        writer.close()


def build_call(authority: str, service: str) -> bytes:
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": _PATH,
        ":authority": authority,
        "content-type": "application/grpc",
        "te": "trailers",
        "user-agent": "kube-probe/1.34",
    }
    block = b"".join(_LITERAL + _text(name) + _text(value) for name, value in headers.items())
    name = service.encode()
    request = b"\x0a" + _varint(len(name)) + name if name else b""
    message = struct.pack(">BI", 0, len(request)) + request
    return (
        _PREFACE
        + _frame(_Frame.SETTINGS, 0, 0, b"")
        + _frame(_Frame.HEADERS, _END_HEADERS, _STREAM, block)
        + _frame(_Frame.DATA, _END_STREAM, _STREAM, message)
    )


def read_status(message: bytes) -> str:
    """``message`` with the five bytes before it; an answer without a field is UNKNOWN, as proto3 leaves zeros out."""
    if not message:
        raise NoHealthServiceError("this server does not implement the grpc health protocol (grpc.health.v1.Health)")
    body = message[5:]
    number = body[1] if len(body) >= 2 and body[0] == 0x08 else 0
    return STATUSES.get(number, str(number))


async def _fetch_message(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    message = b""
    while True:
        kind, flags, stream, payload = await _read_frame(reader)
        if kind in (_Frame.SETTINGS, _Frame.PING) and not flags & _ACK:
            writer.write(_frame(_Frame(kind), _ACK, 0, payload if kind == _Frame.PING else b""))
        if kind == _Frame.GOAWAY or (kind == _Frame.RESET and stream == _STREAM):
            return message
        if stream == _STREAM and kind == _Frame.DATA:
            message += payload
        if stream == _STREAM and kind in (_Frame.DATA, _Frame.HEADERS) and flags & _END_STREAM:
            return message


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, int, int, bytes]:
    try:
        high, low, kind, flags, stream = _FRAME.unpack(await reader.readexactly(_FRAME.size))
        length = (high << 16) + low
        if length > _MOST_FRAME:
            raise OSError("the answer is not HTTP/2")
        return kind, flags, stream & 0x7FFF_FFFF, await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        raise OSError("the connection ended before an answer") from None


def _frame(kind: _Frame, flags: int, stream: int, payload: bytes) -> bytes:
    return _FRAME.pack(len(payload) >> 16, len(payload) & 0xFFFF, kind, flags, stream) + payload


def _text(text: str) -> bytes:
    """A string of a header, its length in seven bits and more."""
    data = text.encode()
    return _length(len(data)) + data


def _length(length: int) -> bytes:
    return bytes((length,)) if length < 127 else b"\x7f" + _varint(length - 127)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))
