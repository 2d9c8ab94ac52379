"""All of Kubernetes' own controllers in one host: beside the embedded server, or against any other.

``ControlPlane`` is a program without a process: who runs it hands in the way to the server, the clocks and who
listens. It needs the rights of an administrator.
"""

import asyncio
import random
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.controllers import crews
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASS
from heliostat.embedded.controllers.volumes.directories import build_default_class
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.client import Client, Fence
from heliostat.runtime.errors import AlreadyExistsError, ApiError
from heliostat.runtime.events import EventWriter
from heliostat.runtime.host import Host, HostSettings, Surroundings
from heliostat.runtime.loop_metrics import LoopMetrics, QueueReading, WatchReading
from heliostat.runtime.metrics import Registry
from heliostat.runtime.transport import Transport

FLUSH_SECONDS = 2.0
PREPARE_AGAIN_SECONDS = 1.0


class ControlPlaneOptions(Struct, frozen=True, kw_only=True):
    root_certificate: str = ""  # PEM; what Pods trust the server by
    volumes: Path | None = None  # where volumes for claims are made; None: nobody makes any
    simulation: Simulation | None = None  # nodes without processes
    instance: str = "heliostat"
    request_seconds: float = 4.0
    settings: HostSettings = HostSettings()


class ControlPlane:
    def __init__(
        self,
        transport: Transport,
        options: ControlPlaneOptions,
        *,
        on_problem: Callable[[str, Exception], None],
        metrics: LoopMetrics | None = None,
        fence: Fence | None = None,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Inside a running loop."""
        clock = asyncio.get_running_loop().time
        self.metrics = metrics or LoopMetrics(Registry())
        self.client = Client(
            transport,
            clock=clock,
            request_seconds=options.request_seconds,
            fence=fence,
            observe=self.metrics.exchanged,
        )
        self._options = options
        self._events = EventWriter(
            self.client, options.instance, clock=clock, wall_clock=now, told=self.metrics.told, on_problem=on_problem
        )
        surroundings = Surroundings(
            now=now,
            chance=chance,
            random_bytes=random_bytes,
            recorder_of=self._events.recorder,
            observer=_Told(self.metrics, on_problem),
            on_problem=on_problem,
            on_write=self.metrics.written,
        )
        self._on_problem = on_problem
        self.host = Host(self.client, ResourceTypes(), surroundings, settings=options.settings)
        self._add_crews()
        self.metrics.read_queues(self._read_queues)
        self.metrics.read_watches(lambda: self._read_watches(clock()))

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop; what is in hand is finished, and what was to be told is told.

        ``since`` is the revision of the lease that we lead by: no view may be older.
        """
        writing = asyncio.create_task(self._events.run(), name="events")
        try:
            await self._prepare()
            await self.host.run(stop, since)
            await self._events.flush(FLUSH_SECONDS)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    def _add_crews(self) -> None:
        host, options = self.host, self._options
        crews.add_cleaning(host, self.client, self._on_problem)
        crews.add_workloads(host)
        crews.add_endpoints(host)
        crews.add_accounts(host, options.root_certificate)
        crews.add_volumes(host, options.volumes)
        crews.add_scheduling(host)
        crews.add_event_expiry(host)
        if options.simulation is not None:
            crews.add_simulated_nodes(host, options.simulation)

    async def _prepare(self) -> None:
        """What claims without a class need; tried until the server answers."""
        while self._options.volumes is not None:
            try:
                await self.client.create(STORAGE_CLASS, build_default_class())
            except AlreadyExistsError:
                return
            except ApiError as error:
                self._on_problem("the default StorageClass", error)
                await asyncio.sleep(PREPARE_AGAIN_SECONDS)
            else:
                return

    def _read_queues(self) -> list[QueueReading]:
        return [
            QueueReading(
                controller.reconciler.name, len(controller.queue), controller.queue.adds, controller.queue.retries
            )
            for controller in self.host.controllers
        ]

    def _read_watches(self, now: float) -> list[WatchReading]:
        return [
            WatchReading(
                kind=str(reflector.cache.kind),
                objects=len(reflector.cache),
                received_bytes=reflector.received_bytes,
                idle_seconds=reflector.idle_seconds(now),
                restarts=reflector.restarts,
                silences=reflector.silences,
            )
            for reflector in self.host.reflectors()
        ]


class _Told:
    """Everything is counted; what only a bug can cause is told as well."""

    def __init__(self, metrics: LoopMetrics, on_problem: Callable[[str, Exception], None]) -> None:
        self._metrics = metrics
        self._on_problem = on_problem

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        self._metrics.reconciled(controller, key, result, seconds)

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        self._metrics.planned(controller, key, plan)

    def failed(self, controller: str, key: Key, error: Exception) -> None:
        self._metrics.failed(controller, key, error)
        if not isinstance(error, ApiError):
            self._on_problem(f"{controller}, {key}", error)
