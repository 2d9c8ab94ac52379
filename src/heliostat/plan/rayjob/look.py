"""What an attempt of a RayJob is decided from, read once: its cluster, its submitter, what Ray says, and its deadlines.

``read_inputs`` turns it into the answers to the questions of the table of phases.
"""

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import HTTP_MODE, INTERACTIVE_MODE, SIDECAR_MODE, submission_mode
from heliostat.desired.rayjob.request import build_submission
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Fact
from heliostat.plan.rayjob.answers import JobAbsent, JobInfo
from heliostat.plan.rayjob.cluster import ClusterSight, Condition, look_at_cluster
from heliostat.plan.rayjob.observed import ObservedJob, Remembered
from heliostat.plan.rayjob.phase_inputs import PhaseInputs, Voice
from heliostat.plan.rayjob.ray_instance import find_ended_ray, is_another_head
from heliostat.plan.rayjob.submitter import Progress, judge_submitter
from heliostat.plan.rayjob.teardown import is_torn_down
from heliostat.plan.rayjob.timers import Timers, is_over, read_timers

DENIED_SECONDS = 6.0  # how long Ray must have denied a job before that ends an attempt
BETWEEN_ANSWERS = 1.0  # seconds; a look that comes sooner finds the answer that it knows


class Look(Struct, frozen=True):
    """All that an attempt is decided from."""

    observed: ObservedJob
    settings: Settings
    remembered: Remembered
    now: float
    sight: ClusterSight
    progress: Progress
    timers: Timers

    @property
    def mode(self) -> str:
        return submission_mode(self.observed.job)

    @property
    def info(self) -> JobInfo | None:
        answer = self.observed.answer
        return answer.value if isinstance(answer, Fact) and isinstance(answer.value, JobInfo) else None

    @property
    def voice(self) -> Voice:
        answer = self.observed.answer
        if isinstance(answer, Fact):
            return Voice.DENIES if isinstance(answer.value, JobAbsent) else Voice.TELLS
        return Voice.SILENT if self.remembered.is_asked else Voice.UNASKED

    @property
    def was_seen(self) -> bool:
        """Ray has, or had, the job: it is not offered a second time, and a cluster that had it is not made anew."""
        return bool(self.observed.status.get("jobStatus")) or self.remembered.is_accepted

    @property
    def doubt(self) -> float:
        """Seconds until a denial counts: a dashboard that begins, or lags, denies jobs that it has.

        The head that told of the job is asked for a while; another one has never heard of it.
        """
        if self.voice is not Voice.DENIES or is_another_head(self.observed.status, self.sight.tree):
            return 0.0
        return max(0.0, DENIED_SECONDS - self.remembered.answered_alike)

    @property
    def seconds_to_certainty(self) -> float | None:
        """When to look again for the sake of a denial. Only another answer brings it on, and that takes its time."""
        return max(self.doubt, BETWEEN_ANSWERS) if self.doubt else None


def look_at_attempt(observed: ObservedJob, settings: Settings, remembered: Remembered, now: float) -> Look:
    progress = judge_submitter(observed, settings)
    if submission_mode(observed.job) == HTTP_MODE:
        body = build_submission(observed.job, observed.job_id)
        if isinstance(body, Impossible):  # as good as refused by Ray: it cannot even be offered
            remembered = replace(remembered, submit_failure=body.message)
    timers = read_timers(observed, settings, progress.ended)
    has_submitted = submission_mode(observed.job) == SIDECAR_MODE and progress.ended is not None
    sight = look_at_cluster(observed, settings, has_submitted=has_submitted)
    return Look(observed, settings, remembered, now, sight, progress, timers)


def read_inputs(look: Look) -> PhaseInputs:
    observed, status, timers, now = look.observed, look.observed.status, look.timers, look.now
    spec, info = observed.job.spec, look.info
    is_stuck = look.voice is Voice.SILENT or (look.voice is Voice.DENIES and bool(look.remembered.submit_failure))
    return PhaseInputs(
        is_suspend_wanted=spec.suspend is True,
        is_interactive=look.mode == INTERACTIVE_MODE,
        is_reachable=look.sight.dashboard_url is not None,
        is_id_given=bool(spec.job_id),
        is_deadline_passed=is_over(timers.deadline, now),
        is_pre_running_passed=is_over(timers.pre_running, now),
        is_grace_passed=is_over(timers.grace, now),
        is_silence_too_long=is_over(timers.silence, now) and is_stuck,
        is_patience_over=is_over(timers.patience, now),
        is_unheard_too_long=is_over(timers.unheard, now),
        is_cluster_gone=look.sight.condition is Condition.ABSENT,
        is_ray_over=bool(find_ended_ray(observed)),
        is_all_gone=is_torn_down(observed),
        has_names=bool(status.get("rayClusterName")),
        has_dashboard=bool(status.get("dashboardURL")),
        has_job_id=bool(status.get("jobId")),
        submitter=look.progress.at,
        voice=look.voice,
        is_newer_than_submitter=_is_newer_than_submitter(look),
        is_denial_sure=not look.doubt,
        status=info.status if info is not None else str(status.get("jobStatus") or ""),
        was_seen=look.was_seen,
    )


def _is_newer_than_submitter(look: Look) -> bool:
    answer, ended = look.observed.answer, look.progress.ended
    # The end is told in whole seconds, cut off.
    return isinstance(answer, Fact) and (ended is None or look.now - answer.age >= ended + 1.0)
