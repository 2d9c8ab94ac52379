"""Requests through the gateway: framing, streams, WebSockets, retries, and connections that are kept or closed."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from embedded.gateway.plane import Client, Plane, plane, read_request, says, server
from embedded.gateway.shapes import path, route, rule
from heliostat.embedded.gateway.listening import Place
from heliostat.embedded.gateway.routing import PortTable

GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def test_one_connection_serves_many_requests_and_so_does_the_one_behind() -> None:
    async def scene() -> None:
        async with plane(one=says("hello")) as made:
            client = await made.connect()
            for _ in range(5):
                assert await client.ask(GET) == (200, b"hello")
            client.send(GET * 3)  # at once
            assert [await client.read() for _ in range(3)] == [(200, b"hello")] * 3
            assert len(made.dialled) == 1
            assert made.telemetry.requests.value("ns", "route", "200") == 8

    play(scene)


def test_headers_reach_the_back_end_without_those_of_the_connection() -> None:
    seen: dict[str, str] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.update(await read_request(reader))
        writer.write(b"HTTP/1.1 200 OK\r\nX-Own: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n")

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send("GET /a?b=c HTTP/1.1\r\nHost: h:1\r\nX-Forwarded-For: 9.9.9.9\r\nTE: x\r\nX-A: b\r\n\r\n")
            assert await client.read_head() == (200, {"x-own": "1", "content-length": "0"})
        assert seen == {
            "": "GET /a?b=c HTTP/1.1",
            "host": "h:1",
            "x-a": "b",
            "x-forwarded-for": "9.9.9.9, 127.0.0.1",
            "x-forwarded-proto": "http",
        }

    play(scene)


BODIES = [
    ("Content-Length: 5\r\n\r\nhello", b"hello"),
    ("Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
]


@pytest.mark.parametrize(("body", "arrives"), BODIES)
def test_a_request_body_arrives_as_it_was_framed(body: str, arrives: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_request(reader):
            assert await reader.readexactly(len(arrives)) == arrives
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            for _ in range(2):  # also the connection after it
                assert await client.ask(f"POST / HTTP/1.1\r\nHost: a\r\n{body}") == (200, b"ok")

    play(scene)


def test_both_bodies_stream_at_the_same_time() -> None:
    """Each piece is echoed before the next is sent: nobody may wait for the whole."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while size := int(await reader.readline(), 16):
            data = await reader.readexactly(size + 2)
            writer.write(b"%x\r\n%b" % (size, data))
        writer.write(b"0\r\n\r\n")

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n0\r\n")
            assert (await client.read_head())[0] == 200
            assert await client.read_chunk() == b"0"
            for number in range(1, 5):
                client.send(f"1\r\n{number}\r\n")
                assert await client.read_chunk() == str(number).encode()
            client.send("0\r\n\r\n")
            assert await client.read_chunk() == b""

    play(scene)


def test_an_answer_that_ends_with_its_connection_leaves_the_clients_open() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            for _ in range(2):
                assert await client.ask(GET) == (200, b"until the end")
            old = await made.connect()
            old.send("GET / HTTP/1.0\r\n\r\n")
            said = await old.reader.read()
            assert said.endswith(b"\r\n\r\nuntil the end")
            assert b"chunked" not in said

    play(scene)


def test_a_large_answer_waits_for_a_client_that_reads_slowly() -> None:
    size, sent = 20_000_000, [0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        while sent[0] < size:
            writer.write(b"x" * 100_000)
            sent[0] += 100_000
            await writer.drain()

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send(GET)
            assert (await client.read_head())[0] == 200
            before = -1
            while before != sent[0]:  # until everything between is full
                before = sent[0]
                await asyncio.sleep(0.05)
            assert sent[0] < size
            assert len(await client.reader.readexactly(size)) == size

    play(scene)


def test_a_websocket_passes_in_both_directions_until_one_side_ends() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await read_request(reader)
        assert (head["connection"], head["upgrade"]) == ("Upgrade", "websocket")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst")
        while data := await reader.read(100):
            writer.write(data.upper())

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n")
            status, headers = await client.read_head()
            assert (status, headers["upgrade"], headers["connection"]) == (101, "websocket", "Upgrade")
            assert await client.reader.readexactly(5) == b"first"
            for word in (b"one", b"two"):
                client.send(word)
                assert await client.reader.readexactly(3) == word.upper()
            client.writer.write_eof()
            assert await client.reader.read() == b""

    play(scene)


def test_who_asks_first_whether_to_send_is_told() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert await reader.readexactly(5) == b"hello"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
            assert (await client.read_head())[0] == 100
            assert await client.ask("hello") == (200, b"ok")

    play(scene)


BAD = [
    ("nonsense\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("\x16\x03\x01\x02", 400),  # TLS
    ("CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    (f"GET / HTTP/1.1\r\nX: {'x' * 70_000}", 431),
    ("GET /larger than HTTP/1.1\r\n\r\n", 400),
    ("GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404),
]


@pytest.mark.parametrize(("request_", "status"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_passed_on_is_refused_in_words(request_: str, status: int) -> None:
    async def scene() -> None:
        async with plane(one=says("hello")) as made:
            await made.use(route(rule(path("/some"))))
            client = await made.connect()
            found, words = await client.ask(request_)
            assert found == status
            assert words.startswith(b"heliostat gateway: ")
            assert await client.reader.read() == b""

    play(scene)


def test_a_back_end_that_cannot_be_resolved_answers_its_share_with_500() -> None:
    async def scene() -> None:
        async with plane(one=says("hello")) as made:
            await made.weigh(one=3, none=1)
            answers = Counter([(await made.ask())[0] for _ in range(40)])
            assert answers == {200: 30, 500: 10}
            made.put("none")
            await made.weigh(one=3, none=1)
            assert Counter([(await made.ask())[0] for _ in range(40)]) == {200: 30, 503: 10}

    play(scene)


async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


@pytest.mark.parametrize(("method", "statuses"), [("GET", {200}), ("PUT", {200, 502}), ("POST", {200, 502})])
def test_a_request_without_an_answer_is_sent_again_if_that_changes_nothing(method: str, statuses: set[int]) -> None:
    body = "" if method == "GET" else "Content-Length: 1\r\n\r\nx"
    text = f"{method} / HTTP/1.1\r\nHost: a\r\n" + (body or "\r\n")

    async def scene() -> None:
        async with plane(one=says("hello")) as made, server(refuse) as closing:
            good = made.port_of("one")
            made.put("one", good, closing)
            assert {(await made.ask(text))[0] for _ in range(6)} == statuses

    play(scene)


def test_a_request_whose_back_end_cannot_be_reached_goes_to_the_next_whatever_it_is() -> None:
    async def scene() -> None:
        async with plane(one=says("hello")) as made:
            good = made.port_of("one")
            made.put("one", await free_port(), good)
            text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
            assert {(await made.ask(text))[0] for _ in range(6)} == {200}
            assert made.telemetry.retries.value("ns", "route") >= 3
            made.put("one", await free_port())
            assert (await made.ask(text))[0] == 503

    play(scene)


def test_a_connection_that_rested_and_was_closed_meanwhile_costs_no_request() -> None:
    """The back end closes after each answer without saying so."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            assert [await client.ask(GET) for _ in range(20)] == [(200, b"")] * 20

    play(scene)


@pytest.mark.parametrize("framing", ["Content-Length: 100", "Transfer-Encoding: chunked"])
def test_an_answer_that_breaks_off_is_not_made_to_look_whole(framing: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n5\r\nhello\r\n".encode())

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send(GET)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.reader.readexactly(1000)
            assert made.telemetry.broken.value("ns", "route") == 1

    play(scene)


def test_a_client_that_leaves_takes_the_back_ends_connection_along() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        await reader.read()
        gone.set()

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send(GET)
            await client.read_head()
            client.writer.transport.abort()
            await gone.wait()

    play(scene)


def test_a_request_whose_client_hung_up_is_not_sent_again() -> None:
    async def scene() -> None:
        begun, gone = asyncio.Event(), asyncio.Event()

        async def stuck(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            begun.set()
            await reader.read()
            gone.set()

        async with plane(one=stuck) as made:
            client = await made.connect()
            client.send(GET)
            await begun.wait()
            client.writer.close()
            await gone.wait()
            await made.connect()  # a turn of the loop
            assert len(made.dialled) == 1
            assert made.telemetry.retries.value("ns", "route") == 0

    play(scene)


def test_an_answer_before_the_end_of_the_request_is_not_lost() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")

    async def scene() -> None:
        async with plane(one=serve) as made:
            client = await made.connect()
            client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + "x" * 200_000)
            assert await client.read() == (413, b"no")

    play(scene)


async def free_port() -> int:
    async with server(refuse) as port:
        return port


def held() -> tuple[asyncio.Event, asyncio.Event]:
    return asyncio.Event(), asyncio.Event()


async def begin_slow(made: Plane) -> Client:
    client = await made.connect()
    client.send(GET)
    return client


def test_weights_shift_and_pods_leave_while_answers_are_on_their_way() -> None:
    """What has begun at the old one is finished there, and everything new goes to the new one."""

    async def scene() -> None:
        begun, finish = held()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
            begun.set()
            await finish.wait()
            writer.write(b"old")

        async with plane(old=slow, new=says("new")) as made:
            await made.weigh(old=1, new=0)
            client = await begin_slow(made)
            await begun.wait()
            await made.weigh(old=0, new=1)
            made.put("old")
            assert [await made.ask() for _ in range(5)] == [(200, b"new")] * 5
            finish.set()
            assert await client.read() == (200, b"old")

    play(scene)


def test_what_is_not_through_at_the_deadline_is_cut() -> None:
    async def scene() -> None:
        begun, never = held()

        async def stuck(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            begun.set()
            await never.wait()

        async with plane(drain_seconds=0.0, old=stuck, new=says("new")) as made:
            await made.weigh(old=1, new=0)
            client = await begin_slow(made)
            await begun.wait()
            await made.weigh(old=0, new=1)
            made.board.tidy()
            assert await client.read() == (200, b"new")  # nothing of an answer was seen, so it is asked again

    play(scene)


def test_a_listener_that_closes_answers_what_it_has_and_ends_what_rests() -> None:
    async def scene() -> None:
        begun, finish = held()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await read_request(reader):
                begun.set()
                await finish.wait()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        async with plane(one=slow) as made:
            resting = await made.connect()
            client, port = await begin_slow(made), made.port
            await begun.wait()
            await made.use(route(), wanted=False)
            assert await resting.reader.read() == b""
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            finish.set()
            assert await client.read() == (200, b"ok")
            assert await client.reader.read() == b""

    play(scene)


def test_a_port_that_cannot_be_had_is_told_and_tried_again() -> None:
    async def scene() -> None:
        async with plane(one=says("hello")) as made, server(refuse) as taken:
            place = Place("127.0.0.1", taken)
            await made.listening.use({place: PortTable(())})
            assert "Address already in use" in made.listening.problems[place]

    play(scene)
