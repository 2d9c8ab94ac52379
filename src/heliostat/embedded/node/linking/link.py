"""What API server and node say to each other on one connection per request: frames over a Unix socket.

    a frame    kind (1 byte), length (4 bytes), content
    request    HEADER, then INPUT … INPUT_END (also the body of a proxied request) and SIZE …
    answer     HEADER where there is one, then OUTPUT and ERROR …, and at last OUTCOME; ROOM for every INPUT taken

Rules: who asked has gone when its connection ends, and whatever it asked for ends then; input is sent only into room
that the node has told of, so that the node always notices such an end; output waits in the socket.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from heliostat.embedded.access.users import User
from heliostat.embedded.server.messages import Request, Upload
from heliostat.embedded.server.nodes.node_backend import Execution, Failed, LogOptions, Proxied
from heliostat.kube.jsontree import JsonObject

ROOM = 256 * 1024  # bytes of input that may be on their way
LARGEST_FRAME = 16 * 1024 * 1024  # a HEADER with a Pod in it; what has no largest size comes in pieces
LARGEST_PIECE = 64 * 1024  # of input and output
_HEAD = struct.Struct(">BI")
_CLOSED = (ConnectionError, asyncio.IncompleteReadError)
T = TypeVar("T")


class Kind(IntEnum):
    HEADER, INPUT, INPUT_END, SIZE, OUTPUT, ERROR, ROOM, OUTCOME = range(8)


class ReadLog(Struct, frozen=True, tag=True):
    pod: JsonObject
    options: LogOptions


class Execute(Struct, frozen=True, tag=True):
    pod: JsonObject
    execution: Execution


class Attach(Struct, frozen=True, tag=True):
    pod: JsonObject
    execution: Execution


class Forward(Struct, frozen=True, tag=True):
    pod: JsonObject
    port: int


class PassedOn(Struct, frozen=True, kw_only=True):
    """A proxied request; with an upload, its body follows as input."""

    method: str
    path: str
    user: User
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    has_upload: bool = False
    length: int | None = None

    def build(self, upload: Upload | None) -> Request:
        return Request(
            method=self.method,
            path=self.path,
            user=self.user,
            query=self.query,
            headers=self.headers,
            body=self.body,
            upload=upload,
        )


def pass_on(request: Request) -> PassedOn:
    upload = request.upload
    return PassedOn(
        method=request.method,
        path=request.path,
        user=request.user,
        query=request.query,
        headers=request.headers,
        body=request.body,
        has_upload=upload is not None,
        length=upload.length if upload is not None else None,
    )


class Proxy(Struct, frozen=True, tag=True):
    proxied: Proxied
    request: PassedOn


class ProxyNode(Struct, frozen=True, tag=True):
    node: JsonObject
    path: str
    request: PassedOn


Asked: TypeAlias = ReadLog | Execute | Attach | Forward | Proxy | ProxyNode


class Answered(Struct, frozen=True, tag=True):
    """A whole answer, or (as a stream or an upgrade) the beginning of one."""

    status: int
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    is_upgrade: bool = False
    is_whole: bool = False  # all of it is there already


class Refused(Struct, frozen=True, tag=True):
    code: int
    reason: str
    message: str


class Ended(Struct, frozen=True, tag=True):
    """How it went: an exit code, or why it failed."""

    code: int = 0
    why: str = ""
    is_bug: bool = False

    def failure(self) -> Failed | None:
        return Failed(self.why) if self.why else None


class LinkError(ConnectionError):
    """The other side broke the rules, or left in the middle."""


class Link:
    """One connection, as either side has it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=0)  # what was sent is not lost when we close

    async def send(self, kind: Kind, content: bytes = b"") -> None:
        """Waits for room. Raises ConnectionError when there is nobody."""
        self._writer.write(_HEAD.pack(kind, len(content)))
        self._writer.write(content)
        await self._writer.drain()

    async def send_pieces(self, kind: Kind, content: bytes) -> None:
        for start in range(0, len(content), LARGEST_PIECE):
            await self.send(kind, content[start : start + LARGEST_PIECE])

    async def send_value(self, kind: Kind, value: Struct) -> None:
        await self.send(kind, msgspec.json.encode(value))

    async def receive(self) -> tuple[Kind, bytes]:
        """The next frame. Raises LinkError at the end."""
        try:
            kind, length = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
            if kind >= len(Kind) or length > LARGEST_FRAME:
                raise LinkError(f"a frame of kind {kind} and {length} bytes is none of ours")
            return Kind(kind), await self._reader.readexactly(length)
        except _CLOSED as error:
            raise LinkError(f"the connection between API server and node has ended: {error}") from None

    async def receive_value(self, wanted: Kind, type_: type[T] | Any) -> T:
        kind, content = await self.receive()
        if kind is not wanted:
            raise LinkError(f"{wanted.name} was expected, and {kind.name} came")
        value: T = read_value(content, type_)
        return value

    def abort(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        """At once: what is not sent by now is not wanted."""
        self.abort()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return


def read_value(content: bytes, type_: type[T] | Any) -> T:
    try:
        value: T = msgspec.json.decode(content, type=type_)
    except msgspec.DecodeError as error:
        raise LinkError(f"not what was expected: {error}") from None
    return value


@contextmanager
def named_from_within(path: Path) -> Iterator[str]:
    """A name for the socket that is short, however long its directory's is: the system allows for 107 bytes."""
    place = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{place}/{path.name}"
    finally:
        os.close(place)


async def open_link(path: Path) -> Link:
    """Raises OSError when nobody listens there."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    made.setblocking(False)
    try:
        with named_from_within(path) as name:
            await asyncio.get_running_loop().sock_connect(made, name)
        return Link(*await asyncio.open_unix_connection(sock=made))
    except BaseException:  # cancelled or refused: nobody else knows this socket
        made.close()
        raise


def listen_for_links(path: Path) -> socket.socket:
    """Only for this user; whoever listened here before is gone."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        with named_from_within(path) as name:
            made.bind(name)
        path.chmod(0o600)
        made.listen(256)
        made.setblocking(False)
    except BaseException:  # cancelled or refused: nobody else knows this socket
        made.close()
        raise
    return made
