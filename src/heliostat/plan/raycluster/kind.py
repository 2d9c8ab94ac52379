"""RayCluster's row: how one is observed and planned, and which of its edits running Pods do not follow."""

from collections.abc import Iterator

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster, RayClusterSpec
from heliostat.api.review import review
from heliostat.api.validation import cluster_problems, refusal, status_problems
from heliostat.api.validation.scope import SPEC_REASON
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.desired.raycluster.spec_hash import hash_spec
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.kind import Kind, Surroundings
from heliostat.plan.misfits import MisfitRule
from heliostat.plan.raycluster.cluster import plan_cluster
from heliostat.plan.raycluster.deletion import plan_misfit_deletion
from heliostat.plan.raycluster.observed import ObservedCluster, observe_objects
from heliostat.plan.raycluster.situation import Remembered, Situation
from heliostat.plan.raycluster.unapplied import find_unapplied, has_own_stamp, tell_unfollowed

POD = "Pod"


def _observe(tree: JsonObject, there: Surroundings) -> ObservedCluster:
    observed = observe_objects(tree, there.objects)
    pods = Unknown(there.unread[POD]) if POD in there.unread else observed.pods
    return replace(observed, objects=there.hide_from(observed.objects), pods=pods)


def _plan(situation: Situation) -> Plan:
    return plan_cluster(situation)


def _refuse(observed: ObservedCluster) -> Problem | None:
    return refusal(status_problems(observed.conditions))


def _remember(live: JsonObject | None) -> Remembered:
    """The groups of the spec that is stored."""
    spec = (live or {}).get("spec")
    groups = spec.get("workerGroupSpecs") if isinstance(spec, dict) else None
    listed = groups if isinstance(groups, list) else ()
    return Remembered(groups_seen=frozenset(str(group.get("groupName")) for group in listed if isinstance(group, dict)))


def _tell(situation: Situation, live: JsonObject | None) -> Iterator[str]:
    """By the head's own stamp where it is ours; else by the spec that is in force now."""
    observed, settings = situation.observed, situation.settings
    if situation.desired is None:
        return
    hashes = situation.desired.hashes_in_force
    found = find_unapplied(observed, hashes, settings.operator_version)
    text = str(found["message"]) if found is not None else ""
    if not text and live is not None and not has_own_stamp(observed, settings.operator_version):
        before = review(live, settings)
        if before.refusal is None and isinstance(before.object, RayCluster):
            text = tell_unfollowed(observed, hash_spec(before.object.spec).text, hashes)
    if text:
        yield f"the running Pods will not follow: {text}"


def _assume(cluster: RayCluster, desired: DesiredCluster | None) -> Iterator[JsonObject]:
    """What the user named and has to make."""
    named = {
        "ServiceAccount": desired.user_service_account if desired is not None else None,
        "PersistentVolumeClaim": desired.user_gcs_claim if desired is not None else None,
    }
    for kind, name in named.items():
        if name:
            metadata = {"name": name, "namespace": cluster.metadata.namespace}
            yield {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {}}


RAY_CLUSTER = Kind[ObservedCluster, DesiredCluster, Remembered](
    resource=ResourceType("ray.io/v1", "RayCluster", "rayclusters"),
    struct=RayCluster,
    spec=RayClusterSpec,
    find_problems=cluster_problems,
    observe=_observe,
    build=build_desired,
    plan=_plan,
    remember=_remember,
    refuse=_refuse,
    plan_misfit=MisfitRule(reason=SPEC_REASON, release=plan_misfit_deletion).plan,  # Differs from KubeRay: R1-4
    tell=_tell,
    assume=_assume,
)
