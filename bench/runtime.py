"""The loop alone, on one core: Pod events decoded and cached, what a cached Pod weighs, looks that find nothing to do.

Pods are those of RayClusters, 6 kB each, and come as the bytes of a watch through the reflector, with a controller and
an index listening. Beside it, in the same run, msgspec makes plain dicts of the same bytes and keeps them. Rates are by
processor time, of the best of many rounds: the slower ones measure what else runs on the core (their median stands
beside). Bars: 15,000 events/s, 3 kB for a Pod, 5,000 looks/s.
"""

import asyncio
import gc
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.views.pods import POD, PODS, Pod
from heliostat.kube.objects import Key
from heliostat.kube.plan import Event, Plan
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.cache import Cache, CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.client import Client
from heliostat.runtime.host import Host, Surroundings
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.metrics import Registry
from heliostat.runtime.reconciler import Source, Subject, its_controller, itself, subject_of
from heliostat.runtime.reflector import Reflector
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.runtime.watch import WatchSettings
from heliostat.runtime.watch_lines import LineDecoder
from load.pods import NODES, PodTemplate, make_template

EVENTS, ROUNDS = 2_000, 15
WEIGHED, WEIGHED_DICTS = 20_000, 2_000
LOOKED_AT, LOOKS = 1_000, 20_000
CHUNK_LINES = 10  # in one chunk of a busy watch: 64 kB
BARS = {"events": 15_000, "bytes": 3_000, "looks": 5_000}
END_OF_LIST = (
    b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":'
    b'{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


class Replay:
    """A transport whose only watch tells what was prepared; it notes the processor time before each part and after."""

    def __init__(self, parts: Sequence[Sequence[bytes]]) -> None:
        self.moments: list[float] = []
        self.is_over = asyncio.Event()
        self._parts = parts
        self._chunks = self._tell()

    async def open(self, _call: Call, _seconds: float) -> Reply | Chunks:
        return self

    async def send(self, call: Call, _seconds: float) -> NoReturn:
        raise AssertionError(f"nobody should ask for {call}")

    async def close(self) -> None: ...

    async def aclose(self) -> None: ...

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk: bytes | None = next(self._chunks, None)
        if chunk is None:
            self.is_over.set()
            await asyncio.Event().wait()  # the watch stays open
        assert chunk is not None
        return chunk

    def _tell(self) -> Any:
        for part in self._parts:
            self.moments.append(time.process_time())
            yield from part
        self.moments.append(time.process_time())

    def seconds(self) -> list[float]:
        return [end - begin for begin, end in zip(self.moments, self.moments[1:], strict=False)]


class Watcher:
    """A controller of RayClusters with nothing to do: the keys of its Pods' owners, or the Pods themselves."""

    name = "watcher"

    def __init__(self, caches: Caches, *, by_owner: bool) -> None:
        self._pods = caches.of(PODS)
        self._keys_of = its_controller("ray.io/v1", "RayCluster") if by_owner else itself

    def sources(self) -> Sequence[Source]:
        return (Source(self._pods, self._keys_of),)

    def subject(self, key: Key) -> Subject | None:
        pod = self._pods.get(key)
        return subject_of(pod, POD.api_version, POD.kind) if pod is not None else None

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  there is never anything to do
        return Plan()


class Silent:
    def record(self, subject: Subject, event: Event) -> None: ...


def build_host(transport: Replay) -> Host:
    """As the control plane builds it, with its metrics."""
    metrics = LoopMetrics(Registry())
    client = Client(transport, clock=asyncio.get_running_loop().time, observe=metrics.exchanged)
    around = Surroundings(
        now=time.time,
        chance=random.random,
        random_bytes=random.randbytes,
        recorder_of=lambda _name: Silent(),
        observer=metrics,
        on_problem=_refuse,
    )
    return Host(client, ResourceTypes(), around)


def _refuse(what: str, error: Exception) -> None:
    raise SystemExit(f"{what}: {error!r}")


def build_parts(template: PodTemplate) -> list[list[bytes]]:
    """The list, then rounds in which the container of every Pod is restarted."""
    first = [b"".join(template.lines("ADDED", range(EVENTS), 1)), END_OF_LIST % EVENTS]
    rounds = []
    for turn in range(1, ROUNDS + 1):
        lines = list(template.lines("MODIFIED", range(EVENTS), EVENTS * turn + 1, restarted=turn))
        rounds.append([b"".join(lines[at : at + CHUNK_LINES]) for at in range(0, EVENTS, CHUNK_LINES)])
    return [first, *rounds]


class Rate(Struct, frozen=True):
    """How many a second."""

    best: float
    median: float


def rate_of(count: int, seconds: Sequence[float]) -> Rate:
    return Rate(count / min(seconds), count / statistics.median(seconds))


async def measure_events(parts: list[list[bytes]]) -> tuple[Rate, Rate]:
    """Of the first list, and of what came after."""
    transport = Replay(parts)
    host = build_host(transport)
    cache = host.caches.of(PODS)
    cache.add_index(lambda pod: (pod.spec.node_name,))
    host.add(Watcher(host.caches, by_owner=True)).connect()
    client = Client(transport, clock=asyncio.get_running_loop().time)
    reflector = Reflector(client, cache, settings=WatchSettings(), chance=random.random, on_problem=_refuse)
    watching = asyncio.create_task(reflector.run())
    await asyncio.wait({watching, asyncio.create_task(transport.is_over.wait())}, return_when=asyncio.FIRST_COMPLETED)
    watching.cancel()
    assert len(cache) == EVENTS, f"{len(cache)} Pods in the cache"
    assert cache.revision == EVENTS * (ROUNDS + 1), f"the view stands at {cache.revision}"
    listed, *rounds = transport.seconds()
    return rate_of(EVENTS, [listed]), rate_of(EVENTS, rounds)


def measure_dicts(parts: list[list[bytes]]) -> tuple[Rate, Rate]:
    """The same bytes as plain dicts, kept by name: the first list, and what came after."""
    kept: dict[str, Any] = {}
    seconds = []
    for part in parts:
        begun = time.process_time()
        for line in b"".join(part).split(b"\n"):
            if line:
                tree = msgspec.json.decode(line)["object"]
                kept[tree["metadata"].get("name", "")] = tree
        seconds.append(time.process_time() - begun)
    return rate_of(EVENTS, seconds[:1]), rate_of(EVENTS, seconds[1:])


def weigh_pods(template: PodTemplate, count: int) -> float:
    lines = template.lines("ADDED", range(count), 1)
    cache: Cache[Pod] = Cache(PODS)
    writer, decoder = CacheWriter(cache), LineDecoder(Pod)

    def fill() -> object:
        for line in lines:
            told: Any = decoder.line(line)
            writer.put(told.object)
        return cache

    return _weigh(fill, count)


def weigh_dicts(template: PodTemplate, count: int) -> float:
    lines = template.lines("ADDED", range(count), 1)
    return _weigh(lambda: [msgspec.json.decode(line)["object"] for line in lines], count)


def _weigh(fill: Callable[[], object], count: int) -> float:
    gc.collect()
    tracemalloc.start()
    kept = fill()
    gc.collect()
    weight, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return weight / count


async def measure_looks(template: PodTemplate) -> Rate:
    """Queue, subject, freshness, plan, executor, metrics."""
    host = build_host(Replay(()))
    writer, decoder = CacheWriter(host.caches.of(PODS)), LineDecoder(Pod)
    for line in template.lines("ADDED", range(LOOKED_AT), 1):
        told: Any = decoder.line(line)
        writer.put(told.object)
    controller = host.add(Watcher(host.caches, by_owner=False))
    keys = [pod.metadata.key for pod in host.caches.of(PODS)]
    running = asyncio.create_task(controller.run())
    seconds = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(LOOKS // LOOKED_AT):
            for key in keys:
                controller.queue.add(key)
            while len(controller.queue):
                await asyncio.sleep(0)
        seconds.append(time.process_time() - begun)
    controller.queue.close()
    await running
    return rate_of(LOOKS, seconds)


class Figure(Struct, frozen=True):
    what: str
    value: float
    median: float = 0.0
    beside: float = 0.0  # what plain dicts have
    bar: float = 0.0
    less_is_better: bool = False

    @property
    def is_met(self) -> bool:
        return not self.bar or (self.value <= self.bar if self.less_is_better else self.value >= self.bar)

    def __str__(self) -> str:
        median = f"({self.median:,.0f})" if self.median else ""
        beside = f"dicts {self.beside:>8,.0f}  {self.value / self.beside:5.2f}x" if self.beside else ""
        bar = f"bar {self.bar:,.0f}: {'met' if self.is_met else 'MISSED'}" if self.bar else ""
        return f"{self.what:<34} {self.value:>8,.0f} {median:<10} {beside:<24} {bar}".rstrip()


def main() -> int:
    template = make_template()
    parts = build_parts(template)
    listed, told = asyncio.run(measure_events(parts))
    listed_dicts, told_dicts = measure_dicts(parts)
    del parts
    looks = asyncio.run(measure_looks(template))
    print(f"a Pod has {len(template.pod(0, 1)):,} bytes of JSON; {NODES} nodes")
    figures = (
        Figure("Pod events decoded and cached/s", told.best, told.median, told_dicts.best, BARS["events"]),
        Figure("Pods of the first list/s", listed.best, beside=listed_dicts.best),
        Figure(
            "bytes for a cached Pod",
            weigh_pods(template, WEIGHED),
            beside=weigh_dicts(template, WEIGHED_DICTS),
            bar=BARS["bytes"],
            less_is_better=True,
        ),
        Figure("looks that find nothing to do/s", looks.best, looks.median, bar=BARS["looks"]),
    )
    for figure in figures:
        print(figure)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
