"""Which failed Pods of an Indexed Job have to stay until their successor is there.

With a back-off limit per index the count of failures lives in the Pods: each carries how many failed before it. So the
last failed Pod of an index that goes on keeps its finalizer until the view shows a Pod that took over its count.
"""

from heliostat.embedded.controllers.jobs.backoff import finish_time
from heliostat.embedded.controllers.jobs.census import Census, indexes_of
from heliostat.embedded.controllers.jobs.failure_policy import judge_failure
from heliostat.embedded.controllers.jobs.pod_facts import (
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    completion_index,
    counted_failures,
    has_failed,
    has_place,
    ignored_failures,
    is_tracked,
)
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import Pod


def find_awaiting_replacement(census: Census) -> dict[int, Pod]:
    """By index, the Pod that failed last."""
    if not census.job.counts_per_index:
        return {}
    awaiting: dict[int, Pod] = {}
    settled = census.completed_indexes.union(census.failed_indexes).with_indexes(indexes_of(census.active))
    for pod in census.pods:
        index = completion_index(pod)
        if index is None or index in settled or not _is_open_failure(pod, census.job):
            continue
        if index not in awaiting or _rank(pod) >= _rank(awaiting[index]):
            awaiting[index] = pod
    return awaiting


def _is_open_failure(pod: Pod, job: Job) -> bool:
    return is_tracked(pod) and has_place(pod, job) and has_failed(pod, job)


def _rank(pod: Pod) -> tuple[int, float]:
    return counted_failures(pod) + ignored_failures(pod), finish_time(pod)


def build_failure_counts(job: Job, replaced: Pod | None) -> dict[str, str]:
    """The annotations with which a new Pod takes over the count of the one it replaces."""
    if not job.counts_per_index:
        return {}
    counted, ignored = 0, 0
    if replaced is not None:
        counts = judge_failure(job.spec.pod_failure_policy, replaced).counts
        counted = counted_failures(replaced) + counts
        ignored = ignored_failures(replaced) + (not counts)
    annotations = {INDEX_FAILURES: str(counted)}
    return {**annotations, INDEX_IGNORED_FAILURES: str(ignored)} if ignored else annotations
