"""The finalizer and the way out of a cluster whose state lives in Redis (raycluster.md §3).

While it lives, the finalizer comes before any Pod. When it is deleted: the Pods go, then, with the head gone, a Job
empties Redis, and with the Job over the finalizer goes. A deadline stands above all of it: nothing may hold a
deletion for ever, neither a spec that is refused or cannot be read nor a kind that the server does not show.

Differs from KubeRay: R3-3, a finalizer that nothing would remove (fault tolerance or the clean-up switched off) goes
at once; R3-5, a head that never finishes terminating stops counting, and in a deletion that is not in the background
the Job comes when Kubernetes has deleted, or let go, what the cluster owns, because until then the same would happen to
the Job; R1-4, the deadline holds for a refused spec and for caches that cannot be filled, too.
"""

from enum import StrEnum

from msgspec.structs import replace

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import ObjectMeta, RayCluster
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.kube.counts import read_count
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import JOB
from heliostat.kube.plan import Create, Event, Report, ref_of
from heliostat.kube.pods import PodView, is_terminating
from heliostat.kube.timestamps import moment_of
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, join, wait_beside
from heliostat.plan.ensure import wait_for_knowledge
from heliostat.plan.itself import Finalizer
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_context import delete_pod
from heliostat.plan.raycluster.pod_health import HEAD_PATIENCE, Presence, node_type, presence_of
from heliostat.plan.reports import WARNING, report_create

FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
_PLEDGE = Finalizer("RayCluster", FINALIZER)
COLLECTING = ("foregroundDeletion", "orphan")  # Kubernetes' own, while it deletes or lets go what the object owns
TIMEOUT_ANNOTATION = "ray.io/gcs-ft-deletion-timeout"
DEFAULT_TIMEOUT = 300
HEAD_POLL, JOB_POLL = 10.0, 2.0


class Step(StrEnum):
    WAIT_FOR_HEAD = "wait for the head to be gone"
    FORCE = "remove the finalizer by force"
    RELEASE = "remove the finalizer"
    WAIT_FOR_JOB = "wait for the clean-up"
    WAIT_FOR_SIGHT = "wait until the clean-up can be seen"
    WAIT_FOR_OTHERS = "wait until Kubernetes is done with what else the cluster owns"
    START_JOB = "start the clean-up"


class JobState(StrEnum):
    NONE = "none"
    RUNNING = "running"
    FINISHED = "finished"
    UNKNOWN = "unknown"


def decide_cleanup(*, has_head: bool, is_timed_out: bool, is_collecting: bool, job: JobState) -> Step:
    if has_head:
        return Step.WAIT_FOR_HEAD
    if is_timed_out:
        return Step.FORCE
    by_job = {
        JobState.NONE: Step.WAIT_FOR_OTHERS if is_collecting else Step.START_JOB,
        JobState.RUNNING: Step.WAIT_FOR_JOB,
        JobState.FINISHED: Step.RELEASE,
        JobState.UNKNOWN: Step.WAIT_FOR_SIGHT,
    }
    return by_job[job]


def needs_cleanup(cluster: RayCluster, settings: Settings) -> bool:
    is_enabled = features.is_gcs_ft_enabled(cluster.spec, cluster.metadata.annotations)
    return settings.redis_cleanup and is_enabled and not features.is_gcs_ft_embedded(cluster.spec)


def has_finalizer(metadata: ObjectMeta) -> bool:
    return _PLEDGE.is_on(metadata)


def plan_finalizer(cluster: RayCluster, settings: Settings) -> Part:
    """A living cluster pledges the clean-up before it has anything to clean up."""
    if not needs_cleanup(cluster, settings) or has_finalizer(cluster.metadata):
        return NOTHING
    return Part(actions=(_PLEDGE.put_on(cluster.metadata, Because.CLEANUP_PLEDGED),))


def plan_deletion(observed: ObservedCluster, settings: Settings, now: float, cleanup_job: JsonObject | None) -> Part:
    """``cleanup_job`` is the Job to start when it is time, or None when a refused spec gives none."""
    cluster, metadata = observed.cluster, observed.cluster.metadata
    if not has_finalizer(metadata):
        return wait_beside(Hold.BEING_DELETED, "the RayCluster is being deleted", "Kubernetes has removed what it owns")
    if not needs_cleanup(cluster, settings):
        return _release(metadata, Because.CLEANUP_POINTLESS)
    if cleanup_job is None:
        return _wait_for_deadline(metadata, now, "a refused spec gives no clean-up Job")
    pods = observed.own_pods
    if isinstance(pods, Unknown):
        return _wait_for_sight(metadata, now, "the Pods", pods, HEAD_PATIENCE)  # a head may still be among them
    deletes = [
        delete_pod(pod, Because.CLUSTER_DELETED, Report())
        for pod in pods
        if node_type(pod) in (labels.HEAD, labels.WORKER) and not is_terminating(pod)
    ]
    return join((Part(actions=tuple(deletes)), _plan_cleanup(observed, pods, now, cleanup_job)))


def _plan_cleanup(observed: ObservedCluster, pods: tuple[PodView, ...], now: float, cleanup_job: JsonObject) -> Part:
    metadata, jobs = observed.cluster.metadata, observed.list_owned(JOB)
    job = JobState.UNKNOWN if isinstance(jobs, Unknown) else _state_of(jobs, cleanup_job["metadata"]["name"])
    remaining = seconds_to_deadline(metadata, now)
    step = decide_cleanup(
        has_head=_has_head(pods, now) or (remaining > 0 and _is_left_in_use(observed, cleanup_job, now)),
        is_timed_out=remaining <= 0,
        is_collecting=not set(COLLECTING).isdisjoint(metadata.finalizers or ()),
        job=job,
    )
    if isinstance(jobs, Unknown) and step is Step.WAIT_FOR_SIGHT:
        return _wait_for_sight(metadata, now, "the clean-up Job", jobs)
    if step is Step.WAIT_FOR_HEAD:
        message = "the head still uses Redis"
        return wait_beside(Hold.BEING_DELETED, message, "the head Pod is gone", wake_after=HEAD_POLL)
    if step is Step.WAIT_FOR_OTHERS:
        message = "Kubernetes has yet to delete or let go what the cluster owns, and would do so with the clean-up Job"
        until = f"it is done, or in {remaining:.0f} s"
        return wait_beside(Hold.BEING_DELETED, message, until, wake_after=remaining)
    if step is Step.WAIT_FOR_JOB:
        message, until = "the clean-up Job is running", f"it ends, or in {remaining:.0f} s"
        return wait_beside(Hold.CLEANUP_RUNNING, message, until, wake_after=min(JOB_POLL, remaining))
    if step is Step.START_JOB:
        create = Create(cleanup_job, Because.CLEANUP_DUE, report_create(ref_of(cleanup_job)))
        return Part(actions=(create,), wake_after=JOB_POLL)
    return _force(metadata) if step is Step.FORCE else _release(metadata, Because.CLEANUP_OVER)


def _has_head(pods: tuple[PodView, ...], now: float) -> bool:
    heads = (pod for pod in pods if node_type(pod) == labels.HEAD)
    return any(presence_of(pod, now, HEAD_PATIENCE) is not Presence.STUCK for pod in heads)


def _is_left_in_use(observed: ObservedCluster, cleanup_job: JsonObject, now: float) -> bool:
    """Whether a head that ``--cascade=orphan`` has left without an owner still keeps its state where the Job deletes.

    Nobody may delete it, so it is waited for no longer than until the deadline.
    """
    pods = () if isinstance(observed.pods, Unknown) else observed.pods
    storage = cleanup_job["metadata"]["annotations"].get(labels.STORAGE_NAMESPACE)
    left = (pod for pod in pods if not pod.controller_uid and pod.annotations.get(labels.STORAGE_NAMESPACE) == storage)
    return _has_head(tuple(left), now)


def _state_of(jobs: tuple[JsonObject, ...], name: str) -> JobState:
    job = next((tree for tree in jobs if _is_cleanup(tree, name)), None)
    if job is None:
        return JobState.NONE
    return JobState.FINISHED if is_job_finished(job) else JobState.RUNNING


def _is_cleanup(job: JsonObject, name: str) -> bool:
    """By name too: a template may override the labels that KubeRay looks for (R3-11)."""
    metadata = job["metadata"]
    return metadata.get("name") == name or (metadata.get("labels") or {}).get(labels.NODE_TYPE) == labels.REDIS_CLEANUP


def is_job_finished(job: JsonObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    over = ("Complete", "Failed", "FailureTarget")
    return any(found.get("type") in over and found.get("status") == "True" for found in conditions)


def deletion_timeout(metadata: ObjectMeta) -> int:
    text = (metadata.annotations or {}).get(TIMEOUT_ANNOTATION, "")
    return read_count(text.removeprefix("+")) or DEFAULT_TIMEOUT


def seconds_to_deadline(metadata: ObjectMeta, now: float) -> float:
    since = moment_of(metadata.deletion_timestamp)
    return (now if since is None else since) + deletion_timeout(metadata) - now


def plan_misfit_deletion(metadata: ObjectMeta, now: float) -> Part:
    """Of a RayCluster that is deleted and whose spec cannot be read: its metadata is all there is to go by."""
    if not has_finalizer(metadata):
        return NOTHING
    return _wait_for_deadline(metadata, now, "a spec that cannot be read gives no clean-up Job")


def _wait_for_deadline(metadata: ObjectMeta, now: float, why: str) -> Part:
    remaining = seconds_to_deadline(metadata, now)
    if remaining <= 0:
        return _force(metadata)
    until = f"the spec is valid, or in {remaining:.0f} s, when the finalizer is removed by force"
    return wait_beside(Hold.BEING_DELETED, why, until, wake_after=remaining)


def _wait_for_sight(metadata: ObjectMeta, now: float, what: str, unknown: Unknown, patience: float = 0.0) -> Part:
    """What cannot be seen holds a deletion no longer than what can; ``patience`` is for what it may hide."""
    remaining = seconds_to_deadline(metadata, now) + patience
    if remaining <= 0:
        return _force(metadata)
    return replace(wait_for_knowledge(what, unknown), wake_after=remaining)


def _release(metadata: ObjectMeta, because: Because) -> Part:
    return Part(actions=(_PLEDGE.take_off(metadata, because),))


def _force(metadata: ObjectMeta) -> Part:
    namespace = (metadata.annotations or {}).get(labels.STORAGE_NAMESPACE, "")
    waited = format_seconds(deletion_timeout(metadata))
    note = (
        f"Force-removed GCS FT finalizer after {waited} due to Redis cleanup timeout; "
        f'Redis storage namespace "{namespace}" may need manual cleanup'
    )
    report = Report(success=Event(WARNING, "ForceDeletedStuckCluster", "Cleanup", note))
    return Part(actions=(_PLEDGE.take_off(metadata, Because.CLEANUP_TIMED_OUT, report),))


def format_seconds(seconds: int) -> str:
    """A whole number of seconds as Go writes a duration: ``5m0s``."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}h" if hours else ""
    return text + (f"{minutes}m" if hours or minutes else "") + f"{rest}s"
