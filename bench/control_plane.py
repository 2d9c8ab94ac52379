"""A whole control plane at work: 1,000 Pods of 6 kB made, placed, reported ready by simulated nodes, and deleted again.

Ours (API server and all controllers, one process) and the real one (etcd, kube-apiserver, kube-controller-manager,
kube-scheduler, with kwok's nodes), one after the other, several times. A process of its own asks over HTTPS and sees in
a watch how far things are. Times are medians in seconds from the first request; bars: at least as fast, and at most
100 MB at rest with the ray.io CRDs.
"""

import argparse
import asyncio
import ssl
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from heliostat.api.crds import all_crds
from load.control_planes import find_hindrance, own_plane, real_plane
from load.pods import PODS, build_worker
from load.targets import Target, memory_mb, processor_seconds

COUNT, MACHINES, ROUNDS, CONNECTIONS = 1_000, 50, 3, 32
LIMIT_SECONDS = 300.0
REST_SECONDS = 5.0
BAR_MEGABYTES = 100.0
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Times(Struct, frozen=True):
    """Seconds since the first request of its half; and the processor time of the server's side for all of it."""

    created: float
    scheduled: float
    ready: float
    gone: float
    processor: float

    @property
    def whole(self) -> float:
        return self.ready + self.gone


class _Metadata(Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str


class _Spec(Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Condition(Struct, frozen=True):
    type: str
    status: str


class _Status(Struct, frozen=True):
    conditions: list[_Condition] = []


class _Pod(Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Line(Struct, frozen=True):
    type: str
    object: _Pod


class Progress:
    """What the watch has shown."""

    def __init__(self) -> None:
        self.scheduled: set[str] = set()
        self.ready: set[str] = set()
        self.gone: set[str] = set()
        self.is_watching = asyncio.Event()
        self._version = ""
        self._reached: dict[str, asyncio.Event] = {name: asyncio.Event() for name in ("scheduled", "ready", "gone")}
        self._decoder = msgspec.json.Decoder(_Line)

    async def follow(self, session: aiohttp.ClientSession) -> None:
        """As clients do: kube-apiserver closes watches that cannot keep up, and they go on where they were."""
        async with session.get(PODS, params={"limit": "1"}) as listed:
            self._version = msgspec.json.decode(await listed.read())["metadata"]["resourceVersion"]
        while True:
            params = {"watch": "1", "resourceVersion": self._version}
            async with session.get(PODS, params=params) as watched:
                self.is_watching.set()
                await self._read(watched)

    async def _read(self, watched: aiohttp.ClientResponse) -> None:
        rest = b""
        async for chunk in watched.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(self._decoder.decode(line))

    def _take(self, line: _Line) -> None:
        pod = line.object
        name, self._version = pod.metadata.name, pod.metadata.resource_version
        if line.type == "DELETED":
            self._note("gone", self.gone, name)
            return
        if pod.spec.node_name:
            self._note("scheduled", self.scheduled, name)
        if any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions):
            self._note("ready", self.ready, name)

    def _note(self, what: str, names: set[str], name: str) -> None:
        names.add(name)
        if len(names) == COUNT:
            self._reached[what].set()

    async def reached(self, what: str) -> float:
        """The moment when all had come so far."""
        try:
            await asyncio.wait_for(self._reached[what].wait(), LIMIT_SECONDS)
        except TimeoutError:
            seen = f"{len(self.scheduled)} scheduled, {len(self.ready)} ready, {len(self.gone)} gone"
            raise SystemExit(f"after {LIMIT_SECONDS:.0f} s not all Pods are {what}: {seen}") from None
        return time.perf_counter()


async def run_round(target: Target, pids: tuple[int, ...], number: int) -> Times:
    trust = ssl._create_unverified_context()  # noqa: S323, SLF001 - loopback, made a moment ago by this script
    headers = {"Authorization": f"Bearer {target.token}", "Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=CONNECTIONS + 1, ssl=trust)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(target.url, headers=headers, connector=connector, timeout=timeout) as session:
        progress = Progress()
        following = asyncio.create_task(progress.follow(session))
        measuring = asyncio.create_task(_measure(session, progress, pids, number))
        await asyncio.wait({following, measuring}, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            measuring.cancel()
            raise SystemExit(f"{target.name}: the watch failed: {following.exception()!r}")
        following.cancel()
        return measuring.result()


async def _measure(session: aiohttp.ClientSession, progress: Progress, pids: tuple[int, ...], number: int) -> Times:
    bodies = [_build_body(f"bench-{number}-{index}") for index in range(COUNT)]
    await progress.is_watching.wait()
    processor = _processor(pids)
    begun = time.perf_counter()
    await _ask(lambda body: _expect(session.post(PODS, data=body), 201), bodies)
    created = time.perf_counter() - begun
    scheduled = await progress.reached("scheduled") - begun
    ready = await progress.reached("ready") - begun
    begun = time.perf_counter()
    names = sorted(progress.ready)
    await _ask(lambda name: _expect(session.delete(f"{PODS}/{name}"), 200), names)
    gone = await progress.reached("gone") - begun
    return Times(created, scheduled, ready, gone, _processor(pids) - processor)


def _processor(pids: Iterable[int]) -> float:
    return sum(map(processor_seconds, pids))


def _build_body(name: str) -> bytes:
    """Nobody owns it: a Pod whose owner is missing would be collected."""
    worker = build_worker()
    metadata = {key: value for key, value in worker["metadata"].items() if key != "ownerReferences"}
    return msgspec.json.encode({**worker, "metadata": {**metadata, "name": name}})


async def _ask(call: Callable[[Any], Awaitable[None]], items: Iterable[Any]) -> None:
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await call(item)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))


async def _expect(answering: Any, status: int) -> None:
    async with answering as answer:
        body = await answer.read()
        if answer.status != status:
            raise SystemExit(f"{answer.url}: {answer.status} {body.decode()[:500]}")


def rest(target: Target) -> float:
    """Megabytes at rest, with the ray.io CRDs."""
    for crd in all_crds():
        target.call("POST", CRDS, crd)
    time.sleep(REST_SECONDS)
    return target.memory_mb()


def repeat(target: Target, beside: tuple[int, ...], rounds: int) -> Times:
    found = [asyncio.run(run_round(target, (*target.pids, *beside), number)) for number in range(rounds)]
    fields = Times.__struct_fields__
    return Times(*(statistics.median(getattr(times, field) for times in found) for field in fields))


def measure_real(rounds: int) -> tuple[Times, float] | str:
    """Or why not."""
    if hindrance := find_hindrance():
        return hindrance
    with real_plane(MACHINES) as (target, simulating):
        megabytes = rest(target)
        times = repeat(target, simulating, rounds)
        print(f"kwok, which is not counted as memory of the control plane: {sum(map(memory_mb, simulating)):.0f} MB")
        return times, megabytes


def report(mine: Times, own_mb: float, theirs: tuple[Times, float] | None) -> bool:
    rows = [
        ("all created, s", mine.created, theirs and theirs[0].created),
        ("all scheduled, s", mine.scheduled, theirs and theirs[0].scheduled),
        ("all ready, s", mine.ready, theirs and theirs[0].ready),
        ("all gone, s after the first delete", mine.gone, theirs and theirs[0].gone),
        ("made and gone, s", mine.whole, theirs and theirs[0].whole),
        ("processor of the server's side, s", mine.processor, theirs and theirs[0].processor),
        ("memory at rest, MB", own_mb, theirs and theirs[1]),
    ]
    for name, own, other in rows:
        beside = f"real {other:>8,.2f}  {other / own:5.2f}x as good" if other else ""
        print(f"{name:<36} {own:>8,.2f}  {beside}".rstrip())
    is_small = own_mb <= BAR_MEGABYTES
    print(f"at most {BAR_MEGABYTES:.0f} MB: {'met' if is_small else 'MISSED'}")
    return is_small and (theirs is None or _is_as_fast(mine, theirs[0]))


def _is_as_fast(mine: Times, theirs: Times) -> bool:
    """By itself up to the scheduler's last word too: from there on the real one waits for kwok."""
    is_fast = mine.scheduled <= theirs.scheduled and mine.whole <= theirs.whole
    print(f"at least as fast, until all are scheduled and in all: {'met' if is_fast else 'MISSED'}")
    return is_fast


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alone", action="store_true", help="do not start the real control plane")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with own_plane(MACHINES) as target:
        own_mb = rest(target)
        mine = repeat(target, (), options.rounds)
    theirs = "left out" if options.alone else measure_real(options.rounds)
    if isinstance(theirs, str):
        print(f"no real control plane to compare with: {theirs}")
    return 0 if report(mine, own_mb, None if isinstance(theirs, str) else theirs) else 1


if __name__ == "__main__":
    sys.exit(main())
