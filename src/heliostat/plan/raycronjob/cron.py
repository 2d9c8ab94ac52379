"""One reconcile of a RayCronJob as a value (raycronjob.md §2): which tick is due, and its RayJob.

The first tick after the one that the status shows is looked at, one in each pass; missed ones are made up for one after
another, as in KubeRay, unless annotations ask for less (``api/cron_policy.py``). The status is written once the RayJob
is there: a crash in between finds it by its name.
"""

import math

from msgspec import Struct

from heliostat.api.cron_policy import ALLOW, FORBID, STARTING_DEADLINE
from heliostat.api.cron_ticks import latest_tick, next_tick
from heliostat.api.markers import JsonObject
from heliostat.desired.raycronjob.child import build_child_job
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Create, Event, Plan, Ref, WriteStatus, ref_of
from heliostat.kube.problems import Problem
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.because import Hold as CommonHold
from heliostat.plan.draft import Draft, Part, wait_beside, wait_for
from heliostat.plan.ensure import wait_for_knowledge
from heliostat.plan.itself import write_own_status
from heliostat.plan.left_alone import tell_refusal
from heliostat.plan.raycronjob import reports
from heliostat.plan.raycronjob.history import delete_job, plan_history
from heliostat.plan.raycronjob.observed import ObservedCron, Timetable, is_active, is_leaving
from heliostat.plan.raycronjob.reasons import Because, Hold
from heliostat.plan.situation import Situation

_CHILD, _REPLACED = "child", "replaced"
# Seconds. A clock may be set meanwhile: a tick that is an hour away by a wrong one may be due by the right one.
_LONGEST_SLEEP = 60.0


class Due(Struct, frozen=True):
    """The first tick that is due, and the view it was found in."""

    observed: ObservedCron
    timetable: Timetable
    tick: float
    now: float

    def latest(self, until: float) -> float:
        """The last tick that is due until then."""
        found = latest_tick(self.timetable.schedule, self.observed.since, until, self.timetable.zone)
        return self.tick if found is None else found


def plan_cron(situation: Situation[ObservedCron, Timetable | None, None]) -> Plan:
    draft, observed = Draft(), situation.observed
    metadata = observed.cron.metadata
    if metadata.deletion_timestamp:
        draft.add("deletion", wait_beside(CommonHold.BEING_DELETED, "it is being deleted", "it is gone"))
        return draft.finish()
    if situation.refusal is not None or observed.timetable is None:
        return _plan_refused(draft, observed, situation.refusal)
    draft.add("history", plan_history(observed))
    if observed.cron.spec.suspend:
        until = "spec.suspend is false"
        draft.add("suspended", wait_beside(Hold.SUSPENDED, "spec.suspend is true", until, events=(reports.SUSPENDED,)))
        return draft.finish()
    return _plan_ticks(draft, observed, observed.timetable, situation.now)


def _plan_refused(draft: Draft, observed: ObservedCron, refusal: Problem | None) -> Plan:
    problem = refusal or Problem(path=("spec",), problem="names no schedule or no time zone", fix="correct them")
    draft.add("refusal", tell_refusal(problem, observed.cron.metadata))
    return draft.finish()


def _plan_ticks(draft: Draft, observed: ObservedCron, timetable: Timetable, now: float) -> Plan:
    tick = next_tick(timetable.schedule, observed.since, timetable.zone)
    if tick is None:
        message, until = f"spec.schedule is {observed.cron.spec.schedule!r}", "the schedule is corrected"
        # Differs from KubeRay: cron-never
        draft.add("schedule", wait_beside(Hold.NEVER, message, until, events=(reports.NEVER_DUE,)))
        return draft.finish()
    if tick > now:
        draft.add("schedule", wait_beside(Hold.NEXT_TICK, f"the next one is {format_timestamp(tick)}", "it comes"))
        return draft.finish(wake_after=min(tick - now, _LONGEST_SLEEP))
    return _plan_due(draft, Due(observed, timetable, tick, now))


def _plan_due(draft: Draft, due: Due) -> Plan:
    policy = due.observed.policy
    deadline = policy.starting_deadline
    if deadline is not None and due.tick + deadline < due.now:
        last = due.latest(math.nextafter(due.now - deadline, -math.inf))
        return _skip(draft, due, last, reports.missed(due.tick, last, f"{STARTING_DEADLINE} is {deadline}"))
    if policy.concurrency == ALLOW:
        return _plan_child(draft, due, ())
    jobs = due.observed.list_jobs()
    if isinstance(jobs, Unknown):
        draft.add("runs", wait_for_knowledge("the RayJobs of earlier ticks", jobs))
        return draft.finish()
    latest = due.latest(due.now)
    name = build_child_job(due.observed.tree, latest)["metadata"]["name"]
    active = [job for job in jobs if is_active(job) and job["metadata"]["name"] != name]
    if active and policy.concurrency == FORBID:
        return _skip(draft, due, latest, reports.already_active(due.tick, latest, str(ref_of(active[0]))))
    if latest > due.tick:
        last = due.latest(math.nextafter(latest, -math.inf))
        why = (
            f"of several missed runs only the latest is made up for, as the concurrency policy is {policy.concurrency}"
        )
        return _skip(draft, due, last, reports.missed(due.tick, last, why))
    return _plan_child(draft, due, tuple(active))


def _skip(draft: Draft, due: Due, last: float, told: Event) -> Plan:
    draft.add("skipped", Part(events=(told,)))
    return draft.finish(status=_record(due.observed, last, Because.TICK_SKIPPED))


def _plan_child(draft: Draft, due: Due, replaced: tuple[JsonObject, ...]) -> Plan:
    """``replaced`` are runs that this one takes the place of."""
    observed, wanted = due.observed, build_child_job(due.observed.tree, due.tick)
    ref = ref_of(wanted)
    found = observed.find_job(ref.name)
    if isinstance(found, Unknown):
        draft.add(_CHILD, wait_for_knowledge(str(ref), found))
        return draft.finish()
    if found is not None and not observed.owns(found):
        return _plan_taken(draft, due, ref, found)
    record = _record(observed, due.tick, Because.TICK_TAKEN)
    if found is not None:
        return draft.finish(status=record)
    draft.add(_REPLACED, Part(actions=tuple(delete_job(job, Because.REPLACED) for job in replaced)))
    draft.add(_CHILD, Part(actions=(Create(wanted, Because.TICK, reports.report_create(ref)),)), needs=(_REPLACED,))
    draft.add("record", Part(actions=(record,)), needs=(_CHILD,))  # a tick without its RayJob is not recorded
    return draft.finish()


def _plan_taken(draft: Draft, due: Due, ref: Ref, found: JsonObject) -> Plan:
    """Somebody else's; KubeRay takes it for the tick's own, and so the schedule goes on here, too."""
    if is_leaving(found):
        draft.add(_CHILD, wait_for(Hold.OLD_CHILD, f"{ref} is not of this RayCronJob", "it is gone"))
        return draft.finish()
    draft.add(_CHILD, Part(events=(reports.name_taken(ref, due.tick),)))
    return draft.finish(status=_record(due.observed, due.tick, Because.TICK_SKIPPED))


def _record(observed: ObservedCron, tick: float, because: Because) -> WriteStatus:
    status = {**observed.status, "lastScheduleTime": format_timestamp(tick)}
    return write_own_status("RayCronJob", observed.cron.metadata, status, because)
