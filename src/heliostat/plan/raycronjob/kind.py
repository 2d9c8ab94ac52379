"""RayCronJob's row: how one is observed and planned, and when its next ticks are."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from msgspec.structs import replace

from heliostat.api.cron_ticks import list_ticks
from heliostat.api.markers import JsonObject
from heliostat.api.raycronjob import RayCronJob, RayCronJobSpec
from heliostat.api.validation import cronjob_problems
from heliostat.api.validation.cronjob import REASON
from heliostat.kube.plan import Plan
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.kind import Kind, Surroundings
from heliostat.plan.misfits import MisfitRule
from heliostat.plan.raycronjob.cron import plan_cron
from heliostat.plan.raycronjob.observed import ObservedCron, Timetable, observe_cron, read_timetable
from heliostat.plan.situation import Situation

GATE = "RayCronJob"
GATE_OFF = "it is not reconciled: the operator's feature gate is off (--feature-gates=RayCronJob=true)"
SHOWN = 5


def _observe(tree: JsonObject, there: Surroundings) -> ObservedCron:
    observed = observe_cron(tree, there.objects)
    return replace(observed, objects=there.hide_from(observed.objects))


def _plan(situation: Situation[ObservedCron, Timetable | None, None]) -> Plan:
    if not situation.settings.gate(GATE):
        return Plan()
    return plan_cron(situation)


def _tell(situation: Situation[ObservedCron, Timetable | None, None], _live: JsonObject | None) -> Iterator[str]:
    if not situation.settings.gate(GATE):
        yield GATE_OFF
    if situation.desired is not None and situation.refusal is None:
        yield from tell_upcoming(situation.desired, situation.now)


def tell_upcoming(timetable: Timetable, now: float) -> Iterator[str]:
    """The next ticks, with the zone's own clock where it differs from UTC."""
    ticks = list(islice(list_ticks(timetable.schedule, now, timetable.zone), SHOWN))
    if not ticks:
        yield "it never runs: no day of the next five years fits the schedule"
        return
    yield f"the next {len(ticks)} scheduled times:"
    for tick in ticks:
        shown = datetime.fromtimestamp(tick, timetable.zone)
        own = "" if timetable.zone is UTC else f" ({shown.isoformat()} in {timetable.zone})"
        yield f"  {datetime.fromtimestamp(tick, UTC).strftime('%a %Y-%m-%dT%H:%M:%SZ')}{own}"


RAY_CRON_JOB = Kind[ObservedCron, Timetable | None, None](
    resource=ResourceType("ray.io/v1", "RayCronJob", "raycronjobs"),
    struct=RayCronJob,
    spec=RayCronJobSpec,
    find_problems=cronjob_problems,
    observe=_observe,
    build=lambda cron, _settings: read_timetable(cron),
    plan=_plan,
    plan_misfit=MisfitRule(reason=REASON).plan,
    remember=lambda _live: None,
    tell=_tell,
)
