"""One attempt of a RayJob, from its cluster to its end: Initializing, Waiting and Running.

The table of phases says whether the job goes on to another phase. Only when it stays is something done in its phase: a
cluster is made, a job is handed to Ray, what Ray tells is noted.
"""

from heliostat.api.markers import JsonObject
from heliostat.desired.rayjob.names import HTTP_MODE, K8S_JOB_MODE, SIDECAR_MODE
from heliostat.desired.rayjob.scheduling import find_scheduler_problem
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Unknown
from heliostat.plan.draft import NOTHING, Draft, Part, wait_beside, wait_for
from heliostat.plan.observing import read_cluster_spec
from heliostat.plan.rayjob import status as statuses
from heliostat.plan.rayjob.answers import FAILED
from heliostat.plan.rayjob.cluster import Condition, ensure_cluster, tell_progress
from heliostat.plan.rayjob.gang import ensure_gang
from heliostat.plan.rayjob.look import Look, read_inputs
from heliostat.plan.rayjob.messages import describe_row
from heliostat.plan.rayjob.phase_inputs import Submitter, Voice
from heliostat.plan.rayjob.phases import Do, Phase, Row, State, find_row
from heliostat.plan.rayjob.reasons import Because, Hold
from heliostat.plan.rayjob.slow_start import tell_slow_start
from heliostat.plan.rayjob.submission import ensure_head_service, ensure_submitter_job, submit_effect
from heliostat.plan.rayjob.unapplied import tell_unapplied


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
    job, ray = look.observed.job, str(status.get("jobStatus") or "")
    if row.at is Phase.VALIDATION_FAILED:
        status = {key: value for key, value in status.items() if key not in ("message", "endTime")}
    if Do.RESET in row.do:
        status, ray = statuses.forget_attempt(status), ""
    if Do.NOTE_DASHBOARD in row.do:
        status = {**status, "dashboardURL": look.sight.dashboard_url}
    if Do.TAKE_ID in row.do:
        status = {**status, "jobId": job.spec.job_id}
    if Do.DECLARE_FAILED in row.do:
        ray = FAILED
    message = describe_row(row, look, str(status.get("message") or ""))
    return statuses.take_step(status, statuses.Step(State(row.to, ray), row.reason, message), job, look.now)


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
        job = ensure_submitter_job(observed, read_cluster_spec(sight.tree), sight.dashboard_url, settings)
        draft.add("submitter", job, ("cluster",))
    draft.add("slow-start", tell_slow_start(status, draft.waits, look.now))
    is_ready = sight.condition is Condition.READY
    # KubeRay: the pass that sees the cluster ready does not copy its status any more (rayjob.md §4).
    return status if is_ready else statuses.note_cluster(status, sight.tree)


def _run(draft: Draft, status: JsonObject, look: Look) -> JsonObject:
    observed, settings, sight = look.observed, look.settings, look.sight
    if look.mode != SIDECAR_MODE and not look.was_seen:
        # Nothing has run there yet, so nothing runs twice when it is made anew.
        draft.add("cluster", ensure_cluster(observed, sight, settings))
    draft.add("head-service", ensure_head_service(observed, sight.tree, settings))
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
        return ensure_submitter_job(observed, read_cluster_spec(look.sight.tree), url, look.settings), ""
    if look.mode != HTTP_MODE or look.voice is not Voice.DENIES or look.was_seen:
        return NOTHING, ""
    effect = submit_effect(observed)
    if isinstance(effect, Impossible):
        return NOTHING, effect.message
    return Part(actions=(effect,)), look.remembered.submit_failure


def _tell_of_ray(look: Look, failure: str) -> Part:
    if failure:
        return wait_beside(Hold.NOT_TAKEN, failure, "Ray takes it, or the status check time-out is over")
    answer = look.observed.answer
    if look.voice is Voice.SILENT and isinstance(answer, Unknown):
        return wait_beside(Hold.RAY_SILENT, answer.why, "it answers, or the status check time-out is over")
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
