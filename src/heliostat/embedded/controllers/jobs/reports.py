"""What people are told about a Job, in the Job controller's words."""

from heliostat.embedded.controllers.jobs.verdict import JobEnd
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.kube.plan import Event, Report

NORMAL, WARNING = "Normal", "Warning"

SUSPENDED = Event(NORMAL, "Suspended", "Suspend", "Job suspended")
RESUMED = Event(NORMAL, "Resumed", "Resume", "Job resumed")
UNKNOWN_MODE = Event(WARNING, "UnknownCompletionMode", "Sync", "Skipped Job sync because completion mode is unknown")
_COMPLETED = Event(NORMAL, "Completed", "Complete", "Job completed")
_TOO_MANY = Event(
    WARNING, "TooManySucceededPods", "Complete", "Too many succeeded pods running after completion count reached"
)


def report_create(pod_name: str) -> Report:
    return Report(
        success=Event(NORMAL, "SuccessfulCreate", "Create", f"Created pod: {pod_name}"),
        failure=Event(WARNING, "FailedCreate", "Create", "Error creating"),
        failure_tag="FailedCreate",
        separator=": ",
    )


def report_delete(pod_name: str) -> Report:
    return Report(
        success=Event(NORMAL, "SuccessfulDelete", "Delete", f"Deleted pod: {pod_name}"),
        failure=Event(WARNING, "FailedDelete", "Delete", "Error deleting"),
        failure_tag="FailedDelete",
        separator=": ",
    )


def build_end_events(job: Job, verdict: JobEnd, succeeded: int) -> tuple[Event, ...]:
    if not verdict.is_success:
        return (Event(WARNING, verdict.reason, "Fail", verdict.message),)
    wanted = job.spec.completions
    return (_TOO_MANY, _COMPLETED) if wanted is not None and succeeded > wanted else (_COMPLETED,)
