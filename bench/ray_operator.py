"""The operator at work, as a process of its own: how long, how much processor and memory, how many writes.

The measure of time is the floor: a plain client that makes as many bare Pods on the same server and waits until they
are ready. Figures of the processor and counts of writes can be compared between runs; times only with the floor of the
same run. ``--on own`` is our server with simulated nodes (the default), ``--on real`` kube-apiserver with kwok's, which
the bars were set on. ``--quick`` shows in a minute that everything works, not what it costs.
"""

import argparse
import asyncio
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from msgspec import Struct, structs

from heliostat.api.crds import all_crds
from heliostat.kube.jsontree import JsonObject
from load.clusters import CLUSTERS, PODS, build_cluster, build_clusters, build_pods
from load.control_planes import find_hindrance, own_plane, real_plane
from load.following import Follower, followed
from load.operators import Operator, started
from load.targets import Target

T = TypeVar("T")

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MACHINES = 50
RESYNC_SECONDS = 5  # how often the operator looks at everything, while that is measured
RESYNC_VARIABLE = "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV"
CRDS_SECONDS = 30.0
FEW = 8  # large clusters: fewer than the operator has workers
SURPRISE_SECONDS = 1.0  # between small clusters: what their like did to the large one is over by then


class Sizes(Struct, frozen=True):
    clusters: int = 200  # of a head and three workers
    steps: tuple[int, ...] = (200, 1_000, 2_000)  # clusters of a head and one worker, so many in all
    large: int = 999  # workers of the cluster that another is made beside
    crowd: int = 40  # large clusters at once, more than the operator has workers
    crowd_workers: int = 999  # of each of them, of which some are made before they are all deleted again
    rounds: int = 10  # of what is done one after the other
    idle_seconds: float = 10.0


QUICK = Sizes(clusters=20, steps=(20, 40, 60), large=100, crowd_workers=200, rounds=5, idle_seconds=2.0)


class Bar(Struct, frozen=True):
    name: str
    value: float
    limit: float
    unit: str = ""
    counts: bool = True  # False: told for comparison

    @property
    def is_met(self) -> bool:
        return not self.counts or self.value <= self.limit

    def __str__(self) -> str:
        shown = f"{self.name:<66} {self.value:>8.2f} {self.unit:<6}"
        return f"{shown} at most {self.limit:>6g}: {'met' if self.is_met else 'MISSED'}" if self.counts else shown


class Work(Struct, frozen=True):
    """What making some clusters cost."""

    clusters: int
    seconds: float
    processor: float  # of the operator
    server_processor: float
    megabytes: float
    looks: int
    writes: int
    status_writes: int

    @property
    def milliseconds_each(self) -> float:
        return self.processor * 1e3 / self.clusters


def measure_floor(target: Target, count: int) -> tuple[float, float]:
    """Seconds, and the server's processor time."""

    async def run(pods: Follower) -> float:
        return await pods.make(build_pods("bare", count))

    processor = target.processor_seconds()
    seconds = _follow(target, PODS, run)
    processor = target.processor_seconds() - processor
    _follow(target, PODS, Follower.remove_all)
    return seconds, processor


def measure_clusters(target: Target, operator: Operator, prefix: str, count: int, workers: int) -> Work:
    async def run(clusters: Follower) -> float:
        return await clusters.make(build_clusters(prefix, count, workers))

    operator.wait_until_quiet()
    tally, server, processor = operator.tally(), target.processor_seconds(), operator.processor_seconds()
    seconds = _follow(target, CLUSTERS, run)
    server = target.processor_seconds() - server
    operator.wait_until_quiet()  # events and last looks are part of the work
    processor = operator.processor_seconds() - processor
    spent = operator.tally() - tally
    return Work(
        clusters=count,
        seconds=seconds,
        processor=processor,
        server_processor=server,
        megabytes=operator.memory_mb(),
        looks=spent.looks,
        writes=spent.all_writes,
        status_writes=spent.writes["patch", "rayclusters.ray.io"],
    )


def remove_clusters(target: Target) -> None:
    """With an operator running: it may have a part in it."""
    _follow(target, CLUSTERS, Follower.remove_all)
    _follow(target, PODS, Follower.wait_until_gone)


def against_the_floor(target: Target, sizes: Sizes) -> Iterator[Bar]:
    pods = sizes.clusters * 4
    floor, floor_processor = measure_floor(target, pods)
    with started(target) as operator:
        work = measure_clusters(target, operator, "burst", sizes.clusters, 3)
        yield Bar(f"{sizes.clusters} x (1 + 3): time, floor {floor:.1f} s", work.seconds / floor, 2.0, "x")
        server = work.server_processor / floor_processor
        yield Bar("  the server's processor time against that of the floor", server, 0, "x", counts=False)
        yield Bar("  operator's processor for a cluster", work.milliseconds_each, 25.0, "ms")
        yield Bar(f"  operator's memory at {pods:,} Pods", work.megabytes, 80.0, "MB")
        yield Bar("  looks at a cluster", work.looks / work.clusters, 0, counts=False)
        yield Bar("  writes for a cluster", work.writes / work.clusters, 0, counts=False)
        yield Bar("  status writes for a cluster", work.status_writes / work.clusters, 0, counts=False)
        yield from _quiet(operator, sizes.idle_seconds)
    yield from _resync(target, sizes.clusters)


def _quiet(operator: Operator, seconds: float) -> Iterator[Bar]:
    tally = operator.tally()
    time.sleep(seconds)
    yield Bar(f"writes in {seconds:.0f} idle seconds", (operator.tally() - tally).all_writes, 0.0)


def _resync(target: Target, clusters: int) -> Iterator[Bar]:
    """Some rounds, with what an idle operator costs anyway."""
    with started(target, **{RESYNC_VARIABLE: str(RESYNC_SECONDS)}) as operator:
        operator.wait_for_looks(2 * clusters)
        begun, processor = operator.tally(), operator.processor_seconds()
        time.sleep(2 * RESYNC_SECONDS)
        processor = operator.processor_seconds() - processor
        spent = operator.tally() - begun
        yield Bar("a resync: processor for a cluster", processor * 1e3 / max(1, spent.looks), 1.0, "ms")
        yield Bar("  writes of all resyncs", spent.all_writes, 0.0)
        remove_clusters(target)


def one_worker(target: Target, rounds: int) -> Iterator[Bar]:
    """The median of some, one after the other."""
    with started(target) as operator:
        works = [measure_clusters(target, operator, f"small-{each}", 1, 1) for each in range(rounds)]
        yield Bar("a cluster with one worker: status writes", statistics.median(w.status_writes for w in works), 3.0)
        yield Bar("  all writes", statistics.median(w.writes for w in works), 9.0)
        remove_clusters(target)


def growing(target: Target, steps: tuple[int, ...]) -> Iterator[Bar]:
    """More and more clusters of a head and one worker under one operator. The last part: it leaves them behind."""
    costs: list[float] = []
    with started(target) as operator:
        reached = 0
        for number, step in enumerate(steps):
            work = measure_clusters(target, operator, f"step-{number}", step - reached, 1)
            costs.append(work.milliseconds_each)
            at = f"{reached:,} to {step:,} x (1 + 1)"
            yield Bar(f"{at}: {work.seconds:.0f} s, processor for a cluster", work.milliseconds_each, 25.0, "ms")
            is_set = number == len(steps) - 2
            yield Bar(f"  operator's memory at {step * 2:,} Pods", work.megabytes, 120.0, "MB", counts=is_set)
            reached = step
            if is_set:
                yield from _cold_start(target, step)
        yield Bar(f"from {steps[0]:,} to {steps[-1]:,} clusters: cost of a cluster", costs[-1] / costs[0], 1.2, "x")


def _cold_start(target: Target, clusters: int) -> Iterator[Bar]:
    with started(target) as second:
        second.wait_for_looks(clusters)
        yield Bar(f"a cold start on {clusters:,} clusters: processor", second.processor_seconds(), 5.0, "s")
        yield Bar("  memory", second.memory_mb(), 141.0, "MB")
        yield Bar("  writes", second.tally().all_writes, 0.0)


def beside_a_large_one(target: Target, workers: int, rounds: int) -> Iterator[Bar]:
    """Small clusters that come as a surprise, and as a stream of them. And bare Pods of a plain client, for comparison:
    what the server, its scheduler and its nodes make one wait."""
    with started(target) as operator:
        operator.wait_until_quiet()
        undisturbed = _follow(target, CLUSTERS, lambda clusters: clusters.make([build_cluster("large", workers)]))
        remove_clusters(target)
        operator.wait_until_quiet()
        for how, pause in (("now and then", SURPRISE_SECONDS), ("one after the other", 0.0)):
            large = [build_cluster("large", workers)]
            found = asyncio.run(_compare(target, CLUSTERS, lambda name: [build_cluster(name, 1)], large, rounds, pause))
            remove_clusters(target)
            operator.wait_until_quiet()
            times = f"{found.alone:.2f} s alone; {workers + 1:,} Pods: {found.large:.0f} s"
            yield Bar(f"a small cluster beside a large one, {how} ({times})", found.beside / found.alone, 2.0, "x")
    large = build_pods("large", workers + 1)
    pods = asyncio.run(_compare(target, PODS, lambda name: build_pods(name, 2), large, rounds, 0.0))
    _follow(target, PODS, Follower.remove_all)
    name = f"  two bare Pods ({pods.alone:.2f} s alone) beside {workers + 1:,} bare Pods ({pods.large:.0f} s)"
    yield Bar(name, pods.beside / pods.alone, 0, "x", counts=False)
    floor, _processor = measure_floor(target, workers + 1)
    name = f"  one cluster of {workers + 1:,} Pods with nobody beside it ({undisturbed:.0f} s), floor {floor:.1f} s"
    yield Bar(name, undisturbed / floor, 0, "x", counts=False)


def among_many_large_ones(target: Target, crowd: int, workers: int) -> Iterator[Bar]:
    """How long a small cluster waits until the operator begins with it: among more large ones than it has workers, and
    among a few with as many Pods in all. They are deleted in the middle of their making."""
    few = _wait_among(target, FEW, workers * crowd // FEW)
    many = _wait_among(target, crowd, workers)
    times = f"{many:.2f} s, among {FEW} with as many {few:.2f} s"
    yield Bar(f"a small cluster among {crowd} of {workers + 1:,} Pods is begun with ({times})", many / few, 3.0, "x")


def _wait_among(target: Target, crowd: int, workers: int) -> float:
    with started(target) as operator:
        operator.wait_until_quiet()
        for tree in build_clusters("crowd", crowd, workers):
            target.call("POST", CLUSTERS, tree)
        found = [_seconds_until_begun(target, f"small{number}") for number in range(5)]
        remove_clusters(target)
    return statistics.median(found)


def _seconds_until_begun(target: Target, name: str) -> float:
    """Its head Service is the first thing that is made for it."""
    target.call("POST", CLUSTERS, build_cluster(name, 1))
    begun = time.perf_counter()
    while True:
        with suppress(OSError):
            target.call("GET", f"/api/v1/namespaces/default/services/{name}-head-svc")
            return time.perf_counter() - begun
        time.sleep(0.01)


class Beside(Struct, frozen=True):
    """Seconds until ready: medians of the small ones, and the large one."""

    alone: float
    beside: float
    large: float


async def _compare(
    target: Target,
    path: str,
    small: Callable[[str], list[JsonObject]],
    large: list[JsonObject],
    rounds: int,
    pause: float,
) -> Beside:
    """Two clients, so that one does not wait for the other. The last small one may see the large one's end."""
    async with followed(target, path) as mine, followed(target, path) as others:
        alone: list[float] = []
        for number in range(rounds):
            alone.append(await mine.make(small(f"alone{number}")))
            await asyncio.sleep(pause)
        making = asyncio.create_task(others.make(large))
        await asyncio.sleep(0.5)
        beside: list[float] = []
        while not making.done():
            beside.append(await mine.make(small(f"beside{len(beside)}")))
            await asyncio.wait([making], timeout=pause)
        return Beside(statistics.median(alone), statistics.median(beside[:-1] or beside), await making)


def _follow(target: Target, path: str, work: Callable[[Follower], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        async with followed(target, path) as follower:
            return await work(follower)

    return asyncio.run(run())


PARTS: dict[str, Callable[[Target, Sizes], Iterator[Bar]]] = {
    "writes": lambda target, sizes: one_worker(target, sizes.rounds),
    "burst": against_the_floor,
    "beside": lambda target, sizes: beside_a_large_one(target, sizes.large, sizes.rounds),
    "crowd": lambda target, sizes: among_many_large_ones(target, sizes.crowd, sizes.crowd_workers),
    "growing": lambda target, sizes: growing(target, sizes.steps),
}


@contextmanager
def plane(name: str) -> Iterator[Target]:
    if name == "own":
        with own_plane(MACHINES) as target:
            yield target
        return
    if hindrance := find_hindrance():
        raise SystemExit(hindrance)
    with real_plane(MACHINES) as (target, simulating):
        yield structs.replace(target, pids=(*target.pids, *simulating))


def install_crds(target: Target) -> None:
    for crd in all_crds():
        target.call("POST", CRDS, crd)
    deadline = time.monotonic() + CRDS_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError):
            target.call("GET", CLUSTERS)
            return
        time.sleep(0.1)
    raise SystemExit(f"{target.name}: RayClusters were not served within {CRDS_SECONDS:.0f} s")


def run_parts(name: str, parts: list[str], sizes: Sizes) -> bool:
    with plane(name) as target:
        print(f"on {name}, load {os.getloadavg()[0]:.1f}", flush=True)
        install_crds(target)
        are_met = True
        for part, measure in PARTS.items():
            for bar in measure(target, sizes) if part in parts else ():
                print(bar, flush=True)
                are_met &= bar.is_met
        return are_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", choices=("own", "real"), action="append", help="which server; may be given twice")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be given more than once")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--clusters", type=int, help="of a head and three workers")
    parser.add_argument("--steps", type=int, nargs=3, help="clusters of a head and one worker, so many in all")
    parser.add_argument("--large", type=int, help="workers of the large cluster")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, also when time is up
    sizes = QUICK if options.quick else Sizes()
    given = {name: value for name in ("clusters", "steps", "large") if (value := getattr(options, name))}
    sizes = structs.replace(sizes, **given)
    results = [run_parts(name, options.part or [*PARTS], sizes) for name in options.on or ["own"]]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
