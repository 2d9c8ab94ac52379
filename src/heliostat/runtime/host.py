"""Where controllers live: their caches are filled, then they work, and in the end they finish what they have in hand.

Rules: no controller decides before every cache it was built on is complete; on stop the controllers finish first, then
the watches end; a bug in the loop itself ends the host, so that the process starts again, while a bug in one plan
only delays its own key.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from msgspec import Struct

from heliostat.kube.objects import Key
from heliostat.kube.plan import Action
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.caches import Caches
from heliostat.runtime.client import Client
from heliostat.runtime.controller import Controller, Observer
from heliostat.runtime.effects import Effects
from heliostat.runtime.executor import Executor, Recorder
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.loop_turns import LoopTurns
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.queue import WorkQueue
from heliostat.runtime.reconciler import Reconciler
from heliostat.runtime.reflector import Reflector
from heliostat.runtime.watch import WatchSettings
from heliostat.runtime.writing import Writing


class HostSettings(Struct, frozen=True, kw_only=True):
    watch: WatchSettings = WatchSettings()
    workers: int = 16  # keys of one controller that are worked on at the same time
    parallel_writes: int = 64  # of one plan
    short_plan: int | None = None  # writes after which a plan leaves the server air for others; None: it never does
    drain_seconds: float = 10.0  # for work in hand when the host stops


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a host must not take from the process: time, chance, and who listens."""

    now: Callable[[], float]
    chance: Callable[[], float]  # in [0, 1)
    random_bytes: Callable[[int], bytes]
    recorder_of: Callable[[str], Recorder]  # where the events of a controller go
    observer: Observer
    on_problem: Callable[[str, Exception], None]
    on_write: Callable[[Action, Exception | None], None] | None = None
    waits_of: Callable[[str], Callable[[float], None]] | None = None  # who hears how long a controller's keys waited
    stopwatch: Callable[[], float] | None = None  # for how long looks take; None: the loop's clock


class Host:
    def __init__(
        self,
        client: Client,
        types: ResourceTypes,
        surroundings: Surroundings,
        *,
        settings: HostSettings | None = None,
    ) -> None:
        self.types = types
        self.effects = Effects(fence=client.fence)
        self.beside: list[Callable[[], Coroutine[Any, Any, None]]] = []  # runs as long as the host does
        self.caches = Caches()
        self.freshness = Freshness(self.caches)
        self.controllers: list[Controller] = []
        self.has_begun = False  # the caches were filled, and controllers decide
        self._client = client
        self._settings = settings or HostSettings()
        self._around = surroundings
        writing = Writing(client, types, self.freshness, random_bytes=surroundings.random_bytes, effects=self.effects)
        self._writing = writing
        self._turns = LoopTurns()
        self._reflectors: dict[CachedKind[Any], Reflector[Any]] = {}
        self._watching: dict[CachedKind[Any], asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._since = 0

    def add(
        self,
        reconciler: Reconciler,
        *,
        workers: int | None = None,
        after: Callable[[Key, Outcome], None] | None = None,
    ) -> Controller:
        waits_of = self._around.waits_of
        executor = Executor(
            self._writing,
            self._around.recorder_of(reconciler.name),
            name=reconciler.name,
            parallel=self._settings.parallel_writes,
            short_plan=self._settings.short_plan,
            on_write=self._around.on_write,
        )
        controller = Controller(
            reconciler,
            executor,
            self.freshness,
            WorkQueue(chance=self._around.chance, on_wait=waits_of(reconciler.name) if waits_of else None),
            now=self._around.now,
            workers=workers or self._settings.workers,
            observer=self._around.observer,
            after=after,
            stopwatch=self._around.stopwatch,
            turns=self._turns,
        )
        self.controllers.append(controller)
        return controller

    def reflectors(self) -> Iterator[Reflector[Any]]:
        return iter(tuple(self._reflectors.values()))  # metrics are read by another thread

    def problems(self) -> list[str]:
        """Watches without progress: what the health check tells. Call it from the loop's thread."""
        now = asyncio.get_running_loop().time()
        return [problem for reflector in self._reflectors.values() if (problem := reflector.problem(now)) is not None]

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """``since`` is a revision that the server is known to have had, that of our lease: no view may be older."""
        self._since = since
        async with asyncio.TaskGroup() as group:
            self._group = group
            for cache in list(self.caches):
                self.follow(cache)
            working = group.create_task(self._work())
            running = [group.create_task(run()) for run in self.beside]
            await _first(stop, working)
            await self._drain(working)
            for task in (*self._watching.values(), *running):
                task.cancel()
            self._group = None

    def follow(self, cache: Cache[Any]) -> None:
        """Begin to watch for a cache that was made after the start."""
        if self._group is None or cache.kind in self._watching:
            return
        reflector = Reflector(
            self._client,
            cache,
            settings=self._settings.watch,
            chance=self._around.chance,
            on_problem=self._around.on_problem,
            since=self._since,
            is_dispensable=self.caches.is_dispensable(cache.kind),
        )
        self._reflectors[cache.kind] = reflector
        self._watching[cache.kind] = self._group.create_task(reflector.run())

    def unfollow(self, kind: CachedKind[Any]) -> None:
        self._reflectors.pop(kind, None)
        self.caches.drop(kind)
        task = self._watching.pop(kind, None)
        if task is not None:
            task.cancel()

    async def _work(self) -> None:
        await self.caches.wait()
        self.has_begun = True
        async with asyncio.TaskGroup() as group:
            for controller in self.controllers:
                controller.connect()
                group.create_task(controller.run())

    async def _drain(self, working: "asyncio.Task[None]") -> None:
        for controller in self.controllers:
            controller.queue.close()
        if not self.has_begun:
            working.cancel()
        done, _ = await asyncio.wait({working}, timeout=self._settings.drain_seconds)
        if not done:
            working.cancel()


async def _first(stop: asyncio.Event, working: "asyncio.Task[None]") -> None:
    """Until somebody says stop, or the work has ended by itself (which is a bug, and raises in its group)."""
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({stopping, working}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
