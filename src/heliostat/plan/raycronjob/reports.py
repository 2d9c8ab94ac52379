"""What people are told of a RayCronJob: KubeRay's events (raycronjob.md §2), and those of ours.

KubeRay is silent when it makes a RayJob. Differs from KubeRay: cron-policy, cron-told. What Kubernetes' own CronJob
calls the same thing is called so here.
"""

from heliostat.kube.plan import Event, Ref, Report
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.reports import COLON, NORMAL, WARNING, place_of_ref

SUSPENDED = Event(NORMAL, "SuspendedRayCronJob", "Suspend", "RayCronJob suspended, no new RayJobs will be created")
NEVER_DUE = Event(
    WARNING, "NeverDue", "Schedule", "No day of the next five years fits the schedule, no RayJobs will be created"
)


def report_create(ref: Ref) -> Report:
    failed = Event(WARNING, "FailedToCreateRayJob", "Create", f"Failed to create RayJob {place_of_ref(ref)}")
    return Report(failure=failed, separator=COLON)


def report_delete(ref: Ref) -> Report:
    place = place_of_ref(ref)
    return Report(
        success=Event(NORMAL, "DeletedRayJob", "Delete", f"Deleted RayJob {place}"),
        failure=Event(WARNING, "FailedToDeleteRayJob", "Delete", f"Failed to delete RayJob {place}"),
        separator=COLON,
    )


def name_taken(ref: Ref, tick: float) -> Event:
    note = (
        f"RayJob {place_of_ref(ref)} exists and is not of this RayCronJob: the run of {format_timestamp(tick)} is left"
        " out"
    )
    return Event(WARNING, "RayJobNameTaken", "Create", note)


def missed(first: float, last: float, why: str) -> Event:
    """Ticks that will never have a RayJob."""
    return Event(WARNING, "MissSchedule", "Schedule", f"Missed {_span(first, last)}: {why}")


def already_active(first: float, last: float, active: str) -> Event:
    note = f"Left out {_span(first, last)}: {active} still runs and the concurrency policy is Forbid"
    return Event(NORMAL, "JobAlreadyActive", "Schedule", note)


def _span(first: float, last: float) -> str:
    if first == last:
        return f"the run of {format_timestamp(first)}"
    return f"the runs from {format_timestamp(first)} to {format_timestamp(last)}"
