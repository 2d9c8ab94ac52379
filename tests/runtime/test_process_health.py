"""When a process calls itself ready: at work with complete caches, or standing by with the lease in sight."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.cache import CachedKind, CacheWriter
from heliostat.runtime.client import Client, Exchange
from heliostat.runtime.errors import ForbiddenError
from heliostat.runtime.host import Host, Surroundings
from heliostat.runtime.logs import Log
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.metrics import Registry
from heliostat.runtime.problems import Problems
from heliostat.runtime.process_health import LeaseSight, ProcessHealth
from runtime.small_api import SmallApi, small_api

PODS: CachedKind[Object] = CachedKind(ResourceType("v1", "Pod", "pods"), Object)
NODES: CachedKind[Object] = CachedKind(ResourceType("v1", "Node", "nodes", is_namespaced=False), Object)


def exchange(verb: str, outcome: str) -> Exchange:
    return Exchange(verb, "leases.coordination.k8s.io", outcome, 0.0, 0.0)


class World:
    def __init__(self, client: Client) -> None:
        self.problems = Problems(Log("test"), lambda: 0.0)
        self.health = ProcessHealth(lambda: 0.0, self.problems, lambda _lag: None)
        self.host = Host(client, ResourceTypes(), surroundings(self.problems))

    def ready(self) -> dict[str, str | None]:
        return {finding.name: finding.problem for finding in self.health.checks.readyz().findings}


def surroundings(problems: Problems) -> Surroundings:
    def nobody(_name: str) -> Any:
        raise AssertionError("no controller works here")

    return Surroundings(
        now=lambda: 0.0,
        chance=lambda: 0.0,
        random_bytes=bytes,
        recorder_of=nobody,
        observer=LoopMetrics(Registry()),
        on_problem=problems.note,
    )


def play(scenario: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        api: SmallApi
        async with small_api() as api:
            await scenario(World(api.client()))

    asyncio.run(run())


def test_it_is_ready_when_the_caches_it_was_built_on_are_complete() -> None:
    async def scenario(world: World) -> None:
        assert world.ready()["caches"] == "not synced yet"
        pods, nodes = world.host.caches.of(PODS), world.host.caches.of(NODES)
        world.health.watch_over(world.host)
        CacheWriter(pods).replace([], 1)
        world.problems.note("watch of nodes", ForbiddenError(403, "Forbidden", "nodes is forbidden"))
        assert world.ready()["caches"] == "1 of 2 are not complete: nodes is forbidden"
        CacheWriter(nodes).replace([], 1)
        assert world.ready()["caches"] == "not synced yet"
        world.host.has_begun = True
        assert world.ready()["caches"] is None

    play(scenario)


def test_a_cache_that_comes_later_is_not_waited_for() -> None:
    async def scenario(world: World) -> None:
        world.health.watch_over(world.host)
        world.host.caches.of(PODS)
        world.host.has_begun = True
        assert world.ready()["caches"] is None

    play(scenario)


def test_a_stand_by_is_ready_once_it_has_seen_the_lease() -> None:
    async def scenario(world: World) -> None:
        sight = LeaseSight()
        world.health.stand_by(sight)
        assert world.ready()["caches"] is None
        assert world.ready()["lease"] == "the lease has not been read"
        sight.exchanged(exchange("get", "200"))
        assert world.ready()["lease"] is None

    play(scenario)


@pytest.mark.parametrize("outcome", ["200", "404"])
def test_a_lease_that_cannot_be_written_is_told_until_it_can(outcome: str) -> None:
    sight = LeaseSight()
    sight.exchanged(exchange("get", outcome))
    sight.failed("create the lease", ForbiddenError(403, "Forbidden", "leases is forbidden"))
    sight.exchanged(exchange("get", outcome))
    assert sight.problem() == "create the lease: leases is forbidden"
    sight.exchanged(exchange("create", "201"))
    assert sight.problem() is None


def test_a_lease_that_cannot_be_read_any_more_is_told() -> None:
    sight = LeaseSight()
    sight.exchanged(exchange("get", "200"))
    sight.failed("read the lease", TimeoutError("too late"))
    assert sight.problem() == "read the lease: too late"
