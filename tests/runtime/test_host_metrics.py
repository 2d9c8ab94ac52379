"""Queues, workers, watches and caches at the moment of a scrape."""

import asyncio
from collections.abc import Sequence
from itertools import count

import pytest

from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.caches import Caches
from heliostat.runtime.host import Host
from heliostat.runtime.host_metrics import declare_host_metrics
from heliostat.runtime.metrics import Registry
from heliostat.runtime.program import Clocks, Program
from heliostat.runtime.reconciler import Source, Subject, itself, subject_of
from heliostat.testing.virtual_time import run_virtual
from runtime.exposition import parse, samples
from runtime.small_server import CONFIG_MAP, Notebook, build_host, eventually, running, small_server

MAPS: CachedKind[Object] = CachedKind(CONFIG_MAP, Object)


class MapWithData(Object, frozen=True, gc=False):
    data: dict[str, str] | None = None


class Watcher:
    name = "watcher-controller"

    def __init__(self, caches: Caches, breaks_on: str = "") -> None:
        self._maps = caches.of(MAPS)
        self._breaks_on = breaks_on

    def sources(self) -> Sequence[Source]:
        return (Source(self._maps, itself),)

    def subject(self, key: Key) -> Subject | None:
        found = self._maps.get(key)
        return subject_of(found, "v1", "ConfigMap") if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        if key.name == self._breaks_on:
            raise LookupError("a bug in this plan")
        return Plan()


def config_map(name: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"note": name * 500}}


def scrape(host: Host) -> dict[str, float]:
    registry = Registry()
    declare_host_metrics(registry, host, asyncio.get_running_loop().time)
    text = registry.render()
    parse(text)
    return samples(text)


def test_keys_that_wait_are_in_hand_or_failed_are_told() -> None:
    async def work() -> None:
        async with small_server() as server:
            host = build_host(server, Notebook())
            queue = host.add(Watcher(host.caches), workers=3).queue
            for name in "abcd":
                queue.add(Key("default", name))
            await queue.get()
            await asyncio.sleep(2.0)
            await queue.get()
            await asyncio.sleep(0.5)
            queue.retry(Key("default", "z"))
            told = scrape(host)
            labels = '{name="watcher",controller="watcher"}'
            assert told[f"workqueue_depth{labels}"] == 2
            assert told[f"workqueue_adds_total{labels}"] == 4
            assert told[f"workqueue_retries_total{labels}"] == 1
            assert told[f"workqueue_unfinished_work_seconds{labels}"] == 3.0
            assert told[f"workqueue_longest_running_processor_seconds{labels}"] == 2.5
            assert told['controller_runtime_active_workers{controller="watcher"}'] == 2
            assert told['controller_runtime_max_concurrent_reconciles{controller="watcher"}'] == 3
            queue.close()

    run_virtual(work())


def test_a_host_at_rest_has_nothing_in_hand() -> None:
    async def work() -> None:
        async with small_server() as server:
            await server.client.create(CONFIG_MAP, config_map("a"))
            notebook = Notebook()
            host = build_host(server, notebook)
            host.add(Watcher(host.caches, breaks_on="a"))
            async with running(host):
                await eventually(lambda: len(notebook.failures) == 2)
                told = scrape(host)
            assert told['workqueue_retries_total{name="watcher",controller="watcher"}'] == 2
            assert told['workqueue_longest_running_processor_seconds{name="watcher",controller="watcher"}'] == 0
            assert told['controller_runtime_active_workers{controller="watcher"}'] == 0

    run_virtual(work())


def test_a_program_tells_how_long_keys_waited_and_looks_took() -> None:
    async def work() -> None:
        async with small_server() as server:
            await server.client.create(CONFIG_MAP, config_map("a"))
            seconds = count(step=0.25)
            program = Program(
                server.transport,
                instance="test",
                on_problem=lambda what, error: pytest.fail(f"{what}: {error}"),
                types=ResourceTypes((CONFIG_MAP,)),
                clocks=Clocks(stopwatch=lambda: next(seconds)),
            )
            program.host.add(Watcher(program.host.caches), workers=1)
            async with running(program):
                await eventually(lambda: program.metrics.looks.value("watcher", "quiet") > 0)
            told = samples(program.metrics.registry.render())
            looks = told['heliostat_looks_total{controller="watcher",result="quiet"}']
            assert told['controller_runtime_reconcile_time_seconds_sum{controller="watcher"}'] == looks * 0.25
            assert told['workqueue_queue_duration_seconds_count{name="watcher",controller="watcher"}'] == looks

    run_virtual(work())


def test_watches_and_caches_are_told_and_two_of_one_resource_are_one_series() -> None:
    async def work() -> None:
        async with small_server() as server:
            for name in "abc":
                await server.client.create(CONFIG_MAP, config_map(name))
            host = build_host(server, Notebook())
            host.add(Watcher(host.caches))
            alone = host.caches.of(MAPS)
            whole = host.caches.of(CachedKind(CONFIG_MAP, MapWithData))
            async with running(host):
                await eventually(lambda: len(alone) == len(whole) > 0)
                idle = scrape(host)['heliostat_watch_idle_seconds{resource="configmaps"}']
                await asyncio.sleep(3.0)
                told = scrape(host)
            assert told['heliostat_cache_objects{resource="configmaps"}'] == 2 * len(whole)
            assert told['heliostat_cache_bytes{resource="configmaps"}'] > 3 * 500
            assert told['heliostat_watch_received_bytes_total{resource="configmaps"}'] > 2 * 3 * 500
            assert told['heliostat_watch_idle_seconds{resource="configmaps"}'] == idle + 3.0
            assert told['heliostat_watch_restarts_total{resource="configmaps"}'] == 0

    run_virtual(work())
