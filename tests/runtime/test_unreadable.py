"""An object of a shape that nobody expected: it is not shown, and it is not taken for gone either."""

import asyncio

import msgspec
import pytest

from heliostat.kube.objects import Key, Object
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.reflector import Reflector
from heliostat.runtime.watch import WatchSettings
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, SmallServer, eventually, small_server

KEY = Key("default", "a")


class Picky(Object, frozen=True, gc=False):
    """Of a ConfigMap that holds bytes it knows nothing."""

    binaryData: dict[str, int] = msgspec.field(default_factory=dict)  # noqa: N815


def config_map(content: str) -> dict[str, object]:
    bytes_in_it = {"binaryData": {"x": "AAAA"}} if content == "odd" else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, **bytes_in_it}


async def change(server: SmallServer, content: str) -> None:
    await server.client.patch(CONFIG_MAP, "default", "a", {"binaryData": {"x": "AAAA"} if content == "odd" else None})


def start(server: SmallServer, *, streaming: bool) -> tuple[Cache[Picky], "asyncio.Task[None]"]:
    cache = Cache(CachedKind(CONFIG_MAP, Picky))
    reflector = Reflector(
        server.client,
        cache,
        settings=WatchSettings(streaming=streaming),
        chance=lambda: 0.5,
        on_problem=lambda _where, _error: None,
    )
    return cache, asyncio.ensure_future(reflector.run())


def is_unreadable(cache: Cache[Picky]) -> bool:
    return cache.get(KEY) is None and KEY in cache.unreadable


def is_shown(cache: Cache[Picky]) -> bool:
    return cache.get(KEY) is not None and not cache.unreadable


@pytest.mark.parametrize("streaming", [True, False])
def test_what_cannot_be_read_in_a_list_is_known_to_be_there(streaming: bool) -> None:
    async def scenario() -> None:
        async with small_server() as server:
            await server.client.create(CONFIG_MAP, config_map("odd"))
            cache, running = start(server, streaming=streaming)
            await cache.synced.wait()
            assert is_unreadable(cache)
            assert cache.unreadable[KEY].metadata.uid
            running.cancel()

    run_virtual(scenario())


def test_it_is_told_while_it_is_watched() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            await server.client.create(CONFIG_MAP, config_map("plain"))
            cache, running = start(server, streaming=True)
            await cache.synced.wait()
            heard: list[bool] = []
            cache.subscribe(lambda _before, after: heard.append(after is not None))
            await change(server, "odd")
            await eventually(lambda: is_unreadable(cache), 5)
            await change(server, "plain")
            await eventually(lambda: is_shown(cache), 5)
            assert heard == [True, False, True]
            running.cancel()

    run_virtual(scenario())


def test_one_that_cannot_be_read_may_still_be_deleted() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            await server.client.create(CONFIG_MAP, config_map("odd"))
            cache, running = start(server, streaming=True)
            await cache.synced.wait()
            uid = cache.unreadable[KEY].metadata.uid
            await server.client.delete(CONFIG_MAP, "default", "a", uid=uid)
            await eventually(lambda: not cache.unreadable, 5)
            assert cache.get(KEY) is None
            running.cancel()

    run_virtual(scenario())
