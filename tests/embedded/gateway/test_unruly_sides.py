"""Clients and back ends that say too much, too little, or something that could be taken in two ways."""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from embedded.gateway.plane import Serve, plane, read_request, says, server
from embedded.gateway.shapes import route
from heliostat.embedded.gateway.wire import Wire

GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def answers(data: bytes) -> Serve:
    """Each request with these bytes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_request(reader):
            writer.write(data)

    return serve


async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


REQUESTS = [
    ("POST / HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 2\r\n\r\nhi", "POST /", "a", "2"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "POST /", "a", "2"),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: host\r\n\r\n", "GET /", "a", None),
    ("GET / HTTP/1.0\r\n\r\n", "GET /", "", None),
    ("GET http://b.c:8/d?e HTTP/1.1\r\nHost: a\r\n\r\n", "GET /d?e", "b.c:8", None),
    ("GET HTTP://b.c?e HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?e", "b.c", None),
]


@pytest.mark.parametrize(("text", "first", "host", "length"), REQUESTS, ids=range(len(REQUESTS)))
def test_whom_a_request_is_for_and_how_long_it_is_reaches_the_back_end(
    text: str, first: str, host: str, length: str | None
) -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)

    async def scene() -> None:
        async with plane(one=serve) as made:
            assert (await made.ask(text))[0] == 200
        lines = seen[0].decode().split("\r\n")
        assert lines[0] == f"{first} HTTP/1.1"
        assert [line[6:] for line in lines if line.startswith("Host:")] == [host]
        assert [line[16:] for line in lines if line.startswith("Content-Length:")] == ([length] if length else [])

    play(scene)


ANSWERS = [
    (CHUNKED, {"transfer-encoding": "chunked"}),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", {"content-length": "2"}),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: content-length\r\n\r\nok", {"content-length": "2"}),
]


@pytest.mark.parametrize(("answer", "headers"), ANSWERS, ids=range(len(ANSWERS)))
def test_an_answer_tells_its_length_once(answer: bytes, headers: dict[str, str]) -> None:
    async def scene() -> None:
        async with plane(one=answers(answer)) as made:
            client = await made.connect()
            client.send(GET)
            assert await client.read_head() == (200, headers)

    play(scene)


SURPLUS = [
    ("GET", OK + b"and more", {"content-length": "2"}, b"ok"),
    ("GET", b"HTTP/1.1 204 No Content\r\n\r\nall the same", {}, b""),
    ("HEAD", OK, {"content-length": "2"}, b""),
]


@pytest.mark.parametrize(("method", "said", "headers", "body"), SURPLUS, ids=range(len(SURPLUS)))
def test_what_goes_beyond_an_answer_is_dropped_and_the_answer_is_not(
    method: str, said: bytes, headers: dict[str, str], body: bytes
) -> None:
    async def scene() -> None:
        async with plane(one=answers(said)) as made:
            client = await made.connect()
            for _ in range(2):
                client.send(GET.replace("GET", method))
                assert (await client.read_head())[1] == headers
                assert await client.reader.readexactly(len(body)) == body
            assert len(made.dialled) == 2  # nobody else gets to see the rest

    play(scene)


def test_protocols_are_not_switched_unasked() -> None:
    async def scene() -> None:
        async with plane(one=answers(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")) as made:
            assert (await made.ask())[0] == 502
            asks = "Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 9\r\n\r\nhalf"
            assert (await made.ask(f"POST / HTTP/1.1\r\nHost: a\r\n{asks}"))[0] == 502

    play(scene)


def test_a_body_that_is_none_is_told_to_the_client_that_sent_it() -> None:
    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()  # the whole of it

    async def scene() -> None:
        async with plane(one=serve) as made:
            status, words = await made.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\nhi\r\n")
            assert (status, b"a line of chunks" in words) == (400, True)

    play(scene)


def test_who_was_told_to_go_on_is_told_that_nobody_answers() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await reader.readexactly(5)

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
            assert (await client.read_head())[0] == 100
            assert (await client.ask("hello"))[0] == 502

    play(scene)


def test_announcements_wait_for_a_client_that_does_not_read() -> None:
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await read_request(reader)
        early = b"HTTP/1.1 103 Early Hints\r\nLink: %b\r\n\r\n" % (b"x" * 30_000)
        while True:
            writer.write(early)
            await writer.drain()
            sent += len(early)

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send(GET)
            before = -1
            while before < sent:
                before = sent
                await asyncio.sleep(0.5)
            assert 0 < sent < 32_000_000  # what sockets hold

    play(scene)


def test_a_request_that_says_it_has_no_body_is_sent_again() -> None:
    async def scene() -> None:
        async with plane(one=says("hello")) as made, server(refuse) as closing:
            made.put("one", made.port_of("one"), closing)
            text = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
            assert {(await made.ask(text))[0] for _ in range(6)} == {200}

    play(scene)


def test_a_listener_that_closes_says_so_in_the_answer_that_was_waited_for() -> None:
    begun, finish = asyncio.Event(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        begun.set()
        await finish.wait()
        writer.write(OK)

    async def scene() -> None:
        async with plane(one=slow) as made:
            client = await made.connect()
            client.send(GET)
            await begun.wait()
            await made.use(route(), wanted=False)
            finish.set()
            assert await client.read_head() == (200, {"content-length": "2", "connection": "close"})

    play(scene)


def test_a_request_that_came_just_before_its_listener_closed_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes are there, and who reads them has not run yet."""

    async def scene() -> None:
        async with plane(one=says("hello")) as made:
            client = await made.connect()
            assert await client.ask(GET) == (200, b"hello")
            receive, (door,) = Wire.data_received, made.listening._doors.values()

            def receive_and_close(wire: Wire, data: bytes) -> None:
                receive(wire, data)
                if data.startswith(b"GET") and not door.spot.is_draining:
                    door.stop()

            monkeypatch.setattr(Wire, "data_received", receive_and_close)
            assert await client.ask(GET) == (200, b"hello")

    play(scene)


def test_a_rule_that_is_gone_still_answers_who_came_before() -> None:
    """While one listener opens, another still has its former table."""

    async def scene() -> None:
        async with plane(one=says("hello")) as made:
            made.board.use({})
            assert await made.ask() == (200, b"hello")

    play(scene)


def test_an_answer_to_a_body_that_nobody_takes_is_not_lost() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")  # and closes, with the body unread

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 90000000\r\n\r\n" + b"x" * 30_000_000)
            assert await client.read() == (413, b"big")

    play(scene)


@pytest.mark.parametrize(("version", "error"), [("1.1", asyncio.IncompleteReadError), ("1.0", ConnectionResetError)])
def test_an_answer_that_ends_with_its_connection_is_not_whole_when_that_is_cut(
    version: str, error: type[Exception]
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhel")
        await asyncio.sleep(0.1)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send(f"GET / HTTP/{version}\r\nHost: a\r\n\r\n")
            with pytest.raises(error) as told:
                await client.reader.readexactly(1000)
            assert not getattr(told.value, "partial", b"").endswith(b"0\r\n\r\n")
            assert made.telemetry.broken.value("ns", "route") == 1

    play(scene)
