"""What to do for one ReplicaSet: claim its Pods, create the missing ones, delete those that are too many.

Rules: Pods that are over or being deleted do not count; at most 500 are created or deleted at once; nothing is created
or deleted for a ReplicaSet that is on its way out, but its status stays true.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from heliostat.embedded.controllers.adoption import Owner, claim_children
from heliostat.embedded.controllers.child_names import ChildNames
from heliostat.embedded.controllers.failures import Failure
from heliostat.embedded.controllers.replicasets.status import (
    FAILED_CREATE,
    FAILED_DELETE,
    build_status_tree,
    decide_status,
    decide_wake,
)
from heliostat.embedded.controllers.replicasets.victims import choose_victims
from heliostat.embedded.controllers.selection import read_selector
from heliostat.embedded.controllers.views.pods import POD, Pod
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET, ReplicaSet
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Action, Create, Delete, Event, Plan, Ref, Report, Stage, WriteStatus

BURST = 500


class ReplicaSetView(Struct, frozen=True):
    owner: ReplicaSet
    pods: tuple[Pod, ...]  # those that name it as their controller, and the orphans of its namespace
    related: Callable[[], Iterable[Pod]]  # those of all ReplicaSets with the same controller
    failure: Failure | None = None
    departed: int = 0  # the newest version of a Pod that has left


def plan_replica_set(view: ReplicaSetView, now: float) -> Plan:
    owner = view.owner
    selector = read_selector(owner.spec.selector)
    if selector.matches_nothing:
        return Plan()
    mine = Owner(REPLICA_SET, owner.metadata, selector)
    claim = claim_children(mine, (pod for pod in view.pods if pod.is_active), POD)
    stages = [Stage("claim", claim.changes)]
    if not owner.metadata.is_terminating:
        stages.append(Stage("replicas", _plan_replicas(view, mine, claim.mine, now), needs=("claim",)))
    return Plan(
        stages=tuple(stage for stage in stages if stage.actions),
        status=_plan_status(view, claim.mine, now),
        wake_after=decide_wake(claim.mine, owner.spec.min_ready_seconds, now),
    )


def _plan_replicas(view: ReplicaSetView, owner: Owner, active: Sequence[Pod], now: float) -> tuple[Action, ...]:
    surplus = len(active) - view.owner.spec.replicas
    if surplus > 0:
        victims = choose_victims(active, view.related, min(surplus, BURST), now)
        return tuple(_delete(pod, surplus) for pod in victims)
    names = ChildNames(owner.metadata, view.pods, view.departed)
    return tuple(_create(view.owner, owner, names, -surplus) for _ in range(min(-surplus, BURST)))


def _create(replica_set: ReplicaSet, owner: Owner, names: ChildNames, missing: int) -> Create:
    name = names.next()
    report = Report(
        success=Event("Normal", "SuccessfulCreate", "Create", f"Created pod: {name}"),
        failure=Event("Warning", FAILED_CREATE, "Create", "Error creating"),
        failure_tag=FAILED_CREATE,
        separator=": ",
    )
    pod = build_pod(replica_set.spec.template, owner, name, names.prefix)
    return Create(pod, f"{missing} of {replica_set.spec.replicas} replicas are missing", report)


def build_pod(template: JsonObject, owner: Owner, name: str, generate_name: str) -> JsonObject:
    """A Pod of the template; what else the template's metadata says is not for Pods."""
    given = template.get("metadata") or {}
    kept = {key: given[key] for key in ("labels", "annotations", "finalizers") if given.get(key)}
    metadata = {"name": name, "generateName": generate_name, "namespace": owner.metadata.namespace, **kept}
    metadata["ownerReferences"] = [owner.reference]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


def _delete(pod: Pod, surplus: int) -> Delete:
    name = pod.metadata.name
    report = Report(
        success=Event("Normal", "SuccessfulDelete", "Delete", f"Deleted pod: {name}"),
        failure=Event("Warning", FAILED_DELETE, "Delete", "Error deleting"),
        failure_tag=FAILED_DELETE,
        separator=": ",
    )
    ref = Ref(POD.api_version, POD.kind, pod.metadata.namespace, name)
    return Delete(ref, pod.metadata.uid, f"there are {surplus} replicas too many", report=report)


def _plan_status(view: ReplicaSetView, active: Sequence[Pod], now: float) -> WriteStatus | None:
    owner = view.owner
    status = decide_status(owner, active, view.failure, now)
    if status == owner.status:
        return None
    metadata = owner.metadata
    ref = Ref(REPLICA_SET.api_version, REPLICA_SET.kind, metadata.namespace, metadata.name)
    because = f"{status.replicas} replicas, {status.ready_replicas} ready, {status.available_replicas} available"
    return WriteStatus(ref, metadata.uid, metadata.resource_version, build_status_tree(status), because)
