"""RayCronJobs on the loop: the view is put together from the caches, and ``plan_cron`` decides.

Nothing is decided here; what requeues a key is shared with the other kinds (``kind_reconciler.py``). What its state
asks to be told is told once for each edit and not at every look.
"""

from collections.abc import Sequence

import msgspec

from heliostat.api.settings import Settings
from heliostat.kube import lookups
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Wait
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import RAY_CRON_JOB, RAY_CRON_JOBS, RAY_JOBS, WholeObject
from heliostat.operator.raycronjob.meaning import Meaning, with_metadata, work_out
from heliostat.operator.raycronjob.memory import Memory
from heliostat.operator.scope import cache_needed
from heliostat.operator.understanding import Understanding
from heliostat.plan.because import Hold
from heliostat.plan.draft import soonest
from heliostat.plan.raycluster.status_pacing import UNKNOWN_POLL
from heliostat.plan.raycronjob.cron import plan_cron
from heliostat.plan.raycronjob.observed import ObservedCron
from heliostat.runtime.caches import Caches

NAME = "raycronjob-controller"  # what KubeRay's events name as their reporter


class RayCronJobReconciler(KindReconciler[Meaning, Memory]):
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, namespaces: Sequence[str] = ()) -> None:
        super().__init__(
            cache_needed(caches, RAY_CRON_JOBS, namespaces),
            {lookups.RAY_JOB: cache_needed(caches, RAY_JOBS, namespaces)},
            Understanding(lambda item: work_out(item, settings), with_metadata),
            Memory(),
        )

    def plan_item(self, key: Key, item: WholeObject, meaning: Meaning, now: float) -> Plan:
        if meaning.cron is None:
            return Plan(waits=(Wait(Hold.REFUSED, str(meaning.refusal), "the spec is mended"),))
        objects = self.objects_around(key, item.metadata.uid)
        observed = ObservedCron(
            cron=meaning.cron,
            tree=_tree_of(item),
            objects=objects,
            timetable=meaning.timetable,
            policy=meaning.policy,
        )
        plan = self.memory.leave_out_told(item, plan_cron(observed, now, refusal=meaning.refusal))
        if objects.has_unknown:
            return msgspec.structs.replace(plan, wake_after=soonest((plan.wake_after, UNKNOWN_POLL)))
        return plan


def _tree_of(item: WholeObject) -> JsonObject:
    metadata: JsonObject = msgspec.to_builtins(item.metadata)
    return {
        "apiVersion": RAY_CRON_JOB.api_version,
        "kind": RAY_CRON_JOB.kind,
        "metadata": metadata,
        "spec": msgspec.json.decode(item.spec),
        "status": msgspec.json.decode(item.status),
    }
