"""The RayCluster of a RayJob: made once under its persisted name, or the one that spec.clusterSelector chose.

One function makes it, one deletes it, and one suspends its workers; the latter two touch only what the RayJob owns.
"""

from enum import StrEnum

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.cluster import build_cluster_of_job
from heliostat.desired.rayjob.head_service import find_dashboard_url
from heliostat.desired.rayjob.names import selected_cluster
from heliostat.desired.slots import Impossible
from heliostat.kube.conditions import TRUE, get_condition
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import Found
from heliostat.kube.plan import Create, patch_of, ref_of
from heliostat.plan.because import Hold as CommonHold
from heliostat.plan.draft import NOTHING, Part, wait_beside, wait_for
from heliostat.plan.ensure import ensure_gone, name_taken, wait_for_knowledge
from heliostat.plan.raycluster.status import READY
from heliostat.plan.raycluster.status_conditions import HEAD_POD_READY, REPLICA_FAILURE
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.reasons import Because, Hold
from heliostat.plan.rayjob.reports import (
    cluster_not_found,
    report_cluster_create,
    report_cluster_delete,
    report_workers_suspended,
)


class Condition(StrEnum):
    UNKNOWN = "unknown"
    ABSENT = "absent"
    FOREIGN = "foreign"  # under the name of ours, and not ours
    PREPARING = "preparing"
    READY = "ready"


class ClusterSight(Struct, frozen=True):
    condition: Condition
    tree: JsonObject | None = None
    dashboard_url: str | None = None  # of a ready one


def look_at_cluster(observed: ObservedJob, settings: Settings, *, has_submitted: bool = False) -> ClusterSight:
    """``has_submitted``: a submitter beside the head has ended. Its Pod is never ready again, and Ray answers there.

    Differs from KubeRay: rayjob-sidecar-quick.
    """
    found = observed.find_cluster()
    if isinstance(found, Unknown):
        return ClusterSight(Condition.UNKNOWN)
    if found is None:
        return ClusterSight(Condition.ABSENT)
    if selected_cluster(observed.job) is None and not observed.owns(found):
        return ClusterSight(Condition.FOREIGN, found)
    is_ready = has_submitted or (found.get("status") or {}).get("state") == READY
    if found["metadata"].get("deletionTimestamp") or not is_ready:
        return ClusterSight(Condition.PREPARING, found)
    return ClusterSight(Condition.READY, found, _find_dashboard(observed, found, settings))


def _find_dashboard(observed: ObservedJob, cluster: JsonObject, settings: Settings) -> str | None:
    service = observed.find_service(_head_service(cluster))
    return find_dashboard_url(service, settings) if isinstance(service, dict) else None


def _head_service(cluster: JsonObject) -> str:
    users = cluster["spec"]["headGroupSpec"].get("headService") or {}
    return str((users.get("metadata") or {}).get("name") or f"{cluster['metadata']['name']}-head-svc")


def ensure_cluster(observed: ObservedJob, sight: ClusterSight, settings: Settings) -> Part:
    """Made when it is not there; one that was chosen is only ever waited for."""
    name = f"{observed.job.metadata.namespace}/{observed.cluster_name}"
    if sight.condition is Condition.UNKNOWN:
        return wait_for_knowledge(f"RayCluster {name}", Unknown())
    if sight.condition is Condition.FOREIGN and sight.tree is not None:
        return name_taken(ref_of(sight.tree), observed.owner_kind)
    if sight.condition is not Condition.ABSENT:
        return NOTHING
    if selected_cluster(observed.job) is not None:
        message = f"RayCluster {name} does not exist"
        return wait_for(Hold.CLUSTER_NOT_FOUND, message, "it is created", events=(cluster_not_found(name),))
    cluster = build_cluster_of_job(observed.job, observed.tree, observed.cluster_name, observed.job_id, settings)
    if isinstance(cluster, Impossible):
        return wait_for(CommonHold.IMPOSSIBLE, cluster.message, "the spec is changed")
    report = report_cluster_create(ref_of(cluster))
    return Part(actions=(Create(cluster, Because.CLUSTER_NEEDED, report),))


def tell_progress(observed: ObservedJob, sight: ClusterSight) -> Part:
    """What Initializing waits for."""
    name = observed.cluster_name
    if sight.condition is Condition.READY and sight.dashboard_url is None:
        return wait_for(Hold.NO_DASHBOARD, f"RayCluster {name} has no dashboard port", "the head names one")
    if sight.condition is Condition.PREPARING:
        why = f"RayCluster {name} is not ready{_describe_unready(sight.tree or {})}"
        return wait_beside(Hold.CLUSTER_NOT_READY, why, "all its Pods are ready")
    return NOTHING


def _describe_unready(cluster: JsonObject) -> str:
    """In the words of the cluster's own status, where it has some."""
    status = cluster.get("status") or {}
    failed, head = (get_condition(status.get("conditions"), each) for each in (REPLICA_FAILURE, HEAD_POD_READY))
    if failed is not None and failed.get("status") == TRUE:
        return f": {failed.get('message') or failed.get('reason')}"
    if head is None:
        return ""
    if head.get("status") != TRUE:
        return f": its head Pod is not ready ({head.get('message') or head.get('reason')})"
    return f": {status.get('readyWorkerReplicas') or 0} of {status.get('desiredWorkerReplicas') or 0} workers are ready"


def delete_cluster(observed: ObservedJob, because: Because) -> Part:
    """The only place that deletes a cluster: one that this RayJob controls, and no other."""
    found = observed.find_cluster()
    if isinstance(found, Unknown):
        return wait_for_knowledge(f"RayCluster {observed.cluster_name}", found)
    if found is None or not observed.owns(found):
        return NOTHING
    return ensure_gone(found, because, Hold.LEAVING, report_cluster_delete(ref_of(found)))


def suspend_workers(observed: ObservedJob, because: Because) -> Part:
    """Every worker group of the job's own cluster; its head stays, with the logs."""
    found = observed.find_cluster()
    if isinstance(found, Unknown):
        return wait_for_knowledge(f"RayCluster {observed.cluster_name}", found)
    if found is None or not observed.owns(found) or are_workers_suspended(found):
        return NOTHING
    groups = [{**group, "suspend": True} for group in found["spec"].get("workerGroupSpecs") or []]
    changes = {"spec": {"workerGroupSpecs": groups}}
    return Part(actions=(patch_of(found, changes, because, report_workers_suspended(ref_of(found))),))


def are_workers_suspended(cluster: Found) -> bool:
    """Also when there is no cluster, or none for much longer."""
    if not isinstance(cluster, dict):
        return cluster is None
    groups = cluster["spec"].get("workerGroupSpecs") or []
    return bool(cluster["metadata"].get("deletionTimestamp")) or all(group.get("suspend") for group in groups)
