"""Watches whose lines go into a sink while their reader sleeps: the same lines, in the same order, each once."""

import asyncio
from typing import Any

import msgspec
import pytest

from embedded.server.inprocess import ADMIN, DEADLINE, MAPS, Client, config_map, serve
from heliostat.embedded.server.messages import Chunks, Pushed, Request, Stream

EVENTS = 150  # more than a watch is handed at once


class Reader:
    """Takes chunks as a connection does: itself, or pushed, and then it wants a pause every so many of them."""

    def __init__(self, chunks: Chunks, pause_every: int = EVENTS + 1) -> None:
        assert isinstance(chunks, Pushed)
        self.pushed = 0
        self.pauses = 0
        self._received: list[bytes] = []
        self._pause_every = pause_every
        chunks.push_to(self._take)
        self.reading = asyncio.ensure_future(self._read(chunks))

    @property
    def names(self) -> list[str]:
        lines = b"".join(self._received).splitlines()
        return [msgspec.json.decode(line)["object"]["metadata"]["name"] for line in lines]

    async def expect(self, count: int) -> list[str]:
        """Whatever came, once it is so many."""
        async with asyncio.timeout(DEADLINE):
            while len(self.names) < count:
                await asyncio.sleep(0)
        return self.names

    def _take(self, chunk: bytes) -> bool:
        self.pushed += 1
        self._received.append(chunk)
        return self.pushed % self._pause_every != 0

    async def _read(self, chunks: Chunks) -> None:
        async for chunk in chunks:
            self.pauses += not chunk
            self._received.append(chunk)


async def open_chunks(client: Client, **query: str) -> Chunks:
    wanted = {"watch": ["true"], **{key: [value] for key, value in query.items()}}
    answer = await client.core.handle(Request(method="GET", path=MAPS, user=ADMIN, query=wanted))
    assert isinstance(answer, Stream)
    return answer.chunks


async def create_some(client: Client, count: int, turns_between: int = 0, **fields: Any) -> list[str]:
    names = [f"map-{number:04}" for number in range(count)]
    for name in names:
        await client.ok("POST", MAPS, {**config_map(name), **fields})
        for _ in range(turns_between):
            await asyncio.sleep(0)
    return names


@pytest.mark.parametrize("turns_between", [0, 1, 3])
@pytest.mark.parametrize("pause_every", [1, 2, 7, EVENTS + 1])
def test_every_event_comes_once_and_in_order_whoever_takes_it(pause_every: int, turns_between: int) -> None:
    async def test(client: Client) -> None:
        chunks = await open_chunks(client)
        reader = Reader(chunks, pause_every)
        await asyncio.sleep(0)
        names = await create_some(client, EVENTS, turns_between)
        assert await reader.expect(EVENTS) == names
        assert reader.pushed > 0
        await chunks.aclose()
        await asyncio.wait_for(reader.reading, DEADLINE)

    serve(test)


def test_a_reader_that_can_always_take_more_is_never_woken() -> None:
    async def test(client: Client) -> None:
        chunks = await open_chunks(client)
        reader = Reader(chunks)
        await asyncio.sleep(0)
        await create_some(client, 10, turns_between=3)
        await reader.expect(10)
        assert (reader.pushed, reader.pauses) == (10, 0)
        await chunks.aclose()
        await reader.reading

    serve(test)


def test_what_is_too_much_to_push_is_left_to_the_reader() -> None:
    async def test(client: Client) -> None:
        chunks = await open_chunks(client)
        reader = Reader(chunks)
        await asyncio.sleep(0)
        names = await create_some(client, 3, data={"large": "x" * 300_000})
        assert await reader.expect(3) == names
        assert reader.pushed == 0
        await chunks.aclose()
        await reader.reading

    serve(test)


def test_what_goes_wrong_while_pushing_is_met_by_the_reader_alone() -> None:
    async def test(client: Client) -> None:
        broken, sound = await open_chunks(client), await open_chunks(client)

        def refuse(_chunk: bytes) -> bool:
            raise ConnectionError("the client is gone")

        assert isinstance(broken, Pushed)
        broken.push_to(refuse)
        failing = asyncio.ensure_future(anext(broken))
        reader = Reader(sound)
        await asyncio.sleep(0)
        names = await create_some(client, 2)
        assert await reader.expect(2) == names
        assert await failing == b""
        with pytest.raises(ConnectionError):
            await anext(broken)
        await sound.aclose()
        await reader.reading

    serve(test)


def test_many_readers_are_served_with_turns_for_others_in_between() -> None:
    async def test(client: Client) -> None:
        streams = [await open_chunks(client) for _ in range(250)]
        readers = [Reader(chunks) for chunks in streams]
        await asyncio.sleep(0)
        await create_some(client, 1)
        served: list[int] = []
        while not served or served[-1] < len(readers):
            await asyncio.sleep(0)
            served.append(sum(reader.pushed for reader in readers))
        assert [count for count in dict.fromkeys(served) if count] == [100, 200, 250]
        for chunks, reader in zip(streams, readers, strict=True):
            await chunks.aclose()
            await reader.reading

    serve(test)
