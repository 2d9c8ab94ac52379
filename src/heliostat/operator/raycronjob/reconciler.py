"""The reconciler of RayCronJobs: puts the view together from the caches (informers). Nothing is decided here.

An event about its state is sent once for each edit and not at every reconcile.
"""

from collections.abc import Sequence

from heliostat.api.cron_policy import read_policy
from heliostat.api.kinds import RAY_JOB_NAME
from heliostat.api.settings import Settings
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.operator.building import Building
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import RAY_CRON_JOBS, RAY_JOBS, WholeObject
from heliostat.operator.raycronjob.memory import Memory
from heliostat.operator.scope import cache_needed
from heliostat.operator.understanding import tree_of
from heliostat.plan.kind import Meaning
from heliostat.plan.raycronjob.kind import GATE, RAY_CRON_JOB
from heliostat.plan.raycronjob.observed import ObservedCron, Timetable
from heliostat.plan.situation import Situation
from heliostat.runtime.caches import Caches

NAME = "raycronjob-controller"  # what KubeRay's events name as their reporter


class RayCronJobReconciler(KindReconciler[ObservedCron, Timetable | None, None, Memory]):
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, namespaces: Sequence[str] = ()) -> None:
        items = cache_needed(caches, RAY_CRON_JOBS, namespaces)
        around = {RAY_JOB_NAME: cache_needed(caches, RAY_JOBS, namespaces)}
        super().__init__(RAY_CRON_JOB, settings, items, around, Memory())

    def observe(self, key: Key, item: WholeObject, meaning: Meaning[Timetable | None]) -> ObservedCron:
        return ObservedCron(
            cron=meaning.object,
            tree=tree_of(RAY_CRON_JOB, item),
            objects=self.objects_around(key, item.metadata.uid),
            timetable=meaning.desired,
            policy=read_policy(item.metadata.annotations),
        )

    def begin(
        self, _key: Key, item: WholeObject, _situation: Situation[ObservedCron, Timetable | None, None], plan: Plan
    ) -> Plan:
        return self.memory.leave_out_told(item, plan)


def add_controller(building: Building) -> None:
    options = building.options
    if options.has_jobs and options.settings.gate(GATE):
        building.host.add(RayCronJobReconciler(building.host.caches, options.settings, options.namespaces))
