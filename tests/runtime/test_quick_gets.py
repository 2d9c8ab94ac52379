"""Plain GETs over kept connections: what goes the narrow way, what goes behind, and what an error says."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.quick_gets import QuickGets
from heliostat.runtime.transport import Call, Reply

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
BEHIND = Reply(299, b"from behind")


class Behind:
    """The transport behind, which keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def send(self, call: Call, _seconds: float) -> Reply:
        self.asked.append(str(call))
        return BEHIND

    async def open(self, call: Call, seconds: float) -> Reply:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""


class Server:
    """Answers requests with these bytes, one after the other; None: the connection is closed instead."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = [*answers]
        self.heads: list[bytes] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while self.answers:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            self.heads.append(head)
            answer = self.answers.pop(0)
            if answer is None:
                break
            if answer == b"silence":
                await reader.read()
                break
            for part in (answer[:10], answer[10:]):
                writer.write(part)
                await writer.drain()
        writer.close()


def play(server: Server, scene: Callable[[QuickGets, str], Awaitable[None]]) -> Behind:
    behind = Behind()

    async def run() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        gets = QuickGets(behind, "test")
        try:
            await scene(gets, f"//127.0.0.1:{port}")
        finally:
            await gets.close()
            listening.close()

    asyncio.run(run())
    return behind


def get(path: str, **fields: Any) -> Call:
    return Call(method="GET", path=path, **fields)


def test_several_requests_share_a_connection() -> None:
    server = Server(HELLO, HELLO, HELLO)

    async def scene(gets: QuickGets, base: str) -> None:
        for _ in range(3):
            assert await gets.send(get(f"{base}/a/b", query=(("x", "y z"),)), 5.0) == Reply(200, b"hello")

    assert play(server, scene).asked == []
    assert server.connections == 1
    assert server.heads[0].startswith(b"GET /a/b?x=y+z HTTP/1.1\r\nHost: 127.0.0.1:")


def test_a_token_is_a_header() -> None:
    server = Server(HELLO)

    async def scene(gets: QuickGets, base: str) -> None:
        await gets.send(get(f"{base}/", headers=(("x-ray-authorization", "Bearer t"),)), 5.0)

    play(server, scene)
    assert b"\r\nx-ray-authorization: Bearer t\r\n\r\n" in server.heads[0]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more",
        b"something else entirely\r\n\r\n",
    ],
)
def test_an_answer_that_cannot_be_relied_upon_is_none(answer: bytes) -> None:
    async def scene(gets: QuickGets, base: str) -> None:
        with pytest.raises(AmbiguousError, match="GET //127"):
            await gets.send(get(f"{base}/", most_bytes=100), 5.0)

    assert play(Server(answer), scene).asked == []


@pytest.mark.parametrize(
    "call",
    [
        Call(method="PUT", path="//host:1/x", body=b"{}"),
        get("/api/v1/pods"),
        get("//host:1/a b"),
        get("//host:1/", headers=(("x", "a\r\nb: c"),)),
    ],
    ids=str,
)
def test_what_is_no_plain_get_is_left_to_the_transport_behind(call: Call) -> None:
    async def scene(gets: QuickGets, _base: str) -> None:
        assert await gets.send(call, 5.0) == BEHIND

    play(Server(), scene)


def test_a_connection_that_was_about_to_be_closed_costs_nothing() -> None:
    server = Server(HELLO, None, HELLO)

    async def scene(gets: QuickGets, base: str) -> None:
        for _ in range(2):
            assert (await gets.send(get(f"{base}/"), 5.0)).body == b"hello"

    play(server, scene)
    assert (server.connections, len(server.heads)) == (2, 3)


def test_a_server_that_says_close_gets_a_new_connection() -> None:
    closing = HELLO.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    server = Server(closing, closing)

    async def scene(gets: QuickGets, base: str) -> None:
        for _ in range(2):
            assert (await gets.send(get(f"{base}/"), 5.0)).status == 200

    play(server, scene)
    assert server.connections == 2


def test_no_answer_is_told_apart_from_nobody_there() -> None:
    async def scene(gets: QuickGets, base: str) -> None:
        with pytest.raises(AmbiguousError, match=r"no answer within 0\.2 s"):
            await gets.send(get(f"{base}/"), 0.2)
        with pytest.raises(AmbiguousError):
            await gets.send(get(f"{base}/"), 5.0)
        with pytest.raises(UnavailableError, match="Connection refused"):
            await gets.send(get("//127.0.0.1:1/"), 5.0)

    play(Server(b"silence", None), scene)
