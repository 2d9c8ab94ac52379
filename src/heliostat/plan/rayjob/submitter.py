"""How far the submitter is: a Job in K8sJobMode, a container of the head in SidecarMode (rayjob.md §3.3).

It tells who is at work. The result of the job is Ray's to tell: a submitter that failed has only stopped following.
"""

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.desired.rayjob.names import K8S_JOB_MODE, SIDECAR_MODE, submission_mode
from heliostat.desired.rayjob.submitter import SUBMITTER_CONTAINER, submitter_backoff_limit
from heliostat.kube.conditions import TRUE, get_condition
from heliostat.kube.facts import Unknown
from heliostat.kube.pods import ContainerStatus, PodView, is_terminating
from heliostat.kube.timestamps import moment_of
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.phase_inputs import Submitter


class Progress(Struct, frozen=True):
    """``ended`` is when it did, in epoch seconds; ``why`` is what is known of a failure."""

    at: Submitter
    ended: float | None = None
    why: str = ""


def judge_submitter(observed: ObservedJob, settings: Settings) -> Progress:
    mode = submission_mode(observed.job)
    if mode == K8S_JOB_MODE:
        return _judge_job(observed)
    return _judge_sidecar(observed, settings) if mode == SIDECAR_MODE else Progress(Submitter.NOBODY)


def _judge_job(observed: ObservedJob) -> Progress:
    found = observed.find_submitter()
    if isinstance(found, Unknown):
        return Progress(Submitter.UNKNOWN, why=found.why)
    if found is None or not observed.owns(found):
        return Progress(Submitter.MISSING)
    conditions = (found.get("status") or {}).get("conditions")
    for type_, at in (("Complete", Submitter.SUCCEEDED), ("Failed", Submitter.FAILED)):
        condition = get_condition(conditions, type_)
        if condition is not None and condition.get("status") == TRUE:
            why = f"Reason: {condition.get('reason', '')}. Message: {condition.get('message', '')}"
            return Progress(at, moment_of(condition.get("lastTransitionTime")), why)
    return Progress(Submitter.AT_WORK)


def _judge_sidecar(observed: ObservedJob, settings: Settings) -> Progress:
    heads = observed.heads()
    if isinstance(heads, Unknown):
        return Progress(Submitter.UNKNOWN, why=heads.why)
    head = min(heads, key=is_terminating, default=None)
    if head is None:
        return Progress(Submitter.LOST, why="Ray head pod not found.")
    container = _find_container(head)
    if container is None:
        return Progress(Submitter.AT_WORK)
    limit = submitter_backoff_limit(observed.job) if settings.gate("SidecarSubmitterRestart") else None
    return judge_container(container, limit)


def _find_container(head: PodView) -> ContainerStatus | None:
    return next((status for status in head.container_statuses if status.name == SUBMITTER_CONTAINER), None)


def judge_container(container: ContainerStatus, restart_limit: int | None) -> Progress:
    """``restart_limit`` is None when the container is not restarted at all."""
    ended = container.state.terminated
    if ended is not None and ended.exit_code == 0:
        return Progress(Submitter.SUCCEEDED, moment_of(ended.finished_at))
    last = ended or container.last_state.terminated
    if restart_limit is None:
        is_failed = ended is not None
    else:
        is_failed = container.last_state.terminated is not None and container.restart_count >= restart_limit
    if not is_failed or last is None:
        return Progress(Submitter.AT_WORK)
    why = f"Ray head pod container {SUBMITTER_CONTAINER} terminated with exit code {last.exit_code}: {last.reason}"
    return Progress(Submitter.FAILED, moment_of(last.finished_at), why)
