"""The status of a Job that is not over yet, as one view tells it.

Rules: counts of Pods at work are what the view shows, never what a write still has to achieve; the start is noted at
the first look that is not suspended, and anew on resuming; the end is announced first, and written once nobody is left
to stop or to count.
"""

from msgspec import Struct, structs

from heliostat.embedded.controllers.jobs.census import Census
from heliostat.embedded.controllers.jobs.conditions import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    FALSE,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    TRUE,
    build_condition,
    set_condition,
)
from heliostat.embedded.controllers.jobs.reports import RESUMED, build_end_events
from heliostat.embedded.controllers.jobs.reports import SUSPENDED as SUSPENDED_EVENT
from heliostat.embedded.controllers.jobs.tracking import Tracking
from heliostat.embedded.controllers.jobs.verdict import JobEnd
from heliostat.embedded.controllers.views.jobs import JobStatus
from heliostat.kube.plan import Event
from heliostat.kube.timestamps import format_timestamp


class Told(Struct, frozen=True):
    """A status and what to tell people about the change."""

    status: JobStatus
    events: tuple[Event, ...] = ()


def build_status(census: Census, verdict: JobEnd | None, tracking: Tracking, now: float) -> Told:
    job, moment = census.job, format_timestamp(now)
    status = structs.replace(
        job.status,
        start_time=job.status.start_time or (None if job.is_suspended else moment),
        active=len(census.active),
        ready=census.ready,
        terminating=len(census.leaving),
        succeeded=tracking.succeeded,
        failed=tracking.failed,
        uncounted=tracking.uncounted,
        completed_indexes=str(census.completed_indexes),
        failed_indexes=str(census.failed_indexes) if job.counts_per_index else None,
    )
    if verdict is not None:
        return _end(census, verdict, tracking, status, moment)
    return Told(status) if job.metadata.is_terminating else _suspend_or_resume(census, status, moment)


def _end(census: Census, verdict: JobEnd, tracking: Tracking, status: JobStatus, moment: str) -> Told:
    interim, final = (SUCCESS_CRITERIA_MET, COMPLETE) if verdict.is_success else (FAILURE_TARGET, FAILED)
    told = build_condition(interim, verdict.reason, verdict.message, moment)
    conditions = set_condition(status.conditions, told)
    is_announced = conditions is status.conditions
    if not is_announced or not tracking.is_settled or census.active or census.leaving:
        return Told(structs.replace(status, conditions=conditions))
    conditions = set_condition(conditions, build_condition(final, verdict.reason, verdict.message, moment))
    completed = moment if verdict.is_success else status.completion_time
    ended = structs.replace(status, conditions=conditions, completion_time=completed)
    return Told(ended, build_end_events(census.job, verdict, status.succeeded))


def _suspend_or_resume(census: Census, status: JobStatus, moment: str) -> Told:
    if census.job.is_suspended:
        fresh, event = build_condition(SUSPENDED, "JobSuspended", "Job suspended", moment, TRUE), SUSPENDED_EVENT
    else:
        fresh, event = build_condition(SUSPENDED, "JobResumed", "Job resumed", moment, FALSE), RESUMED
    conditions = set_condition(status.conditions, fresh)
    if conditions is status.conditions:
        return Told(status)
    # The deadline counts the seconds that a Job is active without a break.
    started = status.start_time if census.job.is_suspended else moment
    return Told(structs.replace(status, conditions=conditions, start_time=started), (event,))
