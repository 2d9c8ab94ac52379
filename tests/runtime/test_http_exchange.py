"""Answers of HTTP/1.1 as bytes: however they are cut, they are read whole or not at all."""

import asyncio

import pytest

from heliostat.runtime.http_exchange import MOST_HEAD, AnswerReader, OddAnswerError
from heliostat.runtime.kept_exchanges import KeptExchanges, Place
from heliostat.runtime.transport import Reply
from runtime.raw_server import listening

HELLO = Reply(200, b"hello")
SIZED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SIZED, HELLO),
        (SIZED.replace(b"200 OK", b"429 Too Many\r\nRetry-After: 7"), Reply(429, b"hello", "7")),
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", HELLO),
        (CHUNKED + b"2;a=b\r\nhe\r\n3 \r\nllo\r\n000\r\nTrailer: x\r\n\r\n", HELLO),
        (CHUNKED + b"C\r\nhe\r\n0\r\n\r\nllo\r\n0\r\n\r\n", Reply(200, b"he\r\n0\r\n\r\nllo")),
        (CHUNKED + b"0\r\n\r\n", Reply(200, b"")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" + SIZED, HELLO),
        (b"HTTP/1.1 204 \r\n\r\n", Reply(204, b"")),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", Reply(200, b"")),
    ],
)
def test_an_answer_is_read_the_same_however_it_is_cut(answer: bytes, expected: Reply) -> None:
    for at in range(len(answer) + 1):
        reader = AnswerReader()
        assert reader.feed(answer[:at]) is None or at == len(answer), at
        if at < len(answer):
            assert reader.feed(answer[at:]) == expected, at
        assert reader.leaves_open
    reader = AnswerReader()
    said = [reader.feed(answer[at : at + 1]) for at in range(len(answer))]
    assert said == [*([None] * (len(answer) - 1)), expected]


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        SIZED + b"more",
        CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"\r\n\r\n",
        CHUNKED + b"5\r\nhello!\r\n0\r\n\r\n",
        CHUNKED + b"0\r\n\r\nmore",
        CHUNKED + b"a" * 2000,
        b"HTTP/1.1 200 OK\r\n" + b"a" * MOST_HEAD,
    ],
)
def test_what_leaves_a_doubt_about_its_end_is_no_answer(answer: bytes) -> None:
    with pytest.raises(OddAnswerError):
        AnswerReader().feed(answer)


@pytest.mark.parametrize("answer", [SIZED, CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"])
def test_not_more_than_so_much_is_ever_held(answer: bytes) -> None:
    assert AnswerReader(5).feed(answer) == HELLO
    with pytest.raises(OddAnswerError, match="more than 4 bytes"):
        AnswerReader(4).feed(answer)


def test_an_answer_to_head_has_no_body_whatever_it_says() -> None:
    assert AnswerReader(has_body=False).feed(SIZED.removesuffix(b"hello")) == Reply(200, b"")


@pytest.mark.parametrize(
    "answer", [SIZED.replace(b"HTTP/1.1", b"HTTP/1.0"), SIZED.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n")]
)
def test_a_connection_that_will_be_closed_is_not_used_again(answer: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(answer) == HELLO
    assert not reader.leaves_open


def test_without_a_length_the_end_of_the_connection_is_the_end_of_the_answer() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhel") is None
    assert reader.feed(b"lo") is None
    assert reader.finish() == HELLO
    cut = AnswerReader()
    cut.feed(SIZED[:-1])
    assert cut.finish() is None


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(65536):
        writer.write(SIZED)


def _connect_three(hosts: list[str]) -> list[str]:
    """What was looked up for three exchanges with a server that is known by a name with these addresses."""

    async def scene() -> list[str]:
        loop, looked_up = asyncio.get_running_loop(), list[str]()

        async def look_up(host: str, port: int, **_more: object) -> list[tuple[object, ...]]:
            looked_up.append(host)
            return [(0, 0, 0, "", (address, port)) for address in hosts]

        loop.getaddrinfo = look_up  # type: ignore[method-assign, assignment]
        async with listening(_serve) as port:
            kept, place = KeptExchanges(known_seconds=10.0), Place("name.example", port)
            exchanges = await asyncio.gather(*(kept.connect(place) for _ in range(3)))
            for exchange in exchanges:
                assert await exchange.ask(b"GET / HTTP/1.1\r\n\r\n", deadline=loop.time() + 20.0) == HELLO
                kept.keep(place, exchange)
            assert [kept.take(place) for _ in range(4)] == [*reversed(exchanges), None]
            for exchange in exchanges:
                kept.keep(place, exchange)
            kept.close()
        return looked_up

    return asyncio.run(scene())


def test_the_next_address_of_a_name_is_tried_when_nobody_listens_at_the_first() -> None:
    assert _connect_three(["127.0.0.2", "127.0.0.1"]) == ["name.example"]


def test_one_look_up_serves_all_who_ask_meanwhile() -> None:
    assert _connect_three(["127.0.0.1"]) == ["name.example"]
