"""The operator without its process: a controller for each row of the table of kinds, in one program."""

import asyncio
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from heliostat.kube.resource_types import ResourceTypes
from heliostat.operator.building import Building
from heliostat.operator.kinds import TYPES
from heliostat.operator.options import OperatorOptions
from heliostat.operator.ray_access import RayAccess
from heliostat.operator.ray_facts import RayFacts
from heliostat.plan.kind import Kind
from heliostat.plan.kinds import KINDS
from heliostat.ray.ways import ProxiedWays, Ways
from heliostat.runtime.client import Fence
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.program import Clocks, Program
from heliostat.runtime.rate import Rate
from heliostat.runtime.transport import Transport


class RayOperator:
    def __init__(
        self,
        transport: Transport,
        options: OperatorOptions,
        *,
        on_problem: Callable[[str, Exception], None],
        metrics: LoopMetrics | None = None,
        fence: Fence | None = None,
        clocks: Clocks | None = None,
        ways: Ways | None = None,
        kinds: Iterable[Kind[Any, Any, Any]] = KINDS.values(),
    ) -> None:
        """Inside a running loop. ``ways`` lead to Ray; without them the API server's proxy does."""
        kinds = tuple(kinds)
        self._program = Program(
            transport,
            instance=options.instance,
            on_problem=on_problem,
            types=ResourceTypes((*TYPES, *(kind.resource for kind in kinds))),
            settings=options.host,
            request_seconds=options.request_seconds,
            rate=Rate(options.qps, options.burst) if options.qps is not None else None,
            metrics=metrics,
            fence=fence,
            clocks=clocks,
        )
        self.host = self._program.host
        self.metrics = self._program.metrics
        clocks = clocks or Clocks()
        facts = RayFacts(clock=asyncio.get_running_loop().time, chance=clocks.chance)
        self.host.effects.facts = facts.cache
        if options.has_jobs or options.has_services:
            self.host.beside.append(facts.cache.run)
        building = Building(
            host=self.host,
            client=self._program.client,
            options=options,
            facts=facts,
            access=RayAccess(self._program.client, ways or ProxiedWays(transport)),
            registry=self.metrics.registry,
            clocks=clocks,
        )
        for kind in kinds:
            import_module(kind.name_room("operator")).add_controller(building)

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop. ``since`` is the revision of the lease that we lead by: no view may be older."""
        await self._program.run(stop, since)
