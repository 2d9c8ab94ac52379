"""Batch schedulers: what each needs beside the Pods, and what it needs on them (raycluster.md §13, operator.md §15).

A scheduler is two pure functions: ``build_objects`` (PodGroups and the like, made before any Pod) and ``mark_pod``
(labels, annotations and schedulerName on a finished Pod template). The table below is the whole registry.
"""

from collections.abc import Callable

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.context import BuildContext
from heliostat.desired.scheduling import kai, scheduler_plugins, volcano, workload_aware, yunikorn
from heliostat.desired.slots import Impossible


class Scheduler(Struct, frozen=True):
    build_objects: Callable[[BuildContext], tuple[JsonObject, ...] | Impossible]
    mark_pod: Callable[[JsonObject, BuildContext, str], None]


def _no_objects(_context: BuildContext) -> tuple[JsonObject, ...]:
    return ()


def _no_marks(_pod: JsonObject, _context: BuildContext, _group: str) -> None:
    return


DEFAULT = Scheduler(_no_objects, _no_marks)

SCHEDULERS: dict[str, Scheduler] = {
    "": DEFAULT,
    "volcano": Scheduler(volcano.build_objects, volcano.mark_pod),
    "yunikorn": Scheduler(_no_objects, yunikorn.mark_pod),
    "scheduler-plugins": Scheduler(scheduler_plugins.build_objects, scheduler_plugins.mark_pod),
    "kai-scheduler": Scheduler(_no_objects, kai.mark_pod),
}

WORKLOAD_AWARE = Scheduler(workload_aware.build_objects, workload_aware.mark_pod)


def scheduler_for(settings: Settings) -> Scheduler:
    return WORKLOAD_AWARE if settings.gate("KubernetesWAS") else SCHEDULERS[settings.batch_scheduler]
