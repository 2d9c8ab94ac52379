"""When each deadline of a RayJob is over (rayjob.md §10), as moments in epoch seconds.

A deadline fires when now is at or after its moment. What has not begun has no moment.
"""

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.kube.timestamps import moment_of
from heliostat.plan.rayjob.answers import OVER
from heliostat.plan.rayjob.observed import ObservedJob

SUBMITTER_PATIENCE = 30.0  # seconds; KubeRay: not configurable


class Timers(Struct, frozen=True):
    deadline: float | None = None  # activeDeadlineSeconds
    pre_running: float | None = None  # preRunningDeadlineSeconds
    grace: float | None = None  # after the job's end, for the submitter to end, too
    silence: float | None = None  # of Ray's dashboard
    unheard: float | None = None  # as patience, from the first question on that Ray did not answer
    patience: float | None = None  # after the submitter's end, for Ray to tell of the job's
    refusal: float | None = None  # how long a refused RayJob keeps what it has

    def upcoming(self, now: float) -> float | None:
        """Seconds until the next one."""
        moments = (self.deadline, self.pre_running, self.grace, self.silence, self.patience, self.unheard, self.refusal)
        left = [moment - now for moment in moments if moment is not None and moment > now]
        return min(left, default=None)


def read_timers(observed: ObservedJob, settings: Settings, submitter_ended: float | None) -> Timers:
    status, spec = observed.status, observed.job.spec
    begun = moment_of(status.get("startTime"))
    silent = moment_of(status.get("jobStatusCheckFailureStartTime"))
    return Timers(
        deadline=_after(begun, spec.active_deadline_seconds),
        pre_running=_after(begun, seconds_before_running(observed, settings)),
        grace=_after(_ended(observed), settings.rayjob_transition_grace_seconds),
        silence=_after(silent, settings.rayjob_status_check_timeout_seconds),
        patience=None if submitter_ended is None else submitter_ended + SUBMITTER_PATIENCE,
        unheard=None
        if submitter_ended is None or silent is None
        else max(submitter_ended, silent) + SUBMITTER_PATIENCE,
        refusal=_after(moment_of(status.get("endTime")), settings.rayjob_transition_grace_seconds),
    )


def seconds_before_running(observed: ObservedJob, settings: Settings) -> int | None:
    """The RayJob's own word, or the operator's for all that have none."""
    own = observed.job.spec.pre_running_deadline_seconds
    return own if own is not None else settings.rayjob_pre_running_seconds or None


def _ended(observed: ObservedJob) -> float | None:
    """Of Ray's job, once the status shows that it is over."""
    status = observed.status
    if status.get("jobStatus") not in OVER:
        return None
    return moment_of((status.get("rayJobInfo") or {}).get("endTime"))


def _after(moment: float | None, seconds: int | None) -> float | None:
    return None if moment is None or seconds is None else moment + seconds


def is_over(moment: float | None, now: float) -> bool:
    return moment is not None and now >= moment


def describe_deadline(field: str, start: str, seconds: int | None) -> str:
    """KubeRay's words; ``field`` is the deadline's name in the spec."""
    text = start.replace("T", " ").replace("Z", " +0000 UTC")
    return f"The RayJob has passed the {field}. StartTime: {text}. {field[0].upper()}{field[1:]}: {seconds}"
