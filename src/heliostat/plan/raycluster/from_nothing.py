"""Everything the operator would create for a RayCluster if nothing existed yet: its plans, carried out in imagination.

What the real world must bring along is there: a ServiceAccount or claim that the user named, certificates that
cert-manager issues. Nothing is decided here.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.review import Review
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.plan import Create, Plan, Random
from heliostat.plan.imagined import ImaginedWorld
from heliostat.plan.raycluster.cluster import plan_cluster
from heliostat.plan.raycluster.observed import observe_objects
from heliostat.plan.raycluster.situation import Situation
from heliostat.plan.reasons import Severity, waiting

_MOST_ROUNDS = 500  # each makes up to a thousand Pods


class FromNothing(Struct, frozen=True):
    """The objects in the order they are made, and why some are missing."""

    objects: tuple[JsonObject, ...]
    notes: tuple[str, ...] = ()


def create_cluster(reviewed: Review, cluster: RayCluster, settings: Settings) -> FromNothing:
    """``reviewed`` is of this RayCluster, with a namespace and a UID."""
    tree = {**(reviewed.tree or {}), "status": {}}
    desired = build_desired(cluster, settings) if reviewed.refusal is None else None
    world = ImaginedWorld().hold(tree).create(*_assumed(cluster, desired))
    made: list[JsonObject] = []
    for _ in range(_MOST_ROUNDS):
        plan = _plan(world, reviewed, desired, settings)
        made += [action.object for action in plan.actions() if isinstance(action, Create)]
        if plan.is_empty:
            break
        world = world.carry_out(plan).settle()
    return FromNothing(tuple(made), tuple(_notes(plan, made)) if reviewed.refusal is None else ())


def _plan(world: ImaginedWorld, reviewed: Review, desired: DesiredCluster | None, settings: Settings) -> Plan:
    trees = world.trees()
    live = next(tree for tree in trees if tree["kind"] == "RayCluster")
    observed = observe_objects(live, [tree for tree in trees if tree is not live])
    return plan_cluster(
        Situation(observed=observed, desired=desired, settings=settings, now=world.now, refusal=reviewed.refusal)
    )


def _assumed(cluster: RayCluster, desired: DesiredCluster | None) -> Iterator[JsonObject]:
    """What the user has to make."""
    named = {
        "ServiceAccount": desired.user_service_account if desired is not None else None,
        "PersistentVolumeClaim": desired.user_gcs_claim if desired is not None else None,
    }
    for kind, name in named.items():
        if name:
            metadata = {"name": name, "namespace": cluster.metadata.namespace}
            yield {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {}}


def _notes(plan: Plan, made: list[JsonObject]) -> Iterator[str]:
    if any(tree["kind"] == "Pod" for tree in made):
        return
    for wait in plan.waits:
        if waiting(wait).severity is Severity.WAITS:
            yield f"no Pods: {wait.message}"


def describe_random(tree: Any) -> Any:
    """The tree with a sentence in place of each secret that is drawn only at creation."""
    if isinstance(tree, Random):
        return f"<{tree.bytes} random bytes in base64, drawn at creation>"
    if isinstance(tree, dict):
        return {key: describe_random(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [describe_random(value) for value in tree]
    return tree
