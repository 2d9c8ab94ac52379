"""All of Kubernetes' own controllers in one host: beside the embedded server, or against any other.

``ControlPlane`` is a program without a process. It needs the rights of an administrator.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.controllers import crews
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASS
from heliostat.embedded.controllers.volumes.directories import build_default_class
from heliostat.runtime.client import Fence
from heliostat.runtime.errors import AlreadyExistsError, ApiError
from heliostat.runtime.host import HostSettings
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.program import Clocks, Program
from heliostat.runtime.transport import Transport

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
        clocks: Clocks | None = None,
    ) -> None:
        """Inside a running loop."""
        self._program = Program(
            transport,
            instance=options.instance,
            on_problem=on_problem,
            settings=options.settings,
            request_seconds=options.request_seconds,
            metrics=metrics,
            fence=fence,
            clocks=clocks,
        )
        self.host = self._program.host
        self.client = self._program.client
        self.metrics = self._program.metrics
        self._options = options
        self._on_problem = on_problem
        self._add_crews()

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop. ``since`` is the revision of the lease that we lead by: no view may be older."""
        await self._prepare()
        await self._program.run(stop, since)

    def _add_crews(self) -> None:
        host, options = self.host, self._options
        crews.add_cleaning(host, self.client, self._on_problem)
        crews.add_workloads(host)
        crews.add_endpoints(host)
        crews.add_accounts(host, options.root_certificate)
        crews.add_volumes(host, options.volumes)
        crews.add_scheduling(host)
        crews.add_pod_garbage(host, self.client)
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
