"""What one Pod says about its part in a Job: is it still to be counted, did it fail, which index is it of.

A Pod is *tracked* while it has the Job controller's finalizer: nobody can remove it, so nothing that happened to it
is lost before it is counted. Annotations that a user has broken read as absent.
"""

import re

from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.objects import Object

TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"  # an annotation and a label
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"

_WHOLE = re.compile(r"\+?\d{1,18}", re.ASCII)
_MOST = 2**31 - 1


def is_tracked(pod: Object) -> bool:
    return TRACKING_FINALIZER in pod.metadata.finalizers


def has_succeeded(pod: Pod) -> bool:
    return pod.status.phase == "Succeeded"


def is_leaving(pod: Pod) -> bool:
    """Asked to go and not over yet."""
    return pod.metadata.is_terminating and not pod.is_over


def has_failed(pod: Pod, job: Job) -> bool:
    """Also one that was asked to go, unless the Job wants to see it over first."""
    return pod.status.phase == "Failed" or (is_leaving(pod) and not job.replaces_only_failed)


def completion_index(pod: Pod) -> int | None:
    return _whole(pod.metadata.annotations.get(COMPLETION_INDEX))


def has_place(pod: Pod, job: Job) -> bool:
    """Counts for the Job at all: a Pod of an Indexed Job needs an index that the Job has."""
    if not job.is_indexed:
        return True
    index = completion_index(pod)
    return index is not None and index < job.indexes


def counted_failures(pod: Pod) -> int:
    """How many Pods of the same index failed before this one and count."""
    return _count(pod, INDEX_FAILURES)


def ignored_failures(pod: Pod) -> int:
    """How many failed before this one and do not count, by the Pod failure policy."""
    return _count(pod, INDEX_IGNORED_FAILURES)


def _count(pod: Pod, annotation: str) -> int:
    count = _whole(pod.metadata.annotations.get(annotation))
    return count if count is not None and count <= _MOST else 0


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None
