"""Answers read from asyncio's streams."""

import asyncio
from collections.abc import AsyncGenerator

from heliostat.embedded.http1.bodies import Body
from heliostat.embedded.http1.heads import (
    MOST_HEAD,
    SWITCHED,
    LargeHeadError,
    NoHttpError,
    ResponseHead,
    find_head_end,
    parse_response,
)

_CHUNK = 64 * 1024


async def read_answer(reader: asyncio.StreamReader) -> tuple[ResponseHead, bytes]:
    """The head, and what of the body came with it; heads that only announce another are passed over.

    Raises NoHttpError and OSError.
    """
    data = b""
    while True:
        end = find_head_end(data)
        if max(end, len(data) if end < 0 else 0) > MOST_HEAD:
            raise LargeHeadError("answer")
        if end < 0:
            data += await _read_more(reader, data)
            continue
        head, data = parse_response(data[:end]), data[end:]
        if head.status == SWITCHED or head.status >= 200:
            return head, data


async def _read_more(reader: asyncio.StreamReader, data: bytes) -> bytes:
    more = await reader.read(_CHUNK)
    if more:
        return more
    if data and not data.startswith(b"HTTP/"):
        parse_response(data)
    raise NoHttpError("unexpected EOF" if data else "EOF")


async def read_content(reader: asyncio.StreamReader, body: Body, begun: bytes) -> AsyncGenerator[bytes, None]:
    """Piece by piece; ``begun`` is what is read of it already. Raises NoHttpError and OSError."""
    data = begun
    while not body.is_done:
        if data:
            content, _ = body.take(data)
            if content:
                yield content
        if not body.is_done:
            data = await reader.read(_CHUNK)
            if not data:
                body.end()
                return
