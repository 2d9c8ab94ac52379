"""One HTTP request passed on to a Pod over a connection that is there already, and its answer on the way back.

Rules, kube-apiserver's: headers that concern one connection alone stay behind; a redirect is led through the proxy
again; a body is passed on as it comes; after ``101 Switching Protocols`` the bytes are nobody else's.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Self
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from heliostat.embedded.http1.bodies import NoBody, response_body
from heliostat.embedded.http1.heads import (
    SWITCHED,
    NoHttpError,
    ResponseHead,
    asks_for_upgrade,
    passed_on,
)
from heliostat.embedded.http1.heads import build_request as build_head
from heliostat.embedded.http1.streams import read_answer, read_content
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
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_NOT_SENT = frozenset(("authorization", "content-length", "host", "expect"))
_NOT_PASSED_BACK = frozenset(("content-length", "content-type"))


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxied: Proxied, request: Request
) -> Answer:
    """The connection belongs to the answer from then on. Raises OSError, NoHttpError and what refuses the body."""
    writer.write(build_request(proxied, request))
    await writer.drain()
    sending = BodySending(request.upload, writer)
    try:
        head, begun = await read_answer(reader)
    except BaseException:
        sending.stop()
        sending.raise_refusal()
        raise
    if head.status == SWITCHED:
        switched = _Switched(reader, writer, begun)
        headers = (("Connection", "Upgrade"), ("Upgrade", head.get("upgrade")), *_passed_back(head, proxied, request))
        return Upgrade(converse=switched.converse, headers=headers)
    content_type, headers = head.get("content-type"), _passed_back(head, proxied, request)
    body = response_body(head, request.method)
    if isinstance(body, NoBody):
        sending.stop()
        writer.close()
        return Response(head.status, b"", content_type, headers=headers)
    return Stream(_Body(read_content(reader, body, begun), writer, sending), head.status, content_type, headers)


def build_request(proxied: Proxied, request: Request) -> bytes:
    """With its body, unless that is uploaded."""
    headers = dict(passed_on(tuple(request.headers.items()), _NOT_SENT))
    headers |= {"host": f"{proxied.address}:{proxied.port}"} | _connection_headers(request.headers)
    headers |= {"x-forwarded-uri": quote(request.path), "x-forwarded-proto": "https"}
    if "host" in request.headers:
        headers["x-forwarded-host"] = request.headers["host"]
    headers |= _body_headers(request)
    target = build_target(proxied, request)
    return build_head(request.method, target, tuple(headers.items()), "utf-8") + request.body


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
    if asks_for_upgrade((("connection", headers.get("connection", "")),)):
        return {"connection": "Upgrade", "upgrade": headers.get("upgrade", "")}
    return {"connection": "close"}


def _passed_back(head: ResponseHead, proxied: Proxied, request: Request) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, lead_back(value, proxied, request) if name.lower() == "location" else value)
        for name, value in passed_on(head.headers, _NOT_PASSED_BACK)
    )


def lead_back(location: str, proxied: Proxied, request: Request) -> str:
    """Where a redirect within the same server leads, seen from outside of the proxy."""
    url = urlsplit(location)
    is_same = not url.netloc or url.netloc in (f"{proxied.address}:{proxied.port}", request.headers.get("host", ""))
    if not is_same or not url.path.startswith("/"):
        return location
    prefix = request.path.rstrip("/").removesuffix(proxied.path.strip("/")).rstrip("/")
    return urlunsplit(("", "", prefix + url.path, url.query, url.fragment))


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
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begun: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._begun = begun  # came with the head

    async def converse(self, wire: Wire) -> None:
        sending = asyncio.ensure_future(self._send(wire))
        try:
            if self._begun:
                await wire.send(self._begun)
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
