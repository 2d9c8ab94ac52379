"""One attempt of a RayJob, from its cluster to its end: Initializing, Waiting and Running.

The situation is read once; the table of phases says whether the job goes on to another phase. Only when it stays is
something done in its phase: a cluster is made, a job is handed to Ray, what Ray tells is noted.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import (
    HTTP_MODE,
    INTERACTIVE_MODE,
    K8S_JOB_MODE,
    SIDECAR_MODE,
    submission_mode,
)
from heliostat.desired.rayjob.request import build_submission
from heliostat.desired.rayjob.scheduling import find_scheduler_problem
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Fact
from heliostat.plan.draft import NOTHING, Draft, Part, wait_beside, wait_for
from heliostat.plan.rayjob import status as statuses
from heliostat.plan.rayjob.answers import FAILED, JobAbsent, JobInfo
from heliostat.plan.rayjob.cluster import ClusterSight, Condition, ensure_cluster, look_at_cluster, tell_progress
from heliostat.plan.rayjob.gang import ensure_gang
from heliostat.plan.rayjob.messages import describe_row
from heliostat.plan.rayjob.observed import ObservedJob, Remembered
from heliostat.plan.rayjob.phase_inputs import PhaseInputs, Submitter, Voice
from heliostat.plan.rayjob.phases import Do, Phase, Row, State, find_row
from heliostat.plan.rayjob.ray_instance import find_ended_ray, is_another_head
from heliostat.plan.rayjob.reasons import Because, Hold
from heliostat.plan.rayjob.slow_start import tell_slow_start
from heliostat.plan.rayjob.submission import ensure_head_service, ensure_submitter_job, submit_effect
from heliostat.plan.rayjob.submitter import Progress, judge_submitter
from heliostat.plan.rayjob.teardown import is_torn_down
from heliostat.plan.rayjob.timers import Timers, is_over, read_timers
from heliostat.plan.rayjob.unapplied import tell_unapplied

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


def plan_attempt(draft: Draft, phase: Phase, look: Look) -> JsonObject:
    """The status as it should read; what is to be done goes into the draft."""
    status = _note_answer(phase, look)
    row = find_row(phase, read_inputs(look))
    if row is not None:
        return take_row(row, status, look)
    if phase is Phase.INITIALIZING:
        return _prepare(draft, status, look)
    if phase is Phase.WAITING:
        draft.add("id", wait_beside(Hold.ID_AWAITED, "no job id yet", "spec.jobId is set"))
        return status
    return _run(draft, status, look)


def take_row(row: Row, status: JsonObject, look: Look) -> JsonObject:
    observed, ray = look.observed, str(status.get("jobStatus") or "")
    if row.at is Phase.VALIDATION_FAILED:
        status = {key: value for key, value in status.items() if key not in ("message", "endTime")}
    if Do.RESET in row.do:
        status, ray = statuses.forget_attempt(status), ""
    if Do.NOTE_DASHBOARD in row.do:
        status = {**status, "dashboardURL": look.sight.dashboard_url}
    if Do.TAKE_ID in row.do:
        status = {**status, "jobId": observed.job.spec.job_id}
    if Do.DECLARE_FAILED in row.do:
        ray = FAILED
    told = str(status.get("message") or "")
    message = describe_row(row, observed, look.progress, look.settings, look.remembered, told)
    reason = row.reason
    return statuses.take_step(status, statuses.Step(State(row.to, ray), reason, message), observed.job, look.now)


def _note_answer(phase: Phase, look: Look) -> JsonObject:
    """What Ray says, and since when it says nothing."""
    status = look.observed.status
    if phase is not Phase.RUNNING or look.voice is Voice.UNASKED:
        return status
    if look.info is not None:
        return statuses.note_info(statuses.note_cluster(status, look.sight.tree), look.info)
    if look.voice is Voice.SILENT or look.remembered.submit_failure:
        return statuses.note_silence(status, look.now)
    # A denial that does not count yet ends no silence: else a Ray that is heard now and then would never be given up.
    return status if look.was_seen and look.doubt else statuses.note_answer(status)


def _prepare(draft: Draft, status: JsonObject, look: Look) -> JsonObject:
    observed, settings, sight = look.observed, look.settings, look.sight
    blocked = find_scheduler_problem(observed.job, settings)
    if blocked is not None:
        draft.add("scheduling", wait_for(Hold.SCHEDULER, blocked.message, "the job or the scheduler is another one"))
        draft.add("slow-start", tell_slow_start(status, draft.waits, look.now))
        return status
    draft.add("scheduling", ensure_gang(observed, settings))
    draft.add("cluster", ensure_cluster(observed, sight, settings), ("scheduling",))
    draft.add("progress", tell_progress(observed, sight))
    if look.mode == K8S_JOB_MODE and sight.dashboard_url is not None and sight.tree is not None:
        job = ensure_submitter_job(observed, spec_of(sight.tree), sight.dashboard_url, settings)
        draft.add("submitter", job, ("cluster",))
    draft.add("slow-start", tell_slow_start(status, draft.waits, look.now))
    is_ready = sight.condition is Condition.READY
    # KubeRay: the pass that sees the cluster ready does not copy its status any more (rayjob.md §4).
    return status if is_ready else statuses.note_cluster(status, sight.tree)


def spec_of(cluster: JsonObject) -> RayClusterSpec:
    return msgspec.convert(cluster["spec"], RayClusterSpec)


def _run(draft: Draft, status: JsonObject, look: Look) -> JsonObject:
    observed, settings, sight = look.observed, look.settings, look.sight
    if look.mode != SIDECAR_MODE and not look.was_seen:
        # Nothing has run there yet, so nothing runs twice when it is made anew.
        draft.add("cluster", ensure_cluster(observed, sight, settings))
    if observed.job.spec.ray_cluster_spec is not None:
        draft.add("head-service", ensure_head_service(observed, observed.job.spec.ray_cluster_spec, settings))
    submission, failure = _submit(look)
    draft.add("submission", submission, ("cluster",))
    draft.add("ray", _tell_of_ray(look, failure))
    draft.add("edits", tell_unapplied(observed, sight.tree, look.info, settings))
    return statuses.note_silence(status, look.now) if failure else status


def _submit(look: Look) -> tuple[Part, str]:
    """What hands the job over, and why Ray does not take it."""
    observed = look.observed
    url = str(observed.status.get("dashboardURL") or "")
    if look.mode == K8S_JOB_MODE and look.progress.at is Submitter.MISSING and look.sight.tree is not None:
        return ensure_submitter_job(observed, spec_of(look.sight.tree), url, look.settings), ""
    if look.mode != HTTP_MODE or look.voice is not Voice.DENIES or look.was_seen:
        return NOTHING, ""
    effect = submit_effect(observed)
    if isinstance(effect, Impossible):
        return NOTHING, effect.message
    return Part(actions=(effect,)), look.remembered.submit_failure


def _tell_of_ray(look: Look, failure: str) -> Part:
    if failure:
        return wait_beside(Hold.NOT_TAKEN, failure, "Ray takes it, or the status check time-out is over")
    if look.voice is Voice.SILENT:
        why = getattr(look.observed.answer, "why", "")
        return wait_beside(Hold.RAY_SILENT, why, "it answers, or the status check time-out is over")
    if look.info is None:
        return wait_beside(Hold.SUBMISSION, f"job {look.observed.job_id}", "Ray tells of it")
    if look.progress.at is Submitter.AT_WORK and look.info.ended:
        return wait_beside(Hold.SUBMITTER_AT_WORK, look.info.status, "the submitter has ended, too")
    return wait_beside(Hold.JOB_RUNS, look.info.status, "it ends")


def because_of(old: JsonObject, new: JsonObject) -> Because:
    """Why the status is written."""
    if old.get("jobDeploymentStatus") != new.get("jobDeploymentStatus"):
        return Because.NEXT_PHASE
    if old.get("jobStatus") != new.get("jobStatus"):
        return Because.RAY_TOLD
    if statuses.SILENT_SINCE in new and statuses.SILENT_SINCE not in old:
        return Because.RAY_SILENT
    return Because.RAY_ANSWERS if statuses.SILENT_SINCE in old else Because.CLUSTER_MOVED
