"""Pods that wait for a Job that will not count them: without the finalizer taken off they would never go.

Rules: a Pod without a controller, or whose Job is gone, loses the finalizer; a Pod of another kind of controller, or of
a Job that is there, keeps it. "Gone" is a fact and not a gap in the view: the Job was seen leaving, or the view of Jobs
is at least as new as the Pod.
"""

from heliostat.embedded.controllers.jobs.actions import release_pod
from heliostat.embedded.controllers.jobs.pod_facts import is_tracked
from heliostat.embedded.controllers.views.jobs import JOB, JOBS, Job
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.kube.objects import Key, OwnerReference
from heliostat.kube.plan import Plan, Stage, Wait
from heliostat.runtime.caches import Caches

LOOK_AGAIN_SECONDS = 1.0
_RELEASE = "release"


def plan_orphan(pod: Pod, owner: Job | None, *, is_gone: bool) -> Plan:
    """``owner`` is the Job that the Pod's controller reference means; ``is_gone``: none, for certain."""
    controller = pod.metadata.controller
    if not is_tracked(pod):
        return Plan()
    if controller is None:
        return Plan((Stage(_RELEASE, (release_pod(pod, "it has no controller"),)),))
    if not is_job(controller) or owner is not None:
        return Plan()
    if not is_gone:
        wait = Wait("UnknownJob", f"Job {controller.name} is not in view", "the view of Jobs is as new as the Pod")
        return Plan(waits=(wait,), wake_after=LOOK_AGAIN_SECONDS)
    return Plan((Stage(_RELEASE, (release_pod(pod, "its Job is gone"),)),))


def is_job(owner: OwnerReference) -> bool:
    return (owner.api_version, owner.kind) == (JOB.api_version, JOB.kind)


class DepartedJobs:
    """The UIDs of Jobs that were seen leaving while they had Pods; forgotten with their last Pod."""

    def __init__(self, caches: Caches) -> None:
        self._jobs = caches.of(JOBS)
        self._pods = caches.of(PODS)
        self._uids: set[str] = set()
        self._jobs.subscribe(self._job_changed)
        self._pods.subscribe(self._pod_changed)

    def owner_of(self, pod: Pod) -> Job | None:
        controller = pod.metadata.controller
        found = self._jobs.get(Key(pod.metadata.namespace, controller.name)) if controller is not None else None
        return found if found is not None and controller is not None and found.metadata.uid == controller.uid else None

    def are_certain_for(self, pod: Pod) -> bool:
        """Whether a Job that is not in view is gone."""
        controller = pod.metadata.controller
        is_known = controller is not None and controller.uid in self._uids
        return is_known or self._jobs.revision >= pod.metadata.revision

    def _job_changed(self, before: Job | None, after: Job | None) -> None:
        if before is None or (after is not None and after.metadata.uid == before.metadata.uid):
            return
        if self._pods.owned_by(before.metadata.uid):
            self._uids.add(before.metadata.uid)

    def _pod_changed(self, before: Pod | None, after: Pod | None) -> None:
        controller = before.metadata.controller if before is not None and after is None else None
        if controller is not None and not self._pods.owned_by(controller.uid):
            self._uids.discard(controller.uid)
