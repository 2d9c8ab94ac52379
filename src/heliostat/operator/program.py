"""The operator without its process: the controllers of ray.io in one program."""

import asyncio
from collections.abc import Callable

from heliostat.kube.resource_types import ResourceTypes
from heliostat.operator.kinds import TYPES
from heliostat.operator.kuberay_metrics import ClusterMetrics
from heliostat.operator.options import OperatorOptions
from heliostat.operator.ray_access import RayAccess
from heliostat.operator.ray_facts import RayFacts
from heliostat.operator.raycluster.reconciler import RayClusterReconciler
from heliostat.operator.raycronjob.reconciler import RayCronJobReconciler
from heliostat.operator.rayjob.calls import JobCalls
from heliostat.operator.rayjob.metrics import JobMetrics
from heliostat.operator.rayjob.pods_gone import PodsGone
from heliostat.operator.rayjob.reconciler import Asking, RayJobReconciler
from heliostat.operator.rayservice.calls import ServeCalls
from heliostat.operator.rayservice.metrics import ServiceMetrics
from heliostat.operator.rayservice.reconciler import Asking as ServeAsking
from heliostat.operator.rayservice.reconciler import RayServiceReconciler
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
    ) -> None:
        """Inside a running loop. ``ways`` lead to Ray; without them the API server's proxy does."""
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
        facts = RayFacts(clock=asyncio.get_running_loop().time, chance=(clocks or Clocks()).chance)
        self.host.effects.facts = facts.cache
        if options.has_jobs or options.has_services:
            self.host.beside.append(facts.cache.run)
        access = RayAccess(self._program.client, ways or ProxiedWays(transport))
        if options.has_kuberay_metrics:
            ClusterMetrics(self.metrics.registry, self.clusters.clusters)
        if options.has_jobs:
            self._add_jobs(options, facts, access, clocks or Clocks())
        if options.has_jobs and options.settings.gate("RayCronJob"):
            self.host.add(RayCronJobReconciler(self.host.caches, options.settings, options.namespaces))
        if options.has_services:
            self._add_services(options, facts, access)

    def _add_jobs(self, options: OperatorOptions, facts: RayFacts, access: RayAccess, clocks: Clocks) -> None:
        calls = JobCalls(access)
        calls.register(self.host.effects)
        asking = Asking(facts, calls, PodsGone(facts, self._program.client))
        jobs = RayJobReconciler(self.host.caches, options.settings, asking, options.namespaces)
        self.host.add(jobs, after=jobs.after)
        if options.has_kuberay_metrics:
            JobMetrics(self.metrics.registry, jobs.jobs, clocks.now)

    def _add_services(self, options: OperatorOptions, facts: RayFacts, access: RayAccess) -> None:
        calls = ServeCalls(access)
        calls.register(self.host.effects)
        services = RayServiceReconciler(
            self.host.caches, options.settings, ServeAsking(facts, calls), options.namespaces
        )
        self.host.add(services, after=services.after)
        if options.has_kuberay_metrics:
            ServiceMetrics(self.metrics.registry, services.services)

    async def run(self, stop: asyncio.Event, since: int = 0) -> None:
        """Until told to stop. ``since`` is the revision of the lease that we lead by: no view may be older."""
        await self._program.run(stop, since)
