"""A watch whose bytes get lost: it is noticed and told, and once bytes flow again that is known at once.

The server is at rest all the time, so nothing but the end of a watch can prove anything.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from heliostat.kube.objects import Object
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.client import Client
from heliostat.runtime.reflector import Reflector
from heliostat.runtime.transport import Call, Chunks, Reply, Transport
from heliostat.runtime.watch import WatchSettings
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, eventually, small_server

USUAL = WatchSettings()


class Nothing:
    """Bytes that never come."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        never: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        return await never

    async def aclose(self) -> None:
        await self._chunks.aclose()


class Wire:
    """Watches that are opened while it withholds are never heard of again; while it forbids they are refused."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.withholds = False
        self.forbids = False

    async def send(self, call: Call, seconds: float) -> Reply:
        return await self._transport.send(call, seconds)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        if self.forbids:
            return Reply(403, b'{"reason":"Forbidden","message":"the right to watch was taken"}')
        answer = await self._transport.open(call, seconds)
        return answer if isinstance(answer, Reply) or not self.withholds else Nothing(answer)

    async def close(self) -> None:
        await self._transport.close()


@asynccontextmanager
async def watching() -> AsyncIterator[tuple[Reflector[Object], Wire]]:
    async with small_server() as server:
        wire = Wire(server.transport)
        clock = asyncio.get_running_loop().time
        reflector: Reflector[Object] = Reflector(
            Client(wire, clock=clock),
            Cache(CachedKind(CONFIG_MAP, Object)),
            settings=USUAL,
            chance=lambda: 0.5,
            on_problem=lambda _where, _error: None,
        )
        running = asyncio.create_task(reflector.run())
        try:
            await reflector.cache.synced.wait()
            yield reflector, wire
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def is_red(reflector: Reflector[Object]) -> bool:
    return reflector.problem(asyncio.get_running_loop().time()) is not None


def test_one_deaf_watch_is_replaced_before_anybody_has_to_be_told() -> None:
    async def scenario() -> None:
        async with watching() as (reflector, wire):
            wire.withholds = True
            await asyncio.sleep(USUAL.watch_seconds + 1)  # the watch from before ended, the next one is deaf
            wire.withholds = False
            for _ in range(120):
                await asyncio.sleep(1)
                assert not is_red(reflector)
            assert reflector.silences == 1

    run_virtual(scenario())


def test_the_health_check_is_red_while_nothing_is_heard_and_green_soon_after() -> None:
    async def scenario() -> None:
        async with watching() as (reflector, wire):
            wire.withholds = True
            began = asyncio.get_running_loop().time() + USUAL.watch_seconds  # until then nothing was to be heard
            await eventually(lambda: is_red(reflector), 200)
            assert asyncio.get_running_loop().time() - began < 60
            wire.withholds = False
            deaf_one = USUAL.proof_seconds + USUAL.silence_seconds
            await eventually(lambda: not is_red(reflector), deaf_one + USUAL.proof_seconds + 1)

    run_virtual(scenario())


def test_a_view_that_was_refused_is_believed_again_as_soon_as_it_may_be_watched() -> None:
    """The right was taken for a moment, and nothing has changed since: no line will ever say that it is back."""

    async def scenario() -> None:
        async with watching() as (reflector, wire):
            wire.forbids = True
            await eventually(lambda: reflector.cache.refused == "the right to watch was taken", 60)
            wire.forbids = False
            await eventually(lambda: reflector.cache.refused == "", USUAL.backoff.limit + 1)

    run_virtual(scenario())
