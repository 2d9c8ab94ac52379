"""Optional caches: work starts without one, its objects are known as soon as they can be read, and nobody is killed.

Somebody else serves it (an aggregated API, a conversion webhook), and may be away while the API server itself is well.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.client import Client
from heliostat.runtime.errors import UnavailableError
from heliostat.runtime.transport import Call, Chunks, Reply, Transport
from heliostat.runtime.watch import WatchSettings
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, Notebook, SmallServer, build_host, eventually, running, small_server
from runtime.test_deaf_watch import Nothing
from runtime.test_host import Children, parent

SECRETS: CachedKind[Object] = CachedKind(ResourceType("v1", "Secret", "secrets"), Object)
USUAL = WatchSettings()
AWAY = [
    Reply(
        503, b'{"reason":"ServiceUnavailable","message":"the server is currently unable to handle the request"}', "1"
    ),
    Reply(500, b'{"reason":"InternalError","message":"conversion webhook failed"}'),
    Reply(429, b'{"reason":"TooManyRequests","message":"too many requests"}', "1"),
]


class Gateway:
    """In the place of Secrets it gives an answer of its own, for as long as there is one; "silence" never ends."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.instead: Reply | str | None = None

    async def send(self, call: Call, seconds: float) -> Reply:
        if self.instead is None or not call.path.endswith("/secrets"):
            return await self._transport.send(call, seconds)
        if isinstance(self.instead, Reply):
            return self.instead
        await asyncio.sleep(seconds)
        raise UnavailableError("no answer")

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        if not call.path.endswith("/secrets") or self.instead is None:
            return await self._transport.open(call, seconds)
        if isinstance(self.instead, Reply):
            return self.instead
        answer = await self._transport.open(call, seconds)
        assert not isinstance(answer, Reply)
        return Nothing(answer)

    async def close(self) -> None:
        await self._transport.close()


class Scene:
    def __init__(self, server: SmallServer) -> None:
        self.gateway = Gateway(server.transport)
        self.notebook = Notebook()
        server.client = Client(self.gateway, clock=asyncio.get_running_loop().time)
        self.host = build_host(server, self.notebook)
        self.secrets: Cache[Object] = self.host.caches.dispensable(SECRETS)
        self.host.add(Children(self.host.caches))


@asynccontextmanager
async def scene(instead: Reply | str) -> AsyncIterator[Scene]:
    async with small_server() as server:
        await server.client.create(CONFIG_MAP, parent(0))
        made = Scene(server)
        made.gateway.instead = instead
        yield made


@pytest.mark.parametrize("instead", [*AWAY, "silence"], ids=["503", "500", "429", "silence"])
def test_the_work_begins_without_it(instead: Reply | str) -> None:
    async def scenario() -> None:
        async with scene(instead) as play, running(play.host):
            await eventually(lambda: "quiet" in play.notebook.results, USUAL.first_list_seconds + 5)
            assert play.secrets.refused
            assert not play.secrets.synced.is_set()

    run_virtual(scenario())


@pytest.mark.parametrize("instead", AWAY, ids=["503", "500", "429"])
def test_it_is_known_when_it_can_be_read_again(instead: Reply) -> None:
    async def scenario() -> None:
        async with scene(instead) as play, running(play.host):
            await asyncio.sleep(200)
            assert play.secrets.refused in instead.body.decode()
            play.gateway.instead = None
            await eventually(play.secrets.synced.is_set, USUAL.backoff.limit + 1)
            assert play.secrets.refused == ""

    run_virtual(scenario())


@pytest.mark.parametrize("instead", AWAY, ids=["503", "500", "429"])
def test_nobody_is_started_anew_because_of_it(instead: Reply) -> None:
    async def scenario() -> None:
        async with scene(instead) as play, running(play.host):
            for _ in range(300):
                await asyncio.sleep(1)
                assert play.host.problems() == []

    run_virtual(scenario())


def test_a_view_that_is_needed_is_waited_for_and_told() -> None:
    async def scenario() -> None:
        async with scene(AWAY[0]) as play:
            play.host.caches.drop(SECRETS)
            needed = play.host.caches.of(SECRETS)
            async with running(play.host):
                await asyncio.sleep(USUAL.stuck_seconds + 2)
                assert not play.host.has_begun
                assert needed.refused == ""
                assert len(play.host.problems()) == 1

    run_virtual(scenario())


def test_told_to_stop_while_it_waits_it_ends_at_once() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with scene(AWAY[0]) as play:
            async with running(play.host):
                await asyncio.sleep(1)
                assert not play.host.has_begun
                told = loop.time()
            assert loop.time() == told

    run_virtual(scenario())
