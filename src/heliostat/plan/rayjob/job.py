"""One reconcile of a RayJob as a value: what to write now, why, and what is waited for (rayjob.md §2).

Order: whose job is it, is it being deleted, is it over, is the spec accepted; then what its phase asks for. The table
in ``phases.py`` says where it goes from there.
"""

from typing import TypeAlias

from heliostat.api.cluster_features import is_managed_here
from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import name_attempt
from heliostat.kube.plan import Plan, WriteStatus
from heliostat.kube.problems import Problem
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.draft import NOTHING, Draft, soonest, wait_beside
from heliostat.plan.left_alone import describe_refusal, tell_manager, tell_refusal
from heliostat.plan.rayjob import deletion
from heliostat.plan.rayjob import status as statuses
from heliostat.plan.rayjob.attempt import because_of, plan_attempt, take_row
from heliostat.plan.rayjob.cleanup import plan_cleanup
from heliostat.plan.rayjob.gang import shrink_gang
from heliostat.plan.rayjob.look import Look, look_at_attempt, read_inputs
from heliostat.plan.rayjob.observed import ObservedJob, Remembered
from heliostat.plan.rayjob.phases import TERMINAL, Phase, Reason, State, find_row
from heliostat.plan.rayjob.reasons import Because, Hold
from heliostat.plan.rayjob.submission import hold_submitter
from heliostat.plan.rayjob.submitter import judge_submitter
from heliostat.plan.rayjob.teardown import is_torn_down, tear_down
from heliostat.plan.rayjob.timers import is_over
from heliostat.plan.situation import Situation

JobSituation: TypeAlias = Situation[ObservedJob, None, Remembered]

UNKNOWN_PHASE_POLL = 60.0
_LEAVING = {Phase.SUSPENDING: Because.SUSPENDED, Phase.RETRYING: Because.RETRY}


def plan_job(situation: JobSituation) -> Plan:
    observed, draft = situation.observed, Draft()
    job = observed.job
    if not is_managed_here(job.spec.managed_by):
        draft.add("managed-by", tell_manager(job.spec.managed_by))
        return draft.finish()
    if job.metadata.deletion_timestamp:
        return _plan_deletion(draft, observed, situation.settings)
    phase = statuses.shown_phase(observed.status)
    if phase is None:
        return _leave_alone(draft, observed)
    if phase in TERMINAL:
        return _plan_end(draft, phase, situation)
    if phase in _LEAVING:
        return _plan_leaving(draft, phase, situation)
    if situation.refusal is not None:
        return _plan_refused(draft, phase, situation, situation.refusal)
    return _plan_living(draft, phase, _look(situation))


def _look(situation: JobSituation) -> Look:
    return look_at_attempt(situation.observed, situation.settings, situation.remembered, situation.now)


def _plan_deletion(draft: Draft, observed: ObservedJob, settings: Settings) -> Plan:
    submitter = deletion.withdraw_submitter(observed, settings)
    draft.add("submitter", submitter)
    if submitter.actions or submitter.waits:
        return draft.finish()
    draft.add("stop", deletion.ask_to_stop(observed, settings))
    draft.add("finalizer", deletion.release(observed.job.metadata))
    return draft.finish()


def _leave_alone(draft: Draft, observed: ObservedJob) -> Plan:
    text = f"jobDeploymentStatus {observed.status.get('jobDeploymentStatus')!r}"
    draft.add("phase", wait_beside(Hold.UNKNOWN_PHASE, text, "the RayJob is made anew"))
    return draft.finish(wake_after=UNKNOWN_PHASE_POLL)


def _plan_end(draft: Draft, phase: Phase, situation: JobSituation) -> Plan:
    """Nothing leaves these phases; what is left of the job goes when its time has come."""
    observed, settings = situation.observed, situation.settings
    draft.add("gang", shrink_gang(observed, settings))
    draft.add("submitter", hold_submitter(observed, judge_submitter(observed, settings)))
    draft.add("end", wait_beside(Hold.OVER, str(observed.status.get("message") or phase), "it is deleted"))
    draft.add("clean-up", plan_cleanup(observed, phase, settings, situation.now))
    return draft.finish()


def _plan_leaving(draft: Draft, phase: Phase, situation: JobSituation) -> Plan:
    """Until all is gone; what its gang still asks for goes before the next phase."""
    observed = situation.observed
    draft.add("tear-down", tear_down(observed, _LEAVING[phase]))
    gang = shrink_gang(observed, situation.settings) if is_torn_down(observed) else NOTHING
    draft.add("gang", gang)
    is_shrinking = gang.actions or gang.is_blocked
    return draft.finish(status=None if is_shrinking else _next_status(phase, _look(situation)))


def _next_status(phase: Phase, look: Look) -> WriteStatus | None:
    row = find_row(phase, read_inputs(look))
    return None if row is None else _write(look.observed, take_row(row, look.observed.status, look))


def _write(observed: ObservedJob, new: JsonObject, introduces: tuple[str, ...] = ()) -> WriteStatus | None:
    because = because_of(observed.status, new)
    return statuses.write_status(observed.job, observed.status, new, because, introduces)


def _plan_refused(draft: Draft, phase: Phase, situation: JobSituation, refusal: Problem) -> Plan:
    """What an attempt has is kept for a while, so that a spec that is mended soon goes on as if nothing had been."""
    observed, now = situation.observed, situation.now
    metadata, status = observed.job.metadata, observed.status
    draft.add("refusal", tell_refusal(refusal, metadata))
    state = State(Phase.VALIDATION_FAILED, str(status.get("jobStatus") or ""))
    step = statuses.Step(state, Reason.VALIDATION_FAILED, describe_refusal(refusal, metadata))
    new = statuses.take_step(status, step, observed.job, now)
    new = {"rayClusterStatus": statuses.EMPTY_CLUSTER, "failed": 0, "succeeded": 0, **new}
    wake_after = None
    if status.get("rayClusterName"):
        if phase is not Phase.VALIDATION_FAILED:
            new["endTime"] = format_timestamp(now)
        new, wake_after = _release_in_time(draft, situation, new)
    write = statuses.write_status(observed.job, status, new, Because.REFUSED)
    return draft.finish(status=write, wake_after=wake_after)


def _release_in_time(draft: Draft, situation: JobSituation, new: JsonObject) -> tuple[JsonObject, float | None]:
    """The status, and when to look again: what the attempt has goes when its time is over."""
    observed, settings, now = situation.observed, situation.settings, situation.now
    end = _look(situation).timers.refusal
    if end is None:
        return new, max(0.0, float(settings.rayjob_transition_grace_seconds)) or None
    if not is_over(end, now):
        return new, end - now
    if not is_torn_down(observed):
        draft.add("tear-down", tear_down(observed, Because.REFUSED_TOO_LONG))
        return new, None
    kept = {key: new[key] for key in ("jobDeploymentStatus", "reason", "message")}
    return {**statuses.forget_attempt(new), **kept}, None


def _plan_living(draft: Draft, phase: Phase, look: Look) -> Plan:
    observed = look.observed
    if phase is Phase.NEW:
        return _plan_beginning(draft, look)
    if phase is Phase.SUSPENDED or phase is Phase.VALIDATION_FAILED:
        status = _next_status(phase, look)
        if status is None:
            draft.add("suspended", wait_beside(Hold.SUSPENDED, "spec.suspend is true", "spec.suspend is false"))
        return draft.finish(status=status)
    new = plan_attempt(draft, phase, look)
    return draft.finish(
        status=_write(observed, new), wake_after=soonest((look.timers.upcoming(look.now), look.seconds_to_certainty))
    )


def _plan_beginning(draft: Draft, look: Look) -> Plan:
    """The names are written down, and nothing else: whatever comes next uses what the status holds."""
    observed, job = look.observed, look.observed.job
    finalizer = deletion.plan_finalizer(job)
    draft.add("finalizer", finalizer)
    if finalizer.actions:
        return draft.finish()  # it moves the version that a status write would have to name
    names = name_attempt(job, int(observed.status.get("failed") or 0))
    new = statuses.begin_attempt(observed.status, names.job_id, names.cluster, look.now)
    introduces = tuple(name for name in (names.job_id, names.cluster) if name)
    return draft.finish(status=_write(observed, new, introduces))
