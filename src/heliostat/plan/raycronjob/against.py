"""What would happen next with a RayCronJob, given objects that are there: its part of ``heliostat plan``."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import RAY_JOB, KindName, ListedObjects
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.raycronjob.cron import plan_cron
from heliostat.plan.raycronjob.observed import ObservedCron, observe_cron
from heliostat.plan.raycronjob.upcoming import tell_upcoming

GATE_OFF = "nobody looks after it: the operator's gate is off (--feature-gates=RayCronJob=true)"


def observe_known(
    tree: JsonObject, objects: tuple[JsonObject, ...], unread: Mapping[KindName, str], now: float
) -> ObservedCron:
    """One that nobody has created yet is created now."""
    metadata = {"creationTimestamp": format_timestamp(now), **tree["metadata"]}
    observed = observe_cron({**tree, "metadata": metadata}, objects)
    if RAY_JOB not in unread:
        return observed
    return replace(observed, objects=ListedObjects({RAY_JOB: Unknown(unread[RAY_JOB])}))


def plan_known(observed: ObservedCron, settings: Settings, now: float, refusal: Problem | None) -> Plan:
    return plan_cron(observed, now, refusal=refusal) if settings.gate("RayCronJob") else Plan()


def tell_known(observed: ObservedCron, settings: Settings, now: float, refusal: Problem | None) -> Iterator[str]:
    if not settings.gate("RayCronJob"):
        yield GATE_OFF
    if observed.timetable is not None and refusal is None:
        yield from tell_upcoming(observed.timetable, now)
