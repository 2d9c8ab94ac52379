"""The Pods that a RayJob is decided by: those of its cluster, and those that its submitter Job has left.

Each is looked for only in phases that decide by it, and only those are requeued when it changes.
"""

from collections.abc import Callable

from heliostat.api.rayjob import RayJob
from heliostat.desired import labels
from heliostat.desired.rayjob.names import (
    K8S_JOB_MODE,
    SIDECAR_MODE,
    selected_cluster,
    submission_mode,
    submitter_job_name,
)
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.pods import PodView
from heliostat.operator.kinds import RayPod, WholeObject
from heliostat.operator.labelled import Labelled, view_ray_pods
from heliostat.operator.ray_facts import RayFacts
from heliostat.operator.rayjob.pods_gone import AT_WORK, PodsGone
from heliostat.operator.scope import Scoped
from heliostat.operator.view import Interests
from heliostat.plan.rayjob.observed import JOB_NAME_LABEL
from heliostat.plan.rayjob.phases import Phase
from heliostat.runtime.client import Client

_LEAVING = (Phase.SUSPENDING, Phase.RETRYING, Phase.VALIDATION_FAILED)


class PodsAround:
    def __init__(
        self,
        pods: Labelled[RayPod],
        clusters: Scoped[WholeObject],
        jobs: Scoped[WholeObject],
        interests: Interests,
        facts: RayFacts,
        client: Client,
    ) -> None:
        self._pods = pods
        self._clusters = clusters
        self._jobs = jobs
        self._interests = interests
        self._of_cluster = PodsGone("ray-job-pods", labels.CLUSTER, facts, client)
        # What has ended submits nothing.
        self._of_submitter = PodsGone("ray-job-submitter-pods", JOB_NAME_LABEL, facts, client, AT_WORK)

    def listen(self, listener: Callable[[Key], None]) -> None:
        self._of_cluster.listen(listener)
        self._of_submitter.listen(listener)

    def forget(self, key: Key) -> None:
        self._of_cluster.forget(key)
        self._of_submitter.forget(key)

    def of_cluster(self, key: Key, job: RayJob, status: JsonObject) -> tuple[PodView, ...] | Unknown:
        name, phase = str(status.get("rayClusterName") or ""), status.get("jobDeploymentStatus")
        if phase not in _LEAVING or not name:
            self._of_cluster.forget(key)
        if not name or not (phase in _LEAVING or _is_watching_head(submission_mode(job), phase)):
            return ()
        cluster = Key(key.namespace, name)
        pods = view_ray_pods(self._pods.asked(self._interests, key, cluster))
        if pods or phase not in _LEAVING or self._clusters.get(cluster) is not None:
            return pods
        return self._of_cluster.find_doubt(key, name, _revision(self._clusters, key)) or ()

    def left_by_submitter(self, key: Key, job: RayJob, status: JsonObject) -> Unknown | None:
        """Why there may be some although the Job is gone: asked where their end is waited for."""
        name = submitter_job_name(key.name)
        if not _is_submitter_leaving(job, status) or self._jobs.get(Key(key.namespace, name)) is not None:
            self._of_submitter.forget(key)
            return None
        return self._of_submitter.find_doubt(key, name, _revision(self._jobs, key))


def _revision(scoped: Scoped[WholeObject], key: Key) -> int:
    return scoped.in_namespace(key.namespace).revision


def _is_watching_head(mode: str, phase: object) -> bool:
    """A submitter may be in it; or one beside it would give the job to the next Ray, once this one has ended."""
    return mode == SIDECAR_MODE or (mode == K8S_JOB_MODE and phase == Phase.RUNNING)


def _is_submitter_leaving(job: RayJob, status: JsonObject) -> bool:
    if submission_mode(job) != K8S_JOB_MODE or not status.get("rayClusterName"):
        return False
    is_withdrawn = job.metadata.deletion_timestamp is not None and selected_cluster(job) is not None
    return is_withdrawn or status.get("jobDeploymentStatus") in _LEAVING
