"""The operator without its process: the controllers of ray.io in one program."""

import asyncio
from collections.abc import Callable

from heliostat.kube.resource_types import ResourceTypes
from heliostat.operator.kinds import TYPES
from heliostat.operator.kuberay_metrics import ClusterMetrics
from heliostat.operator.options import OperatorOptions
from heliostat.operator.raycluster.reconciler import RayClusterReconciler
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
    ) -> None:
        """Inside a running loop."""
        self._program = Program(
            transport,
            instance=options.instance,
            on_problem=on_problem,
            types=ResourceTypes(TYPES),
            settings=options.host,
            request_seconds=options.request_seconds,
            rate=Rate(options.qps, options.burst) if options.qps is not None else None,
            metrics=metrics,
            fence=fence,
            clocks=clocks,
        )
        self.host = self._program.host
        self.metrics = self._program.metrics
        self.clusters = RayClusterReconciler(self.host.caches, options.settings, options.namespaces)
        self.host.add(self.clusters, after=self.clusters.after)
        if options.has_kuberay_metrics:
            ClusterMetrics(self.metrics.registry, self.clusters.clusters)

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop. ``since`` is the revision of the lease that we lead by: no view may be older."""
        await self._program.run(stop, since)
