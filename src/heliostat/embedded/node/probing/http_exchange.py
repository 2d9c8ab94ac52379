"""One HTTP request passed on to a Pod over a connection that is there already, and its answer on the way back.

Rules, kube-apiserver's: headers that concern one connection alone stay behind; a redirect is led through the proxy
again; a body is passed on as it comes; after ``101 Switching Protocols`` the bytes are nobody else's.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Self
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from heliostat.embedded.node.probing.http_uploads import BodySending
from heliostat.embedded.server.messages import (
    Answer,
    BrokenOffError,
    GoneError,
    Request,
    Response,
    Stream,
    Upgrade,
    Wire,
)
from heliostat.embedded.server.nodes.node_backend import Proxied

_CHUNK = 64 * 1024
_LONGEST_LINE = 64 * 1024
_MOST_HEADERS = 500
_SWITCHED = 101
_WITHOUT_BODY = frozenset((204, 304))
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_OF_ONE_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
_NOT_SENT = _OF_ONE_CONNECTION | {"authorization", "content-length", "host", "expect"}
_NOT_PASSED_BACK = _OF_ONE_CONNECTION | {"content-length", "content-type"}


class NoHttpError(Exception):
    """What came back is not HTTP; the text says what is wrong with it."""


class Head(Struct, frozen=True):
    status: int
    headers: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxied: Proxied, request: Request
) -> Answer:
    """The connection belongs to the answer from then on. Raises OSError, NoHttpError and what refuses the body."""
    writer.write(build_request(proxied, request))
    await writer.drain()
    sending = BodySending(request.upload, writer)
    try:
        head = await _read_head(reader)
    except BaseException:
        sending.stop()
        sending.raise_refusal()
        raise
    if head.status == _SWITCHED:
        switched = _Switched(reader, writer)
        headers = (("Connection", "Upgrade"), ("Upgrade", head.get("upgrade")), *_passed_back(head, proxied, request))
        return Upgrade(converse=switched.converse, headers=headers)
    content_type, headers = head.get("content-type"), _passed_back(head, proxied, request)
    if request.method == "HEAD" or head.status in _WITHOUT_BODY:
        sending.stop()
        writer.close()
        return Response(head.status, b"", content_type, headers=headers)
    return Stream(_Body(_read_body(reader, head), writer, sending), head.status, content_type, headers)


def build_request(proxied: Proxied, request: Request) -> bytes:
    """With its body, unless that is uploaded."""
    headers = {name: value for name, value in request.headers.items() if name not in _NOT_SENT}
    headers |= {"host": f"{proxied.address}:{proxied.port}"} | _connection_headers(request.headers)
    headers |= {"x-forwarded-uri": quote(request.path), "x-forwarded-proto": "https"}
    if "host" in request.headers:
        headers["x-forwarded-host"] = request.headers["host"]
    headers |= _body_headers(request)
    lines = [f"{request.method} {build_target(proxied, request)} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode() + request.body


def _body_headers(request: Request) -> dict[str, str]:
    if request.upload is None:
        return {"content-length": str(len(request.body))} if request.body or request.method in _WITH_BODY else {}
    length = request.upload.length
    return {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}


def build_target(proxied: Proxied, request: Request) -> str:
    """A slash at the end is the client's, and means something to most servers."""
    path = "/" + proxied.path.lstrip("/")
    if request.path.endswith("/") and not path.endswith("/"):
        path += "/"
    return _url(path, request)


def build_own_root(request: Request) -> str:
    """Where a client is sent that asks for nothing in particular: relative links need the slash."""
    return _url(f"{request.path}/", request)


def _url(path: str, request: Request) -> str:
    query = urlencode(request.query, doseq=True)
    return quote(path, safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")


def _connection_headers(headers: Mapping[str, str]) -> dict[str, str]:
    if "upgrade" in headers.get("connection", "").lower():
        return {"connection": "Upgrade", "upgrade": headers.get("upgrade", "")}
    return {"connection": "close"}


def _passed_back(head: Head, proxied: Proxied, request: Request) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, lead_back(value, proxied, request) if name.lower() == "location" else value)
        for name, value in head.headers
        if name.lower() not in _NOT_PASSED_BACK
    )


def lead_back(location: str, proxied: Proxied, request: Request) -> str:
    """Where a redirect within the same server leads, seen from outside of the proxy."""
    url = urlsplit(location)
    is_same = not url.netloc or url.netloc in (f"{proxied.address}:{proxied.port}", request.headers.get("host", ""))
    if not is_same or not url.path.startswith("/"):
        return location
    prefix = request.path.rstrip("/").removesuffix(proxied.path.strip("/")).rstrip("/")
    return urlunsplit(("", "", prefix + url.path, url.query, url.fragment))


async def _read_head(reader: asyncio.StreamReader) -> Head:
    while True:
        status = _read_status(await _read_line(reader))
        headers: list[tuple[str, str]] = []
        while line := await _read_line(reader):
            name, colon, value = line.partition(":")
            if not colon or len(headers) >= _MOST_HEADERS:
                raise NoHttpError(f"a header that is none: {line[:100]!r}")
            headers.append((name.strip(), value.strip()))
        if status == _SWITCHED or status >= 200:  # others only announce the answer
            return Head(status, tuple(headers))


def _read_status(line: str) -> int:
    version, _, rest = line.partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdecimal() and len(code) == 3):
        raise NoHttpError(f"malformed HTTP response {line[:100]!r}")
    return int(code)


async def _read_line(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\n")).decode("latin-1").rstrip("\r\n")
    except asyncio.IncompleteReadError as error:
        raise NoHttpError("EOF" if not error.partial else "unexpected EOF") from None
    except asyncio.LimitOverrunError:
        raise NoHttpError(f"a line of more than {_LONGEST_LINE} bytes") from None


async def _read_body(reader: asyncio.StreamReader, head: Head) -> AsyncGenerator[bytes, None]:
    if "chunked" in head.get("transfer-encoding").lower():
        while size := _read_size(await _read_line(reader)):
            async for piece in _read_exactly(reader, size):
                yield piece
            await _read_line(reader)
        return
    length = head.get("content-length")
    if length.isascii() and length.isdecimal():
        async for piece in _read_exactly(reader, int(length)):
            yield piece
        return
    while piece := await reader.read(_CHUNK):
        yield piece


def _read_size(line: str) -> int:
    try:
        return int(line.partition(";")[0].strip(), 16)
    except ValueError:
        raise NoHttpError(f"the size of a chunk that is none: {line[:100]!r}") from None


async def _read_exactly(reader: asyncio.StreamReader, size: int) -> AsyncGenerator[bytes, None]:
    while size:
        piece = await reader.read(min(size, _CHUNK))
        if not piece:
            raise NoHttpError("unexpected EOF")
        size -= len(piece)
        yield piece


class _Body:
    def __init__(self, pieces: AsyncGenerator[bytes, None], writer: asyncio.StreamWriter, sending: BodySending) -> None:
        self._pieces = pieces
        self._writer = writer
        self._sending = sending

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._pieces)
        except (NoHttpError, OSError) as error:
            raise BrokenOffError(str(error)) from None

    async def aclose(self) -> None:
        self._sending.stop()
        await self._pieces.aclose()
        self._writer.transport.abort()


class _Switched:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def converse(self, wire: Wire) -> None:
        sending = asyncio.ensure_future(self._send(wire))
        try:
            while data := await self._reader.read(_CHUNK):
                await wire.send(data)
        except OSError as error:
            raise GoneError(str(error)) from None
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            self._writer.transport.abort()

    async def _send(self, wire: Wire) -> None:
        while (data := await wire.receive()) is not None:
            self._writer.write(data)
            await self._writer.drain()
        if self._writer.can_write_eof():
            self._writer.write_eof()
