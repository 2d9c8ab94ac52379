"""Heads of requests and answers: what they say, and what is refused because two readers could differ about it."""

import pytest

from heliostat.embedded.http1.heads import (
    NoHttpError,
    RequestHead,
    build_request,
    build_response,
    find_head_end,
    keeps_connection,
    parse_request,
    parse_response,
    passed_on,
)


def test_a_request_reads_as_it_was_written() -> None:
    headers = (("Host", "a"), ("X-Two", "1"), ("x-two", "2"), ("Empty", ""))
    written = build_request("GET", "/a?b=c", headers)
    assert find_head_end(written + b"body") == len(written)
    head = parse_request(written)
    assert head == RequestHead("GET", "/a?b=c", 1, headers)
    assert (head.get("x-two"), head.get("empty"), head.get("none")) == ("1, 2", "", "")


REFUSED = [
    b"GET /\r\n\r\n",
    b"GET / HTTP/2.0\r\n\r\n",
    b"GET  / HTTP/1.1\r\n\r\n",
    b"G(T / HTTP/1.1\r\n\r\n",
    b"GET /a\x00 HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
    b"GET / HTTP/1.1\r\nno header\r\n\r\n",
    b"GET / HTTP/1.1\r\n: a\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 501 + b"\r\n",
]


@pytest.mark.parametrize("block", REFUSED, ids=range(len(REFUSED)))
def test_a_request_that_is_not_clear_is_refused(block: bytes) -> None:
    with pytest.raises(NoHttpError):
        parse_request(block)


ANSWERS = [
    (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", (200, "OK", 1)),
    (b"HTTP/1.0 404\r\n\r\n", (404, "", 0)),
    (b"HTTP/1.1 200 All is well\nA: b\n\n", (200, "All is well", 1)),
]


@pytest.mark.parametrize(("block", "first"), ANSWERS)
def test_answers_are_read_as_leniently_as_clients_do(block: bytes, first: tuple[int, str, int]) -> None:
    assert find_head_end(block + b"body\r\n\r\n") == len(block)
    head = parse_response(block)
    assert (head.status, head.reason, head.minor) == first


@pytest.mark.parametrize(
    "block", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 2000\r\n\r\n", b"HTTP/3 200 OK\r\n\r\n", b"\r\n\r\n"]
)
def test_what_is_no_answer_is_told(block: bytes) -> None:
    with pytest.raises(NoHttpError, match="malformed HTTP response"):
        parse_response(block)


def test_what_concerns_one_connection_stays_behind() -> None:
    headers = (
        ("Connection", "X-Secret, close"),
        ("x-secret", "1"),
        ("TE", "trailers"),
        ("Accept", "*/*"),
        ("Host", "a"),
    )
    assert passed_on(headers, frozenset(("host",))) == (("Accept", "*/*"),)


KEPT = [(1, "", True), (1, "close", False), (1, "Upgrade, Close", False), (0, "", False), (0, "Keep-Alive", True)]


@pytest.mark.parametrize(("minor", "value", "is_kept"), KEPT)
def test_when_a_connection_is_kept(minor: int, value: str, is_kept: bool) -> None:
    assert keeps_connection(minor, (("Connection", value),)) is is_kept


def test_bytes_of_a_header_survive_whatever_they_mean() -> None:
    block = b"HTTP/1.1 200 OK\r\nX: \xc3\xbc\xff\r\n\r\n"
    head = parse_response(block)
    assert build_response(head.status, head.reason, head.headers) == block
