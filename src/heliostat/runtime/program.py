"""A host with all that it needs: a client, a writer of events, metrics. A program adds its controllers and runs it.

It is a program without a process: who runs it hands in the transport, the clocks, the randomness and the observers.
"""

import asyncio
import random
import secrets
import time
from collections.abc import Callable

from msgspec import Struct

from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.client import Client, Fence
from heliostat.runtime.errors import ConflictError, FencedError, NotFoundError, ThrottledError
from heliostat.runtime.events import EventWriter
from heliostat.runtime.host import Host, HostSettings, Surroundings
from heliostat.runtime.host_metrics import declare_host_metrics
from heliostat.runtime.logs import Log
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.metrics import Registry
from heliostat.runtime.rate import Rate
from heliostat.runtime.transport import Transport

FLUSH_SECONDS = 2.0
_EVERYDAY = (ConflictError, NotFoundError, ThrottledError, FencedError)  # the view was old, or it is not our turn


class Clocks(Struct, frozen=True, kw_only=True):
    """What a program must not take from the process by itself."""

    now: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random  # in [0, 1)
    random_bytes: Callable[[int], bytes] = secrets.token_bytes
    stopwatch: Callable[[], float] = time.perf_counter  # for metrics alone


class Program:
    """To be made inside a running loop."""

    def __init__(
        self,
        transport: Transport,
        *,
        instance: str,
        on_problem: Callable[[str, Exception], None],
        types: ResourceTypes | None = None,
        settings: HostSettings | None = None,
        request_seconds: float = 4.0,
        rate: Rate | None = None,
        metrics: LoopMetrics | None = None,
        fence: Fence | None = None,
        clocks: Clocks | None = None,
    ) -> None:
        clocks = clocks or Clocks()
        clock = asyncio.get_running_loop().time
        self.metrics = metrics or LoopMetrics(Registry())
        self.client = Client(
            transport,
            clock=clock,
            rate=rate,
            request_seconds=request_seconds,
            fence=fence,
            observe=self.metrics.exchanged,
        )
        self._events = EventWriter(
            self.client,
            instance,
            clock=clock,
            wall_clock=clocks.now,
            told=self.metrics.told,
            on_problem=on_problem,
        )
        surroundings = Surroundings(
            now=clocks.now,
            chance=clocks.chance,
            random_bytes=clocks.random_bytes,
            recorder_of=self._events.recorder,
            observer=_Told(self.metrics, on_problem),
            on_problem=on_problem,
            on_write=self.metrics.written,
            waits_of=self.metrics.waited,
            stopwatch=clocks.stopwatch,
        )
        self.host = Host(self.client, types or ResourceTypes(), surroundings, settings=settings)
        declare_host_metrics(self.metrics.registry, self.host, clock)

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop; what is in hand is finished, and what was to be told is told.

        ``since`` is the revision of the lease that we lead by: no view may be older.
        """
        writing = asyncio.create_task(self._events.run(), name="events")
        try:
            await self.host.run(stop, since)
            await self._events.flush(FLUSH_SECONDS)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)


class _Told:
    """Everything is counted; what did not come about, and not by the loop's everyday life, is told as well."""

    def __init__(self, metrics: LoopMetrics, on_problem: Callable[[str, Exception], None]) -> None:
        self._metrics = metrics
        self._on_problem = on_problem
        self._log = Log("heliostat.loop")

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        self._metrics.reconciled(controller, key, result, seconds)
        self._log.debug("looked", controller=controller, key=key, result=result, seconds=seconds)

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        self._metrics.planned(controller, key, plan)

    def failed(self, controller: str, key: Key, error: Exception) -> None:
        self._metrics.failed(controller, key, error)
        if not isinstance(error, _EVERYDAY):
            self._on_problem(f"{controller}, {key}", error)
