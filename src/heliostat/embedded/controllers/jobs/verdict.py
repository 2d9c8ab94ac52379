"""Whether the Job has to end, how, and why.

Rules, the first that applies: what an earlier look has written down stays; a Pod failure policy that fails the Job;
too many failures; the deadline; failed indexes; the success policy; enough completions and nobody at work any more.
"""

from msgspec import Struct

from heliostat.embedded.controllers.jobs.census import Census
from heliostat.embedded.controllers.jobs.conditions import FAILURE_TARGET, SUCCESS_CRITERIA_MET, find_true
from heliostat.embedded.controllers.jobs.failure_policy import judge_failure
from heliostat.embedded.controllers.jobs.pod_facts import has_failed
from heliostat.embedded.controllers.jobs.success_policy import match_success_policy
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.timestamps import moment_of


class JobEnd(Struct, frozen=True):
    is_success: bool
    reason: str
    message: str


BACKOFF_LIMIT = JobEnd(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE = JobEnd(False, "DeadlineExceeded", "Job was active longer than specified deadline")
TOO_MANY_INDEXES = JobEnd(
    False, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)
FAILED_INDEXES = JobEnd(False, "FailedIndexes", "Job has failed indexes")
COMPLETIONS = JobEnd(True, "CompletionsReached", "Reached expected number of succeeded pods")


def decide_verdict(census: Census, now: float) -> JobEnd | None:
    return (
        _written_verdict(census.job)
        or _policy_failure(census)
        or _limit_failure(census, now)
        or _index_failure(census)
        or _policy_success(census)
        or _completions_reached(census)
    )


def _written_verdict(job: Job) -> JobEnd | None:
    for type_, is_success in ((SUCCESS_CRITERIA_MET, True), (FAILURE_TARGET, False)):
        condition = find_true(job, type_)
        if condition is not None:
            return JobEnd(is_success, condition.reason, condition.message)
    return None


def _policy_failure(census: Census) -> JobEnd | None:
    policy = census.job.spec.pod_failure_policy
    for pod in census.pods if policy is not None else ():
        message = judge_failure(policy, pod).message if has_failed(pod, census.job) else ""
        if message:
            return JobEnd(False, "PodFailurePolicy", message)
    return None


def _limit_failure(census: Census, now: float) -> JobEnd | None:
    job = census.job
    if census.failed > job.backoff_limit or _restarted_too_often(job, census.pods):
        return BACKOFF_LIMIT
    remaining = remaining_deadline(job, now)
    return DEADLINE if remaining is not None and remaining <= 0 else None


def _restarted_too_often(job: Job, pods: tuple[Pod, ...]) -> bool:
    """Pods that restart their containers themselves spend the limit by restarts."""
    if job.spec.template.get("spec", {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(_restarts(pod) for pod in pods if pod.status.phase in ("Running", "Pending"))
    return restarts >= max(job.backoff_limit, 1)


def _restarts(pod: Pod) -> int:
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return sum(container.restart_count for container in containers)


def remaining_deadline(job: Job, now: float) -> float | None:
    """Seconds; None without a deadline, before the start and while suspended."""
    started, seconds = moment_of(job.status.start_time), job.spec.active_deadline_seconds
    if seconds is None or started is None or job.is_suspended:
        return None
    return started + seconds - now


def _index_failure(census: Census) -> JobEnd | None:
    job, failed = census.job, len(census.failed_indexes)
    if not job.counts_per_index:
        return None
    if job.spec.max_failed_indexes is not None and failed > job.spec.max_failed_indexes:
        return TOO_MANY_INDEXES
    return FAILED_INDEXES if failed and failed + len(census.completed_indexes) >= job.indexes else None


def _policy_success(census: Census) -> JobEnd | None:
    job = census.job
    if not job.is_indexed:
        return None
    message = match_success_policy(job.spec.success_policy, job.indexes, census.completed_indexes)
    return JobEnd(True, "SuccessPolicy", message) if message else None


def _completions_reached(census: Census) -> JobEnd | None:
    """Without completions one success is enough, and those still at work are waited for."""
    wanted = census.job.spec.completions
    enough = census.succeeded > 0 if wanted is None else census.succeeded >= wanted
    return COMPLETIONS if enough and not census.active else None
