"""Who is there and how far the Job is, counted once from one view; everything else decides from this.

Rules: a Pod that is over is counted by the status once it has lost its finalizer, and here as long as it has it;
in between its UID stands in the status as uncounted. So counted + uncounted + newly over is exact whatever was
written when, and no Pod is in it twice.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.controllers.jobs.failure_policy import FAIL_INDEX, judge_failure
from heliostat.embedded.controllers.jobs.index_set import NO_INDEXES, IndexSet, parse_indexes
from heliostat.embedded.controllers.jobs.pod_facts import (
    completion_index,
    counted_failures,
    has_failed,
    has_place,
    has_succeeded,
    is_leaving,
    is_tracked,
)
from heliostat.embedded.controllers.views.jobs import Job, Uncounted
from heliostat.embedded.controllers.views.pods import Pod


class Census(Struct, frozen=True):
    job: Job
    pods: tuple[Pod, ...]  # by index, then by age
    uncounted: Uncounted
    active: tuple[Pod, ...]
    leaving: tuple[Pod, ...]
    fresh: tuple[Pod, ...]  # over, and neither counted nor written down as uncounted
    succeeded: int  # with those that the status does not count yet
    failed: int  # the same; without failures that the policy ignores
    completed_indexes: IndexSet = NO_INDEXES
    failed_indexes: IndexSet = NO_INDEXES

    @property
    def ready(self) -> int:
        return sum(pod.is_ready for pod in self.active)

    @property
    def tracked_uids(self) -> set[str]:
        return {pod.metadata.uid for pod in self.pods if is_tracked(pod)}


def take_census(job: Job, pods: Iterable[Pod]) -> Census:
    pods = tuple(sorted(pods, key=_order))
    uncounted = job.status.uncounted or Uncounted()
    counted = {*uncounted.succeeded, *uncounted.failed}
    fresh = [pod for pod in pods if is_tracked(pod) and pod.metadata.uid not in counted and has_place(pod, job)]
    succeeded = [pod for pod in fresh if has_succeeded(pod)]
    failed = [pod for pod in fresh if has_failed(pod, job) and judge_failure(job.spec.pod_failure_policy, pod).counts]
    completed_indexes = _completed_indexes(job, pods)
    total = job.status.succeeded + len(uncounted.succeeded) + len(succeeded)
    return Census(
        job=job,
        pods=pods,
        uncounted=uncounted,
        active=tuple(pod for pod in pods if pod.is_active),
        leaving=tuple(pod for pod in pods if is_leaving(pod)),
        fresh=(*succeeded, *failed),
        succeeded=len(completed_indexes) if job.is_indexed else total,
        failed=job.status.failed + len(uncounted.failed) + len(failed),
        completed_indexes=completed_indexes,
        failed_indexes=_failed_indexes(job, pods),
    )


def _order(pod: Pod) -> tuple[int, str, str]:
    index = completion_index(pod)
    return (-1 if index is None else index, pod.metadata.creation_timestamp or "", pod.metadata.name)


def _completed_indexes(job: Job, pods: Iterable[Pod]) -> IndexSet:
    if not job.is_indexed:
        return NO_INDEXES
    known = parse_indexes(job.status.completed_indexes, job.indexes)
    fresh = (pod for pod in pods if is_tracked(pod) and has_succeeded(pod) and has_place(pod, job))
    return known.with_indexes(indexes_of(fresh))


def _failed_indexes(job: Job, pods: Iterable[Pod]) -> IndexSet:
    if not job.counts_per_index:
        return NO_INDEXES
    known = parse_indexes(job.status.failed_indexes, job.indexes)
    return known.with_indexes(indexes_of(pod for pod in pods if is_tracked(pod) and _fails_its_index(pod, job)))


def _fails_its_index(pod: Pod, job: Job) -> bool:
    if not has_place(pod, job) or not has_failed(pod, job):
        return False
    verdict = judge_failure(job.spec.pod_failure_policy, pod)
    limit = job.spec.backoff_limit_per_index or 0
    return verdict.action == FAIL_INDEX or (verdict.counts and counted_failures(pod) >= limit)


def indexes_of(pods: Iterable[Pod]) -> set[int]:
    return {index for index in map(completion_index, pods) if index is not None}
