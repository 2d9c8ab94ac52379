"""The active and the pending cluster of a RayService: made, changed in place, or followed by another one.

A cluster is made only under the name that the status holds. Whether another one has to follow is a table: the first row
whose questions all hold decides. A plan that decides so writes the new name down and does nothing else with it.
"""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.cluster_features import is_autoscaling
from heliostat.api.kinds import RAY_CLUSTER_NAME
from heliostat.api.markers import JsonObject
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.api.validation.service import INCREMENTAL_GATE, INCREMENTAL_UPGRADE, is_incremental_upgrade
from heliostat.desired.rayservice.cluster import build_cluster_of_service
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import diff_merge_patch
from heliostat.kube.plan import Create, patch_of, ref_of
from heliostat.plan.draft import NOTHING, Part, join
from heliostat.plan.ensure import name_taken, wait_for_knowledge
from heliostat.plan.rayservice.comparing import Fit, compare_spec, has_own_stamp, stamp_as_it_is
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.reasons import Because
from heliostat.plan.rayservice.reports import report_cluster_create, report_cluster_update
from heliostat.plan.rayservice.status import ROLLBACK, is_true


class ClusterChoice(StrEnum):
    """What becomes of the clusters."""

    STAY = "they stay as they are"
    IN_PLACE = "a cluster is changed in place"
    NEW = "another cluster is made"
    OFF = "another cluster would be needed, and upgrades are off"
    GIVEN_UP = "another cluster took too long, and is not tried again"


class ClusterInputs(Struct, frozen=True, kw_only=True):
    """What the table asks about. A fit is None when there is no such cluster."""

    is_pending_routed: bool = False  # requests go to the pending cluster already
    has_active: bool = False
    has_pending: bool = False  # also when it is only named, and about to be made
    active: Fit | None = None
    pending: Fit | None = None
    is_refreshed: bool = False  # the active cluster: another operator version made it, and nobody edited it since
    are_upgrades_on: bool = True
    is_back: bool = False  # an incremental upgrade that goes back to the active cluster
    is_given_up: bool = False  # the upgrade took too long


def decide_clusters(inputs: ClusterInputs) -> ClusterChoice:
    """KubeRay: rayservice.md §4.2 and §4.3, as one table; of two clusters the pending one is compared."""
    if inputs.is_pending_routed or inputs.is_back:
        return ClusterChoice.STAY
    if not inputs.has_active and not inputs.has_pending:
        return ClusterChoice.NEW
    if inputs.is_given_up and inputs.active is Fit.OTHER:
        return ClusterChoice.GIVEN_UP
    fit = inputs.pending if inputs.has_pending else inputs.active
    if fit is Fit.SAME or fit is None:
        return ClusterChoice.STAY
    if fit is Fit.GROWN or (not inputs.has_pending and inputs.is_refreshed):
        return ClusterChoice.IN_PLACE
    return ClusterChoice.NEW if inputs.are_upgrades_on else ClusterChoice.OFF


def look_at_clusters(observed: ObservedService, settings: Settings) -> ClusterInputs | Unknown:
    active, pending = observed.find_active(), observed.find_pending()
    for found in (active, pending):
        if isinstance(found, Unknown):
            return found
    is_incremental = is_incremental_upgrade(observed.service.spec, settings)
    wanted, routed = observed.service.spec.ray_cluster_config, observed.routed_cluster()
    inputs = ClusterInputs(
        is_pending_routed=not is_incremental and bool(routed) and routed == observed.pending_name,
        has_active=isinstance(active, dict),
        has_pending=bool(observed.pending_name),
        active=compare_spec(active, wanted, settings) if isinstance(active, dict) else None,
        pending=compare_spec(pending, wanted, settings) if isinstance(pending, dict) else None,
        is_refreshed=isinstance(active, dict) and not has_own_stamp(active, settings) and not has_unseen_edit(observed),
        are_upgrades_on=are_upgrades_on(observed.service, settings),
    )
    return replace(inputs, is_back=is_incremental and goes_back(inputs, is_true(observed.status, ROLLBACK)))


def goes_back(inputs: ClusterInputs, is_under_way: bool) -> bool:
    """rayservice.md §6.7: to the active cluster when the spec is its own again, or neither's (then on from there)."""
    if not inputs.has_active or not inputs.has_pending:
        return False
    return inputs.active is Fit.SAME or inputs.pending is Fit.OTHER or (inputs.pending is None and is_under_way)


def has_unseen_edit(observed: ObservedService) -> bool:
    """The spec was edited after whoever worked here before us had looked: that edit is ours to carry out."""
    return 0 < (observed.status.get("observedGeneration") or 0) < observed.service.metadata.generation


def are_upgrades_on(service: RayService, settings: Settings) -> bool:
    """rayservice.md §4.4."""
    strategy = service.spec.upgrade_strategy
    if strategy is None or strategy.type is None:
        return settings.zero_downtime
    if strategy.type == INCREMENTAL_UPGRADE:
        return settings.gate(INCREMENTAL_GATE)
    return strategy.type == "NewCluster"


def plan_clusters(observed: ObservedService, settings: Settings, *, is_back: bool = False) -> Part:
    """Makes the pending cluster, or else brings both up to date where that needs no other one."""
    name, pending = observed.pending_name, observed.find_pending()
    if isinstance(pending, Unknown):
        return wait_for_knowledge(f"RayCluster {name}", pending)
    if name and pending is None:
        return NOTHING if is_back else _make(observed, name, settings)
    active = observed.find_active()
    if isinstance(active, Unknown):
        return wait_for_knowledge(f"RayCluster {observed.active_name}", active)
    parts = [] if pending is None else [_bring_up_to_date(observed, pending, "pending", settings)]
    if active is not None:
        parts.insert(0, _bring_up_to_date(observed, active, "active", settings))
    return join(parts)


def _make(observed: ObservedService, name: str, settings: Settings) -> Part:
    taken = observed.find(RAY_CLUSTER_NAME, name)
    if isinstance(taken, dict):
        return name_taken(ref_of(taken), observed.owner_kind)
    grows = is_incremental_upgrade(observed.service.spec, settings) and isinstance(observed.find_active(), dict)
    cluster = build_cluster_of_service(observed.service, observed.tree, name, settings, grows=grows)
    return Part(actions=(Create(cluster, Because.CLUSTER_NEEDED, report_cluster_create(ref_of(cluster))),))


def _bring_up_to_date(observed: ObservedService, cluster: JsonObject, role: str, settings: Settings) -> Part:
    if cluster["metadata"].get("deletionTimestamp"):
        return NOTHING
    fit = compare_spec(cluster, observed.service.spec.ray_cluster_config, settings)
    is_kept = role == "active" and bool(observed.pending_name)  # while another gets ready, the one that serves stays
    if has_own_stamp(cluster, settings):
        because = Because.GROUPS_ADDED
        changes = _follow_spec(observed, cluster, fit, settings) if fit is Fit.GROWN and not is_kept else {}
    elif role == "pending" and fit is Fit.OTHER:
        return NOTHING  # another one takes its place
    else:
        because, changes = Because.OPERATOR_CHANGED, _stamp_anew(observed, cluster, fit, settings, is_kept=is_kept)
    if not changes:
        return NOTHING
    return Part(actions=(patch_of(cluster, changes, because, report_cluster_update(ref_of(cluster), role)),))


def _stamp_anew(
    observed: ObservedService, cluster: JsonObject, fit: Fit, settings: Settings, *, is_kept: bool
) -> JsonObject:
    """Of another operator version's cluster: it is one of ours from now on, whether or not it follows the spec."""
    if is_kept or (fit is Fit.OTHER and has_unseen_edit(observed)):
        return _annotate(cluster, stamp_as_it_is(cluster, settings))
    return _follow_spec(observed, cluster, fit, settings)


def _follow_spec(observed: ObservedService, cluster: JsonObject, fit: Fit, settings: Settings) -> JsonObject:
    """From now on it counts as made from the spec of the service."""
    grows = is_incremental_upgrade(observed.service.spec, settings) and bool(observed.active_name)
    name = cluster["metadata"]["name"]
    goal = build_cluster_of_service(observed.service, observed.tree, name, settings, grows=grows)
    if fit is Fit.SAME:
        return _annotate(cluster, goal["metadata"]["annotations"])
    return _overwrite(observed.service, cluster, goal)


def _annotate(cluster: JsonObject, annotations: JsonObject) -> JsonObject:
    """Nothing else: the autoscaler's replicas, and what Kueue has put into the cluster, stay."""
    there = cluster["metadata"].get("annotations") or {}
    changed = {key: value for key, value in annotations.items() if there.get(key) != value}
    return {"metadata": {"annotations": changed}} if changed else {}


def _overwrite(service: RayService, cluster: JsonObject, goal: JsonObject) -> JsonObject:
    """The goal in the place of what is there. Labels and annotations of others stay, and so does ``suspend``.

    Differs from KubeRay: rayservice-kept-replicas.
    """
    spec = dict(goal["spec"])
    spec.pop("suspend", None)
    if "suspend" in cluster["spec"]:
        spec["suspend"] = cluster["spec"]["suspend"]
    if is_autoscaling(service.spec.ray_cluster_config):
        spec["workerGroupSpecs"] = _keep_replicas(cluster["spec"], spec)
    metadata = {
        part: diff_merge_patch(there, {**there, **goal["metadata"][part]})
        for part in ("labels", "annotations")
        for there in [cluster["metadata"].get(part) or {}]
    }
    changes = {"metadata": {part: diff for part, diff in metadata.items() if diff}}
    changes |= {"spec": diff_merge_patch(cluster["spec"], spec)}
    return {part: change for part, change in changes.items() if change}


def _keep_replicas(there: JsonObject, goal: JsonObject) -> list[JsonObject]:
    """What the autoscaler has chosen for the groups that are there."""
    chosen = {group["groupName"]: group for group in there.get("workerGroupSpecs") or []}
    kept = ("replicas", "scaleStrategy")
    return [
        {**group, **{key: value for key, value in chosen.get(group["groupName"], {}).items() if key in kept}}
        for group in goal.get("workerGroupSpecs") or []
    ]
