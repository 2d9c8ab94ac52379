"""What ``status.message`` says when a RayJob comes to its end; KubeRay's words where others look for them."""

from heliostat.desired.rayjob.names import SIDECAR_MODE
from heliostat.kube.facts import Unknown
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.rayjob.look import Look
from heliostat.plan.rayjob.phase_inputs import If
from heliostat.plan.rayjob.phases import Reason, Row
from heliostat.plan.rayjob.ray_instance import find_ended_ray
from heliostat.plan.rayjob.status import SILENT_SINCE
from heliostat.plan.rayjob.submitter import Progress
from heliostat.plan.rayjob.timers import SUBMITTER_PATIENCE, describe_deadline, seconds_before_running


def describe_row(row: Row, look: Look, told: str) -> str:
    """``told`` is Ray's own message."""
    spec, started = look.observed.job.spec, str(look.observed.status.get("startTime") or "")
    match row.reason:
        case Reason.DEADLINE_EXCEEDED:
            return describe_deadline("activeDeadlineSeconds", started, spec.active_deadline_seconds)
        case Reason.PRE_RUNNING_DEADLINE_EXCEEDED:
            seconds = seconds_before_running(look.observed, look.settings)
            return describe_deadline("preRunningDeadlineSeconds", started, seconds)
        case Reason.STATUS_CHECK_TIMEOUT_EXCEEDED:
            return _describe_silence(look)
        case Reason.SUBMISSION_FAILED:
            why = look.progress.why
            return why if look.mode == SIDECAR_MODE else f"Job submission has failed. {why}"
        case Reason.GRACE_PERIOD_EXCEEDED:
            return _describe_patience(row, look.progress)
        case Reason.APP_FAILED:
            return _describe_failure(row, look, told)
    return told


def _describe_silence(look: Look) -> str:
    answer, since = look.observed.answer, look.observed.status.get(SILENT_SINCE)
    why = answer.why if isinstance(answer, Unknown) else look.remembered.submit_failure
    limit = look.settings.rayjob_status_check_timeout_seconds
    return f"Ray's dashboard could not be used since {since}, which exceeded timeout of {limit}s: {why}"


def _describe_patience(row: Row, progress: Progress) -> str:
    if If.SUBMITTER_SUCCEEDED in row.when:
        ended = format_timestamp(progress.ended or 0.0).replace("T", " ").rstrip("Z")
        return (
            f"The RayJob submitter finished at {ended} but the ray job did not reach terminal state within "
            f"{SUBMITTER_PATIENCE:.0f}s"
        )
    return (
        "JobDeploymentStatus does not transition to Complete or Failed within the grace period after JobStatus reaches"
        " a terminal state."
    )


def _describe_failure(row: Row, look: Look, told: str) -> str:
    observed = look.observed
    if If.HEAD_GONE in row.when:
        deleted = f"RayCluster {observed.cluster_name} was deleted while it ran the job."
        return find_ended_ray(observed) or look.progress.why or deleted
    if If.FORGOTTEN in row.when:
        return f"Ray knows no job {observed.job_id} any more: the head that ran it was lost."
    if If.NEVER_SUBMITTED in row.when:
        return "Submitter completed but Ray job not found in RayCluster."
    return told
