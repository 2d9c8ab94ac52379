"""Requests passed on to a server and its answers on the way back, over real connections."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from heliostat.embedded.access.users import User
from heliostat.embedded.http1.heads import NoHttpError
from heliostat.embedded.node.probing.http_exchange import (
    build_own_root,
    build_request,
    build_target,
    exchange,
    lead_back,
)
from heliostat.embedded.server.messages import Answer, BrokenOffError, Request, Response, Stream, Upgrade
from heliostat.embedded.server.nodes.node_backend import Proxied

POD = "/api/v1/namespaces/d/pods/p/proxy"


def proxied(path: str = "", port: int = 80) -> Proxied:
    return Proxied(scheme="http", address="127.0.0.1", port=port, path=path)


def asked(path: str = f"{POD}/", method: str = "GET", **fields: object) -> Request:
    return Request(method=method, path=path, user=User("u"), **fields)  # type: ignore[arg-type]


TARGETS = [
    ("", f"{POD}/", {}, "/"),
    ("a/b", f"{POD}/a/b", {}, "/a/b"),
    ("a/b", f"{POD}/a/b/", {}, "/a/b/"),
    ("a b/ü", f"{POD}/a b/ü", {}, "/a%20b/%C3%BC"),
    ("a", f"{POD}/a", {"x": ["1", "2"], "y": ["a&b"]}, "/a?x=1&x=2&y=a%26b"),
]


@pytest.mark.parametrize(("rest", "path", "query", "target"), TARGETS)
def test_the_path_of_the_pod_is_asked_for(rest: str, path: str, query: dict[str, list[str]], target: str) -> None:
    assert build_target(proxied(rest), asked(path, query=query)) == target


def test_who_asks_for_nothing_is_sent_to_the_root() -> None:
    assert build_own_root(asked(POD, query={"a": ["b"]})) == f"{POD}/?a=b"


def test_secrets_and_what_concerns_one_connection_stay_behind() -> None:
    headers = {
        "authorization": "Bearer secret",
        "connection": "keep-alive",
        "te": "trailers",
        "accept": "*/*",
        "host": "api:6443",
    }
    sent = build_request(proxied("a"), asked(f"{POD}/a", "POST", headers=headers, body=b"body")).decode()
    head, _, body = sent.partition("\r\n\r\n")
    assert body == "body"
    assert set(head.split("\r\n")) == {
        "POST /a HTTP/1.1",
        "accept: */*",
        "host: 127.0.0.1:80",
        "connection: close",
        "content-length: 4",
        f"x-forwarded-uri: {POD}/a",
        "x-forwarded-proto: https",
        "x-forwarded-host: api:6443",
    }


LOCATIONS = [
    ("/login", f"{POD}/login"),
    ("/login?a=b#c", f"{POD}/login?a=b#c"),
    ("http://127.0.0.1:80/login", f"{POD}/login"),
    ("login", "login"),
    ("https://elsewhere/login", "https://elsewhere/login"),
]


@pytest.mark.parametrize(("location", "outside"), LOCATIONS)
def test_a_redirect_leads_through_the_proxy_again(location: str, outside: str) -> None:
    assert lead_back(location, proxied("a/b"), asked(f"{POD}/a/b")) == outside


def talk(said: bytes, request: Request | None = None) -> tuple[Answer, bytes]:
    """What becomes of a server's answer, and of its body when it has one."""

    async def play(answer: Answer) -> tuple[Answer, bytes]:
        if not isinstance(answer, Stream):
            return answer, b""
        async with aclosing(answer.chunks) as chunks:
            return answer, b"".join([chunk async for chunk in chunks])

    return with_server(said, request or asked(), play)


def with_server(
    said: bytes, request: Request, play: Callable[[Answer], Awaitable[tuple[Answer, bytes]]]
) -> tuple[Answer, bytes]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        if b" 101 " in said:
            while data := await reader.read(100):
                writer.write(data.upper())
        writer.close()

    async def run() -> tuple[Answer, bytes]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with asyncio.timeout(30), server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                return await play(await exchange(reader, writer, proxied(port=port), request))
            finally:
                writer.close()

    return asyncio.run(run())


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"
BODIES = [
    (HEAD + b"Content-Length: 4\r\n\r\nbody", b"body"),
    (HEAD + b"\r\nuntil the end", b"until the end"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x=y\r\ndy\r\n0\r\n\r\n", b"body"),
    (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HEAD + b"Content-Length: 0\r\n\r\n", b""),
    (HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000, b"x" * 100_000),
]


@pytest.mark.parametrize(("said", "body"), BODIES)
def test_a_body_comes_whole_however_it_is_sent(said: bytes, body: bytes) -> None:
    answer, found = talk(said)
    assert isinstance(answer, Stream)
    assert (answer.status, answer.content_type, found) == (200, "text/x", body)


def test_headers_are_passed_back_in_order_and_as_often_as_they_came() -> None:
    said = b"HTTP/1.1 404 No\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    answer, _ = talk(said)
    assert isinstance(answer, Stream)
    assert (answer.status, answer.headers) == (404, (("Set-Cookie", "a"), ("Set-Cookie", "b")))


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_an_answer_without_a_body_is_not_waited_for(method: str) -> None:
    said = HEAD + b"Content-Length: 100\r\n\r\n" if method == "HEAD" else b"HTTP/1.1 304 Not Modified\r\n\r\n"
    answer, _ = talk(said, asked(method=method))
    assert isinstance(answer, Response)
    assert answer.body == b""


BROKEN_OFF = [
    b"Content-Length: 9\r\n\r\nbody",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nbo",
    b"Transfer-Encoding: chunked\r\n\r\nx\r\n",
]


@pytest.mark.parametrize("rest", BROKEN_OFF)
def test_what_breaks_off_is_not_taken_for_the_end(rest: bytes) -> None:
    with pytest.raises(BrokenOffError):
        talk(HEAD + rest)


NO_HTTP = [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", b"x" * 100_000]


@pytest.mark.parametrize("said", NO_HTTP, ids=range(len(NO_HTTP)))
def test_what_is_no_http_is_told(said: bytes) -> None:
    with pytest.raises(NoHttpError):
        talk(said)


class Wire:
    """A client that says some things, and leaves when it has heard enough."""

    def __init__(self, *says: bytes, enough: int) -> None:
        self.heard = b""
        self._says = deque(says)
        self._enough = enough
        self._left = asyncio.Event()

    async def receive(self) -> bytes | None:
        if self._says:
            return self._says.popleft()
        await self._left.wait()
        return None

    async def send(self, data: bytes) -> None:
        self.heard += data
        if len(self.heard) >= self._enough:
            self._left.set()


def test_after_a_switch_of_protocols_the_bytes_pass_in_both_directions() -> None:
    async def play(answer: Answer) -> tuple[Answer, bytes]:
        assert isinstance(answer, Upgrade)
        wire = Wire(b"one", b"two", enough=6)
        await answer.converse(wire)
        return answer, wire.heard

    said = b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: k\r\n\r\n"
    request = asked(headers={"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "x"})
    answer, heard = with_server(said, request, play)
    assert isinstance(answer, Upgrade)
    assert heard == b"ONETWO"
    assert dict(answer.headers) == {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Accept": "k"}
