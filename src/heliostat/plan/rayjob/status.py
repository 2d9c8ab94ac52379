"""The status of a RayJob: put together from a state and what came with it, and written when somebody may act on it.

A change of the message, of Ray's times or of the counters alone is no reason to write (rayjob.md §4).
"""

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.rayjob import RayJob
from heliostat.kube.plan import WriteStatus
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.itself import write_own_status
from heliostat.plan.raycluster.status import is_consistent
from heliostat.plan.rayjob.answers import SUCCEEDED, JobInfo
from heliostat.plan.rayjob.phases import NOT_RETRIED, TERMINAL, Phase, Reason, State
from heliostat.plan.rayjob.reasons import Because

# KubeRay: a cluster that says nothing yet still shows these (rayjob.md §4).
EMPTY_CLUSTER = {"desiredCPU": "0", "desiredMemory": "0", "desiredGPU": "0", "desiredTPU": "0"}

SILENT_SINCE = "jobStatusCheckFailureStartTime"
_ATTEMPT = (
    "jobId", "rayClusterName", "dashboardURL", "jobStatus", "reason", "message", "rayJobInfo", SILENT_SINCE,
)  # fmt: skip
_WORTH_WRITING = ("jobStatus", "jobDeploymentStatus", "jobId", "rayClusterName", "dashboardURL", SILENT_SINCE)


class Step(Struct, frozen=True):
    """Where the job goes."""

    state: State
    reason: Reason = Reason.NONE
    message: str = ""


def shown_phase(status: JsonObject) -> Phase | None:
    """None for a phase that nobody here knows."""
    try:
        return Phase(status.get("jobDeploymentStatus") or "")
    except ValueError:
        return None


def take_step(status: JsonObject, step: Step, job: RayJob, now: float) -> JsonObject:
    """The status after the step; counters, the next attempt and the end follow from it (rayjob.md §11)."""
    state = step.state
    changed = {
        **status,
        "jobDeploymentStatus": state.phase,
        "jobStatus": state.ray,
        "reason": step.reason,
        "message": step.message,
    }
    if state.phase is Phase.FAILED:
        changed["failed"] = int(status.get("failed") or 0) + 1
        if may_try_again(job, changed["failed"], step.reason):
            changed["jobDeploymentStatus"] = State(Phase.RETRYING, state.ray).phase
    if state.phase is Phase.COMPLETE and state.ray == SUCCEEDED:
        changed["succeeded"] = int(status.get("succeeded") or 0) + 1
    if changed["jobDeploymentStatus"] in TERMINAL:
        changed["endTime"] = format_timestamp(now)
    return tidy(changed)


def may_try_again(job: RayJob, failed: int, reason: Reason) -> bool:
    limit = job.spec.backoff_limit
    return limit is not None and failed < limit + 1 and reason not in NOT_RETRIED


def begin_attempt(status: JsonObject, job_id: str, cluster: str, now: float) -> JsonObject:
    return tidy(
        {
            **status,
            "jobDeploymentStatus": Phase.INITIALIZING,
            "jobId": job_id,
            "rayClusterName": cluster,
            "startTime": format_timestamp(now),
            "succeeded": status.get("succeeded") or 0,
            "failed": status.get("failed") or 0,
            "rayClusterStatus": status.get("rayClusterStatus") or EMPTY_CLUSTER,
        }
    )


def forget_attempt(status: JsonObject) -> JsonObject:
    """Times and counters stay: they are about the whole RayJob."""
    kept = {key: value for key, value in status.items() if key not in _ATTEMPT}
    return {**kept, "rayClusterStatus": EMPTY_CLUSTER}


def note_cluster(status: JsonObject, cluster: JsonObject | None) -> JsonObject:
    """With the cluster's own status, when it says something new."""
    there = (cluster or {}).get("status") or {}
    shown = status.get("rayClusterStatus") or {}
    if not there or is_consistent(shown, there):
        return status
    return {**status, "rayClusterStatus": EMPTY_CLUSTER | there}


def note_info(status: JsonObject, info: JobInfo) -> JsonObject:
    """What Ray tells of the job; silence is over."""
    times = {"startTime": info.started, "endTime": info.ended}
    told = {key: format_timestamp(moment) for key, moment in times.items() if moment}
    kept = {key: value for key, value in status.items() if key != SILENT_SINCE}
    return tidy(
        {
            **kept,
            "jobStatus": info.status,
            "message": info.message,
            "reason": "",
            "rayJobInfo": {**(status.get("rayJobInfo") or {}), **told},
        }
    )


def note_silence(status: JsonObject, now: float) -> JsonObject:
    """Since when; the first time counts."""
    return status if status.get(SILENT_SINCE) else {**status, SILENT_SINCE: format_timestamp(now)}


def note_answer(status: JsonObject) -> JsonObject:
    return {key: value for key, value in status.items() if key != SILENT_SINCE}


def tidy(status: JsonObject) -> JsonObject:
    """Plain texts, and none that are empty: so the server keeps it."""
    plain = {key: str(value) if isinstance(value, str) else value for key, value in status.items()}
    return {key: value for key, value in plain.items() if value not in ("", None, {})}


def is_worth_writing(old: JsonObject, new: JsonObject) -> bool:
    if any((old.get(key) or "") != (new.get(key) or "") for key in _WORTH_WRITING):
        return True
    return not is_consistent(old.get("rayClusterStatus") or {}, new.get("rayClusterStatus") or {})


def write_status(
    job: RayJob, old: JsonObject, new: JsonObject, because: Because, introduces: tuple[str, ...] = ()
) -> WriteStatus | None:
    if not is_worth_writing(old, new):
        return None
    return write_own_status("RayJob", job.metadata, new, because, introduces)
