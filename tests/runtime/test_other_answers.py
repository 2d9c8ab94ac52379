"""An answer of 200 that is not what was asked for: told, tried again, and no reason to end."""

import asyncio
from typing import Self

import pytest

from heliostat.kube.objects import Object
from heliostat.kube.plan import Create, Delete, Patch, Ref
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.caches import Caches
from heliostat.runtime.client import Client
from heliostat.runtime.errors import AmbiguousError, OtherAnswerError, UnavailableError
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.reflector import Reflector
from heliostat.runtime.transport import Call, Chunks, Reply, Transport
from heliostat.runtime.watch import WatchSettings
from heliostat.runtime.watch_lines import BrokenLine, LineDecoder
from heliostat.runtime.writing import Writing
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, eventually, small_server

STATUS = b'{"kind":"Status","status":"Failure","message":"etcd is away","code":500}'
OTHER = {
    "a page": (b"<html>maintenance</html>", "<html>maintenance</html>"),
    "a status": (STATUS, "etcd is away"),
    "nothing": (b"", "Input data was truncated"),
    "a number": (b"7", "7"),
    "a list of something": (b'[{"metadata":{}}]', "Expected `object`, got `array`"),
    "objects without metadata": (b'{"metadata":{},"items":[7]}', "Expected `object`, got `int`"),
    "bytes": (b'{"metadata":{"resourceVersion":"\xff"}}', ""),
}


class Bytes:
    def __init__(self, *chunks: bytes) -> None:
        self._left = list(chunks)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop(0)

    async def aclose(self) -> None:
        self._left = []


class Proxy:
    """Answers everything by itself, for as long as it is told to."""

    def __init__(self, transport: Transport, body: bytes) -> None:
        self._transport = transport
        self._body = body
        self.is_between = True
        self.asked = 0

    async def send(self, call: Call, seconds: float) -> Reply:
        self.asked += 1
        return Reply(200, self._body) if self.is_between else await self._transport.send(call, seconds)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        self.asked += 1
        return Bytes(self._body + b"\n") if self.is_between else await self._transport.open(call, seconds)

    async def close(self) -> None:
        await self._transport.close()


@pytest.mark.parametrize("body", [body for body, _ in OTHER.values()], ids=list(OTHER))
@pytest.mark.parametrize("streaming", [True, False], ids=["watch", "list"])
def test_it_is_tried_again_ever_more_slowly_until_the_server_itself_answers(body: bytes, *, streaming: bool) -> None:
    async def scenario() -> None:
        async with small_server() as server:
            proxy, told = Proxy(server.transport, body), list[Exception]()
            reflector: Reflector[Object] = Reflector(
                Client(proxy, clock=asyncio.get_running_loop().time),
                Cache(CachedKind(CONFIG_MAP, Object)),
                settings=WatchSettings(streaming=streaming),
                chance=lambda: 0.5,
                on_problem=lambda _where, error: told.append(error),
            )
            running = asyncio.create_task(reflector.run())
            await asyncio.sleep(60)
            assert 5 <= proxy.asked <= 12
            assert not reflector.cache.synced.is_set()
            assert all(isinstance(error, UnavailableError) for error in told)
            proxy.is_between = False
            await eventually(reflector.cache.synced.is_set, 16)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run_virtual(scenario())


@pytest.mark.parametrize(("body", "words"), list(OTHER.values()), ids=list(OTHER))
def test_it_says_what_came_and_shows_nothing_of_objects(body: bytes, words: str) -> None:
    with pytest.raises(OtherAnswerError) as caught:
        LineDecoder(Object).page(body)
    assert words in str(caught.value)
    with pytest.raises(OtherAnswerError) as caught:
        LineDecoder(Object).page(b'{"items":"hidden"}')
    assert "hidden" not in str(caught.value)


def test_a_status_where_an_event_should_be_is_another_answer() -> None:
    found = LineDecoder(Object).line(STATUS)
    assert isinstance(found, OtherAnswerError)
    assert "etcd is away" in str(found)


def test_a_line_that_was_cut_off_is_a_broken_one() -> None:
    assert isinstance(LineDecoder(Object).line(STATUS[:20]), BrokenLine)


@pytest.mark.parametrize(
    "action",
    [
        Create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}, "Missing"),
        Patch(Ref("v1", "ConfigMap", "ns", "a"), "u", "1", {"data": {}}, "Drifted"),
        Delete(Ref("v1", "ConfigMap", "ns", "a"), "u", "Surplus"),
    ],
)
def test_a_write_that_somebody_else_answered_is_in_doubt(action: Create | Patch | Delete) -> None:
    async def scenario() -> None:
        async with small_server() as server:
            clock = asyncio.get_running_loop().time
            client = Client(Proxy(server.transport, b"<html>maintenance</html>"), clock=clock, request_seconds=4.0)
            freshness = Freshness(Caches())
            writing = Writing(client, ResourceTypes((CONFIG_MAP,)), freshness, random_bytes=bytes)
            with pytest.raises(AmbiguousError, match="answered with something else"):
                await writing.carry_out("owner", action)
            assert [doubt.ref.name for doubt in freshness.unsettled("owner")] == ["a"]

    run_virtual(scenario())
