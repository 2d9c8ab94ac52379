"""Something of an object has vanished: before it is made anew, the server itself says whether the object still lives.

The cache of the object may be the last to know of its end; made from that view, its parts would be collected and made
again until the watch catches up. Here only the test writes to the cache.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from heliostat.kube.objects import Metadata, Object, OwnerReference
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.cache import CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.controller import Controller
from heliostat.runtime.executor import Executor
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.queue import WorkQueue
from heliostat.runtime.writing import Writing
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, Notebook, SmallServer, eventually, small_server
from runtime.test_host import MAPS, Children, children, parent


class Scene:
    """A parent that wants one child and, as far as the cache shows, has it."""

    def __init__(self, server: SmallServer, shown: Object) -> None:
        self.shown = shown
        self.notebook = Notebook()
        caches = Caches()
        self.cache = CacheWriter(caches.of(MAPS))
        freshness = Freshness(caches)
        writing = Writing(server.client, ResourceTypes((CONFIG_MAP,)), freshness, random_bytes=bytes)
        self.controller = Controller(
            Children(caches),
            Executor(writing, self.notebook),
            freshness,
            WorkQueue(chance=lambda: 0.5),
            now=lambda: 0.0,
            workers=1,
            observer=self.notebook,
        )
        owner = OwnerReference("v1", "ConfigMap", "parent", shown.metadata.uid, controller=True)
        version = shown.metadata.resource_version
        metadata = Metadata(
            name="parent-0", namespace="default", uid="c", resource_version=version, owner_references=(owner,)
        )
        self.child = Object(metadata)
        self.cache.replace([shown, self.child], int(version))
        self.controller.connect()

    async def lose_the_child(self) -> None:
        await eventually(lambda: "quiet" in self.notebook.results)
        self.cache.remove(self.child)


@asynccontextmanager
async def scene(server: SmallServer) -> AsyncIterator[Scene]:
    made = Scene(server, msgspec.json.decode(await server.client.create(CONFIG_MAP, parent(1)), type=Object))
    task = asyncio.create_task(made.controller.run())
    try:
        yield made
    finally:
        made.controller.queue.close()
        await task


def test_nothing_is_made_for_an_object_that_is_gone_over_there() -> None:
    async def scenario() -> None:
        async with small_server() as server, scene(server) as play:
            await server.client.delete(CONFIG_MAP, "default", "parent", uid=play.shown.metadata.uid)
            await play.lose_the_child()
            await eventually(lambda: "stale" in play.notebook.results)
            await asyncio.sleep(60)
            assert children(server) == 0
            play.cache.remove(play.shown)
            await eventually(lambda: play.notebook.results[-1] == "gone")

    run_virtual(scenario())


def test_for_one_that_lives_it_is_made_at_once() -> None:
    async def scenario() -> None:
        async with small_server() as server, scene(server) as play:
            await play.lose_the_child()
            await eventually(lambda: children(server) == 1, seconds=0.5)
            assert play.notebook.failures == []

    run_virtual(scenario())


def test_an_object_that_nothing_has_left_is_not_asked_for() -> None:
    async def scenario() -> None:
        async with small_server() as server, scene(server) as play:
            more = msgspec.json.decode(await server.client.create(CONFIG_MAP, parent(2, "other")), type=Object)
            play.cache.put(more)
            await eventually(lambda: children(server, "other") == 2)
            assert [request.path for request in server.requests if request.method == "GET"] == []

    run_virtual(scenario())
