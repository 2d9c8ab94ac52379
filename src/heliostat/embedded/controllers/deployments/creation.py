"""A ReplicaSet for a template that none has yet.

Its name is made of the Deployment's name and the hash of the template. If something else has that name, the collision
is counted in the Deployment's status, and the next hash is another one. A creation that failed is shown before it is
tried again.
"""

from collections.abc import Callable

from msgspec import Struct, structs

from heliostat.embedded.controllers.adoption import Owner
from heliostat.embedded.controllers.deployments.bounds import bounds_of
from heliostat.embedded.controllers.deployments.progress import CREATE_ERROR, note_create_error, note_new_set
from heliostat.embedded.controllers.deployments.revisions import (
    REVISION,
    decide_annotations,
    size_annotations,
)
from heliostat.embedded.controllers.deployments.status import ref_of, write_status
from heliostat.embedded.controllers.deployments.templates import (
    add_hash_label,
    add_hash_requirement,
    hash_template,
    name_replica_set,
)
from heliostat.embedded.controllers.failures import Failure
from heliostat.embedded.controllers.views.deployments import Deployment
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET, ReplicaSet
from heliostat.embedded.controllers.views.workload_conditions import Conditions, trees_of
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Create, Event, Patch, Plan, Report, Stage


class NewSet(Struct, frozen=True):
    deployment: Deployment
    owner: Owner
    size: int
    revision: int

    @property
    def template_hash(self) -> str:
        return hash_template(self.deployment.spec.template, self.deployment.status.collision_count)

    @property
    def name(self) -> str:
        return name_replica_set(self.deployment.metadata.name, self.template_hash)


def plan_creation(
    known: Deployment,
    wanted: NewSet,
    find_set: Callable[[str], ReplicaSet | None],
    failure: Failure | None,
    now: float,
) -> Plan:
    """``known`` is the Deployment as the API has it; that of the new ReplicaSet may carry more conditions."""
    noted, name = wanted.deployment, wanted.name
    if find_set(name) is not None:
        return _count_collision(noted, known, name)
    failed = note_create_error(noted, name, failure, now)
    if failed != noted.status.conditions:
        status = structs.replace(noted.status, conditions=failed)
        return Plan(status=write_status(known, status, "the ReplicaSet could not be created"))
    create = Create(
        build_replica_set(wanted), "no ReplicaSet has the Deployment's template", _report(name, wanted.size)
    )
    told = _tell_created(known, wanted.revision, note_new_set(noted, name, now, is_created=True))
    return Plan((Stage("create", (create,)), Stage("revision", (told,), needs=("create",))))


def _count_collision(noted: Deployment, known: Deployment, name: str) -> Plan:
    status = structs.replace(noted.status, collision_count=(noted.status.collision_count or 0) + 1)
    return Plan(status=write_status(known, status, f"{name} is the name of another ReplicaSet"))


def build_replica_set(wanted: NewSet) -> JsonObject:
    deployment, template_hash = wanted.deployment, wanted.template_hash
    template = add_hash_label(deployment.spec.template, template_hash)
    spec: JsonObject = {
        "replicas": wanted.size,
        "selector": add_hash_requirement(deployment.spec.selector or {}, template_hash),
        "template": template,
    }
    if deployment.spec.min_ready_seconds:
        spec["minReadySeconds"] = deployment.spec.min_ready_seconds
    annotations = decide_annotations(deployment, {}, wanted.revision)
    metadata = {
        "name": wanted.name,
        "namespace": deployment.metadata.namespace,
        "labels": template["metadata"]["labels"],
        "annotations": {**annotations, **size_annotations(bounds_of(deployment))},
        "ownerReferences": [wanted.owner.reference],
    }
    return {"apiVersion": REPLICA_SET.api_version, "kind": REPLICA_SET.kind, "metadata": metadata, "spec": spec}


def _report(name: str, size: int) -> Report:
    scaled = Event("Normal", "ScalingReplicaSet", "Scale", f"Scaled up replica set {name} from 0 to {size}")
    return Report(
        success=scaled if size > 0 else None,
        failure=Event("Warning", CREATE_ERROR, "Create", f'Failed to create new replica set "{name}"'),
        failure_tag=CREATE_ERROR,
        separator=": ",
    )


def _tell_created(known: Deployment, revision: int, conditions: Conditions) -> Patch:
    """Only what is new: the counters wait until the ReplicaSet is in view."""
    changes: JsonObject = {"metadata": {"annotations": {REVISION: str(revision)}}}
    if conditions:
        changes["status"] = {"conditions": trees_of(conditions)}
    metadata = known.metadata
    because = f"its template is revision {revision}"
    return Patch(ref_of(known), metadata.uid, metadata.resource_version, changes, because, subresource="status")
