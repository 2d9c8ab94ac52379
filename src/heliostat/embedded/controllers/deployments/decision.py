"""What to do next for one Deployment.

A plan takes one step: claim ReplicaSets, or bring the newest one's revision up to date, or create it, or resize, or
clean up; the change it makes leads to the next one. A change of size comes before the rollout and is shared out among
all ReplicaSets; while the Deployment is paused only its size is followed.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from heliostat.embedded.controllers.adoption import Owner, claim_children
from heliostat.embedded.controllers.deployments.bounds import Bounds, bounds_of
from heliostat.embedded.controllers.deployments.creation import NewSet, plan_creation
from heliostat.embedded.controllers.deployments.generations import Generations, tell_generations
from heliostat.embedded.controllers.deployments.history import plan_cleanup
from heliostat.embedded.controllers.deployments.progress import decide_wake, is_complete, note_new_set, note_pause
from heliostat.embedded.controllers.deployments.revisions import (
    REVISION,
    decide_annotations,
    next_revision,
    size_annotations,
)
from heliostat.embedded.controllers.deployments.rollout import (
    decide_new_size,
    decide_recreate_step,
    decide_rolling_step,
    has_old_pods,
)
from heliostat.embedded.controllers.deployments.scaling import Sizes, decide_sizes, is_scaled
from heliostat.embedded.controllers.deployments.status import (
    count_status,
    judge_status,
    with_conditions,
    write_revision,
    write_status,
)
from heliostat.embedded.controllers.failures import Failure
from heliostat.embedded.controllers.selection import read_selector
from heliostat.embedded.controllers.views.deployments import DEPLOYMENT, Deployment, DeploymentStatus
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET, ReplicaSet
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Action, Event, Patch, Plan, Ref, Report, Stage


class DeploymentView(Struct, frozen=True):
    deployment: Deployment
    sets: tuple[ReplicaSet, ...]  # those that it controls, and the orphans of its namespace
    find_set: Callable[[str], ReplicaSet | None]  # any ReplicaSet of its namespace, by name
    pods_of: Callable[[str], Iterable[Pod]]  # by the UID of the ReplicaSet that controls them
    failure: Failure | None = None


def plan_deployment(view: DeploymentView, now: float) -> Plan:
    deployment = view.deployment
    selector = read_selector(deployment.spec.selector)
    if selector.matches_nothing or not selector.requirements:
        return Plan()
    owner = Owner(DEPLOYMENT, deployment.metadata, selector)
    claim = claim_children(owner, view.sets, REPLICA_SET)
    if claim.changes:
        return Plan((Stage("claim", claim.changes),))
    sets = tell_generations(deployment, claim.mine)
    if deployment.metadata.is_terminating:
        return _finish(deployment, sets, (), count_status(deployment, sets, now), now)
    if sets.new is not None and (update := _bring_up_to_date(deployment, sets.new, sets.old)) is not None:
        return Plan((Stage("revision", (update,)),))
    noted = with_conditions(deployment, note_pause(deployment, now))
    if sets.new is not None:
        noted = with_conditions(noted, note_new_set(noted, sets.new.metadata.name, now, is_created=False))
    return _plan_step(view, noted, owner, sets, now)


def _bring_up_to_date(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Patch | None:
    """The newest ReplicaSet has the newest revision, and the Deployment's annotations and ``minReadySeconds``."""
    annotations = decide_annotations(deployment, new.metadata.annotations, next_revision(old))
    changes: JsonObject = {"metadata": {"annotations": annotations}} if annotations else {}
    if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
        changes["spec"] = {"minReadySeconds": deployment.spec.min_ready_seconds}
    return _patch(new, changes, "it has the Deployment's template") if changes else None


def _plan_step(view: DeploymentView, noted: Deployment, owner: Owner, sets: Generations, now: float) -> Plan:
    """``noted`` is the Deployment with what this pass has to say about pausing and finding."""
    known, bounds = view.deployment, bounds_of(noted)
    if noted.spec.paused or is_scaled(noted, sets):
        actions: list[Action] = [*_resize(sets, decide_sizes(noted, sets), bounds)]
        if noted.spec.paused:
            actions.extend(plan_cleanup(sets.old, noted.spec.revision_history_limit))
        return _finish(known, sets, actions, count_status(noted, sets, now), now)
    status = judge_status(noted, sets, now)
    is_rolling = noted.spec.strategy.type != "Recreate"
    sizes = decide_rolling_step(sets, bounds) if is_rolling else decide_recreate_step(sets)
    if sizes:
        return _finish(known, sets, _resize(sets, sizes, bounds), status, now)
    if not is_rolling and has_old_pods(sets, view.pods_of):
        return _finish(known, sets, (), status, now)
    if sets.new is None:
        size = decide_new_size(0, sets.wanted_replicas, bounds) if is_rolling else bounds.replicas
        wanted = NewSet(noted, owner, size, next_revision(sets.old))
        return plan_creation(known, wanted, view.find_set, view.failure, now)
    needs_resize = not is_rolling and sets.new.spec.replicas != bounds.replicas
    sizes = {sets.new.metadata.uid: bounds.replicas} if needs_resize else {}
    actions = [*_resize(sets, sizes, bounds)]
    if is_complete(noted, noted.status):
        actions.extend(plan_cleanup(sets.old, noted.spec.revision_history_limit))
    return _finish(known, sets, actions, status, now)


def _finish(
    known: Deployment, sets: Generations, actions: Sequence[Action], status: DeploymentStatus, now: float
) -> Plan:
    """The step, the status, and the Deployment's own revision where it is not yet the newest ReplicaSet's."""
    revision = sets.new.metadata.annotations.get(REVISION, "") if sets.new is not None else ""
    patch = write_revision(known, status, revision) if revision else None
    stages = [Stage("replicasets", tuple(actions)), Stage("revision", (patch,) if patch is not None else ())]
    because = f"{status.updated_replicas} of {known.spec.replicas} replicas are updated"
    return Plan(
        stages=tuple(stage for stage in stages if stage.actions),
        status=write_status(known, status, because) if patch is None else None,
        wake_after=decide_wake(known, status, now),
    )


def _resize(sets: Generations, sizes: Sizes, bounds: Bounds) -> tuple[Action, ...]:
    """A ReplicaSet whose size stays still learns the Deployment's new size."""
    by_uid = {replica_set.metadata.uid: replica_set for replica_set in sets.all}
    patches = (_resize_one(by_uid[uid], size, bounds) for uid, size in sizes.items())
    return tuple(patch for patch in patches if patch is not None)


def _resize_one(replica_set: ReplicaSet, size: int, bounds: Bounds) -> Patch | None:
    before, name = replica_set.spec.replicas, replica_set.metadata.name
    annotations = {
        key: value
        for key, value in size_annotations(bounds).items()
        if replica_set.metadata.annotations.get(key) != value
    }
    changes: JsonObject = {"metadata": {"annotations": annotations}} if annotations else {}
    if size == before:
        return _patch(replica_set, changes, "the Deployment has another size") if changes else None
    direction = "up" if size > before else "down"
    note = f"Scaled {direction} replica set {name} from {before} to {size}"
    report = Report(success=Event("Normal", "ScalingReplicaSet", "Scale", note))
    return structs.replace(_patch(replica_set, {**changes, "spec": {"replicas": size}}, note), report=report)


def _patch(replica_set: ReplicaSet, changes: JsonObject, because: str) -> Patch:
    metadata = replica_set.metadata
    ref = Ref(REPLICA_SET.api_version, REPLICA_SET.kind, metadata.namespace, metadata.name)
    return Patch(ref, metadata.uid, metadata.resource_version, changes, because)
