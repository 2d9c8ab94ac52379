"""Where bodies end. Laws: however the bytes are cut, content and rest are the same; no part is taken for the whole."""

import itertools
from time import process_time
from timeit import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.http1.bodies import (
    Body,
    ChunkedBody,
    FixedBody,
    NoBody,
    UntilEnd,
    encode_chunk,
    encode_last_chunk,
    request_body,
    response_body,
)
from heliostat.embedded.http1.heads import Headers, NoHttpError, RequestHead, ResponseHead


def request(*headers: tuple[str, str], minor: int = 1) -> Body:
    return request_body(RequestHead("POST", "/", minor, headers))


def answer(*headers: tuple[str, str], status: int = 200, method: str = "GET") -> Body:
    return response_body(ResponseHead(status, "", 1, headers), method)


CHUNKED, TEN = ("Transfer-Encoding", "chunked"), ("Content-Length", "10")
SMUGGLED: list[Headers] = [
    (CHUNKED, TEN),
    (TEN, ("Content-Length", "11")),
    (("Content-Length", "+10"),),
    (("Content-Length", "-1"),),
    (("Content-Length", "0x10"),),
    (("Transfer-Encoding", "gzip, chunked"),),
    (CHUNKED, CHUNKED),
    (CHUNKED, ("Content-Length", "")),
    (TEN, ("Transfer-Encoding", "")),
    (("Content-Length", ""),),
    (("Content-Length", "\xa010"),),
]


@pytest.mark.parametrize("headers", SMUGGLED, ids=range(len(SMUGGLED)))
def test_a_request_with_two_ends_is_refused(headers: Headers) -> None:
    with pytest.raises(NoHttpError):
        request(*headers)


def test_how_the_end_is_told() -> None:
    assert isinstance(request(), NoBody)
    assert isinstance(request(CHUNKED), ChunkedBody)
    assert request(TEN, TEN).length == 10
    assert isinstance(answer(), UntilEnd)
    assert isinstance(answer(("Transfer-Encoding", "gzip, Chunked")), ChunkedBody)
    assert isinstance(answer(TEN, method="HEAD"), NoBody)
    assert isinstance(answer(TEN, status=304), NoBody)
    with pytest.raises(NoHttpError):
        request(CHUNKED, minor=0)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(ends)]


def read(body: Body, pieces: list[bytes]) -> tuple[bytes, bytes]:
    content, rest = b"", b""
    for piece in pieces:
        found, more = body.take(piece) if not body.is_done else (b"", piece)
        content, rest = content + found, rest + more
    return content, rest


@given(st.lists(st.binary(max_size=40)), st.binary(max_size=20), st.lists(st.integers(0, 400)))
def test_chunks_are_the_same_however_they_are_cut(chunks: list[bytes], rest: bytes, places: list[int]) -> None:
    written = b"".join(map(encode_chunk, chunks)) + encode_last_chunk()
    body = ChunkedBody()
    assert read(body, cut(written + rest, places)) == (b"".join(chunks), rest)
    assert body.is_done
    body.end()


@given(st.lists(st.binary(max_size=40)), st.integers(0, 400))
def test_no_beginning_of_chunks_is_taken_for_the_whole(chunks: list[bytes], length: int) -> None:
    written = b"".join(map(encode_chunk, chunks)) + encode_last_chunk()
    body = ChunkedBody()
    body.take(written[: min(length, len(written) - 1)])
    with pytest.raises(NoHttpError, match="unexpected EOF"):
        body.end()


@given(st.binary(max_size=100), st.binary(max_size=20), st.lists(st.integers(0, 150)))
def test_a_length_is_kept_however_it_is_cut(content: bytes, rest: bytes, places: list[int]) -> None:
    body = FixedBody(len(content))
    assert read(body, cut(content + rest, places)) == (content, rest)
    body.end()


BAD_CHUNKS = [b"x\r\n", b"-1\r\n", b"5\r\nhelloX\r\n", b"\r\n", b"5 5\r\n", b"1" * 5000, b"1" * 20 + b"\r\n"]


@pytest.mark.parametrize("data", BAD_CHUNKS, ids=range(len(BAD_CHUNKS)))
def test_what_is_no_chunk_is_told(data: bytes) -> None:
    with pytest.raises(NoHttpError):
        ChunkedBody().take(data)


LINES = [b"2;a\nhi\r\n0\r\n\r\n", b"2\r\nhi\n0\r\n\r\n", b"0\r\nX: y\n\r\n", b"0\r\n\n", b"0\r\nX: a\rb\r\n\r\n"]


@pytest.mark.parametrize("data", LINES)
def test_lines_that_two_readers_end_differently_are_refused_in_requests_alone(data: bytes) -> None:
    with pytest.raises(NoHttpError):
        request(CHUNKED).take(data)
    body = answer(CHUNKED)
    body.take(data)
    assert body.is_done


def test_many_small_chunks_are_read_in_one_go() -> None:
    """They were copied once for each of them: seconds for what one connection may hold."""
    body = ChunkedBody()
    assert timeit(lambda: body.take(b"1\r\na\r\n" * 80_000), number=1, timer=process_time) < 1.0


def test_extensions_and_trailers_are_framing() -> None:
    assert ChunkedBody().take(b"2;a=b\r\nhi\r\n0\r\nX: y\r\n\r\nnext") == (b"hi", b"next")
