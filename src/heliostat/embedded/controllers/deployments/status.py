"""The status of a Deployment: the sums of what its ReplicaSets say of themselves, and the Available condition."""

from msgspec import structs

from heliostat.embedded.controllers.deployments.bounds import bounds_of
from heliostat.embedded.controllers.deployments.generations import Generations
from heliostat.embedded.controllers.deployments.progress import build_condition, judge_progress, show_failures
from heliostat.embedded.controllers.deployments.revisions import REVISION
from heliostat.embedded.controllers.trees import tree_of
from heliostat.embedded.controllers.views.deployments import DEPLOYMENT, Deployment, DeploymentStatus
from heliostat.embedded.controllers.views.workload_conditions import Conditions, put_condition
from heliostat.kube.jsontree import JsonObject, diff_merge_patch
from heliostat.kube.plan import Patch, Ref, WriteStatus

_AVAILABLE = ("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
_UNAVAILABLE = ("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")


def count_status(deployment: Deployment, sets: Generations, now: float) -> DeploymentStatus:
    """The counters and Available; the other conditions stay as the Deployment has them."""
    available = sum(replica_set.status.available_replicas for replica_set in sets.all)
    is_enough = available >= bounds_of(deployment).least_available
    condition = build_condition(*(_AVAILABLE if is_enough else _UNAVAILABLE), now)
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(replica_set.status.replicas for replica_set in sets.all),
        updated_replicas=sets.new.status.replicas if sets.new is not None else 0,
        ready_replicas=sum(replica_set.status.ready_replicas for replica_set in sets.all),
        available_replicas=available,
        unavailable_replicas=max(0, sets.wanted_replicas - available),
        conditions=put_condition(deployment.status.conditions, condition),
        collision_count=deployment.status.collision_count,
    )


def judge_status(deployment: Deployment, sets: Generations, now: float) -> DeploymentStatus:
    """The status of a rollout: counted, and judged by its progress and its failures."""
    counted = count_status(deployment, sets, now)
    judged = judge_progress(deployment, counted, sets.new, now)
    return structs.replace(counted, conditions=show_failures(judged, sets.new, sets.old))


def with_conditions(deployment: Deployment, conditions: Conditions) -> Deployment:
    return structs.replace(deployment, status=structs.replace(deployment.status, conditions=conditions))


def ref_of(deployment: Deployment) -> Ref:
    return Ref(DEPLOYMENT.api_version, DEPLOYMENT.kind, deployment.metadata.namespace, deployment.metadata.name)


def write_status(known: Deployment, status: DeploymentStatus, because: str) -> WriteStatus | None:
    if status == known.status:
        return None
    metadata = known.metadata
    return WriteStatus(ref_of(known), metadata.uid, metadata.resource_version, tree_of(status), because)


def write_revision(known: Deployment, status: DeploymentStatus, revision: str) -> Patch | None:
    """The status together with the Deployment's revision, which would count as a new generation if written alone."""
    metadata = known.metadata
    if metadata.annotations.get(REVISION) == revision:
        return None
    changes: JsonObject = {"metadata": {"annotations": {REVISION: revision}}}
    if difference := diff_merge_patch(tree_of(known.status), tree_of(status)):
        changes["status"] = difference
    because = f"its template is revision {revision}"
    return Patch(ref_of(known), metadata.uid, metadata.resource_version, changes, because, subresource="status")
