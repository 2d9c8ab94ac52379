"""How Pods that are over get into the counts: never twice, never lost, whatever is interrupted.

Three steps, each visible in the view of the next: the UID is written into the status as uncounted; the finalizer is
taken off; the UID leaves the status and the count goes up. Successes of Indexed Jobs need no UIDs: the index itself is
written down. At most 500 UIDs wait at a time.
"""

from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.controllers.jobs.census import Census
from heliostat.embedded.controllers.jobs.failure_policy import judge_failure
from heliostat.embedded.controllers.jobs.pod_facts import has_failed, has_place, has_succeeded, is_tracked
from heliostat.embedded.controllers.jobs.verdict import JobEnd
from heliostat.embedded.controllers.views.jobs import Job, Uncounted
from heliostat.embedded.controllers.views.pods import Pod

MOST_UNCOUNTED = 500


class Tracking(Struct, frozen=True):
    uncounted: Uncounted  # as the status should say it
    succeeded: int
    failed: int
    release: tuple[Pod, ...]  # may lose their finalizers once the status says so
    awaits_view: bool = False  # UIDs wait to be counted until the view of Pods is as new as that of the Job

    @property
    def is_settled(self) -> bool:
        """Everything that is over is in the counts."""
        return not self.release and not self.uncounted.succeeded and not self.uncounted.failed


def decide_tracking(census: Census, verdict: JobEnd | None, kept: Iterable[Pod], *, is_current: bool) -> Tracking:
    """``kept`` must stay for now. ``is_current``: the view of Pods is at least as new as that of the Job."""
    waiting = _Waiting(census, is_current=is_current)
    kept_uids = {pod.metadata.uid for pod in kept}
    release: list[Pod] = []
    for pod in census.pods:
        if not is_tracked(pod) or not _may_go(pod, census.job, verdict, kept_uids):
            continue
        if waiting.admit(pod, verdict):
            release.append(pod)
    job = census.job
    return Tracking(
        uncounted=Uncounted(tuple(waiting.succeeded), tuple(waiting.failed)),
        succeeded=census.succeeded if job.is_indexed else job.status.succeeded + waiting.newly_succeeded,
        failed=job.status.failed + waiting.newly_failed,
        release=tuple(release),
        awaits_view=waiting.awaits_view,
    )


def _may_go(pod: Pod, job: Job, verdict: JobEnd | None, kept_uids: set[str]) -> bool:
    if job.metadata.is_terminating or verdict is not None or has_succeeded(pod):
        return True
    return has_failed(pod, job) and pod.metadata.uid not in kept_uids


class _Waiting:
    """The UIDs in the status while they are gone through."""

    def __init__(self, census: Census, *, is_current: bool) -> None:
        self._job = census.job
        before = census.uncounted
        unknown = {*before.succeeded, *before.failed} - {pod.metadata.uid for pod in census.pods}
        # A UID that the view does not know may belong to a Pod that it does not know *yet*: counted now, it would be
        # counted again when it appears.
        self.awaits_view = bool(unknown) and not is_current
        stays = census.tracked_uids | (unknown if self.awaits_view else set())
        self.succeeded = [uid for uid in before.succeeded if uid in stays]
        self.failed = [uid for uid in before.failed if uid in stays]
        self._known = {*self.succeeded, *self.failed}
        self.newly_succeeded = len(before.succeeded) - len(self.succeeded)
        self.newly_failed = len(before.failed) - len(self.failed)

    def admit(self, pod: Pod, verdict: JobEnd | None) -> bool:
        """Whether the Pod may go: its UID is written down, or need not be. Without room it has its turn later."""
        uids = self._list_for(pod, verdict)
        if uids is None or pod.metadata.uid in self._known:
            return True
        if len(self._known) >= MOST_UNCOUNTED:
            return False
        self._known.add(pod.metadata.uid)
        uids.append(pod.metadata.uid)
        return True

    def _list_for(self, pod: Pod, verdict: JobEnd | None) -> list[str] | None:
        if not has_place(pod, self._job):
            return None
        if has_succeeded(pod):
            return None if self._job.is_indexed else self.succeeded
        return self.failed if self._counts_as_failed(pod, verdict) else None

    def _counts_as_failed(self, pod: Pod, verdict: JobEnd | None) -> bool:
        """A Job that fails takes those still at work with it."""
        is_failure = has_failed(pod, self._job) or (verdict is not None and not verdict.is_success)
        return is_failure and judge_failure(self._job.spec.pod_failure_policy, pod).counts
