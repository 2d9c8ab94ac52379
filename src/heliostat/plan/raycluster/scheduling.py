"""PodGroups and Workloads: made before any Pod, and kept in step as far as their scheduler allows (raycluster.md §13).

| scheduler | an existing object |
|---|---|
| Volcano | its size (minMember, minResources) follows the spec |
| scheduler-plugins | made once, never changed |
| Kubernetes (workload-aware) | cannot change: another size means PodGroup gone, Workload gone, both made anew |

An object of somebody else's under our name is left alone, and the Pods wait.
"""

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import diff_merge_patch
from heliostat.kube.lookups import PLUGIN_GROUP, VOLCANO_GROUP, WORKLOAD, WORKLOAD_GROUP, Found, kind_name
from heliostat.kube.plan import delete_of, patch_of, ref_of
from heliostat.kube.quantity import Quantity, QuantityError
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, join, wait_for
from heliostat.plan.ensure import create, name_taken, wait_for_knowledge
from heliostat.plan.raycluster.observed import ObservedCluster

PROTECTION = "scheduling.k8s.io/podgroup-protection"


def plan_scheduling(desired: DesiredCluster, observed: ObservedCluster, settings: Settings) -> Part:
    if isinstance(desired.scheduling, Impossible):
        return wait_for(Hold.IMPOSSIBLE, desired.scheduling.message, "the label is corrected")
    if settings.gate("KubernetesWAS"):
        return _plan_gang(desired.scheduling, observed)
    return join(_plan_group(wanted, observed) for wanted in desired.scheduling)


def _plan_group(wanted: JsonObject, observed: ObservedCluster) -> Part:
    live = _find(wanted, observed)
    if isinstance(live, Unknown):
        return wait_for_knowledge(str(ref_of(wanted)), live)
    if live is None:
        return create(wanted)
    kind = kind_name(wanted["apiVersion"], wanted["kind"])
    if kind == PLUGIN_GROUP:
        return NOTHING  # a plain owner reference: who made it cannot be told, and nothing is ever changed
    if not observed.owns(live):
        return name_taken(ref_of(live))
    return resize_group(live, wanted) if kind == VOLCANO_GROUP else NOTHING


def _find(wanted: JsonObject, observed: ObservedCluster) -> Found:
    return observed.find(kind_name(wanted["apiVersion"], wanted["kind"]), wanted["metadata"]["name"])


def resize_group(live: JsonObject, wanted: JsonObject) -> Part:
    there = live.get("spec") or {}
    spec = wanted["spec"]
    changes: JsonObject = {}
    if there.get("minMember") != spec["minMember"]:
        changes["minMember"] = spec["minMember"]
    resources = there.get("minResources") or {}
    if not _same_quantities(resources, spec["minResources"]):
        changes["minResources"] = diff_merge_patch(resources, spec["minResources"])
    if not changes:
        return NOTHING
    return Part(actions=(patch_of(live, {"spec": changes}, Because.DRIFTED),))


def _same_quantities(live: JsonObject, wanted: JsonObject) -> bool:
    try:
        return live.keys() == wanted.keys() and all(
            Quantity.parse(live[name]) == Quantity.parse(wanted[name]) for name in live
        )
    except QuantityError:
        return False


def _plan_gang(wanted: tuple[JsonObject, ...], observed: ObservedCluster) -> Part:
    """The PodGroup refers to the Workload and cannot change: it goes first, and comes last."""
    workloads, groups = observed.list_kind(WORKLOAD), observed.list_kind(WORKLOAD_GROUP)
    if isinstance(workloads, Unknown):
        return _wait_to_see("the Workload", workloads, wanted)
    if isinstance(groups, Unknown):
        return _wait_to_see("the PodGroup", groups, wanted)
    foreign = [live for tree in wanted if (live := _known(_find(tree, observed))) and not observed.owns(live)]
    if foreign:
        return name_taken(ref_of(foreign[0]))
    for stale in (_find_stale(groups, wanted, observed), _find_stale(workloads, wanted, observed)):
        if stale is not None:
            return _remove(stale, because=Because.IMMUTABLE if wanted else Because.NOT_WANTED)
    return join(create(tree) for tree in wanted if _find(tree, observed) is None)


def _wait_to_see(what: str, unknown: Unknown, wanted: tuple[JsonObject, ...]) -> Part:
    """A cluster that is no gang has only leftovers to lose there: its Pods need not wait for that."""
    wait = wait_for_knowledge(what, unknown)
    return wait if wanted else replace(wait, is_blocked=False)


def _known(found: Found) -> JsonObject | None:
    return None if isinstance(found, Unknown) else found


def _find_stale(
    listed: tuple[JsonObject, ...], wanted: tuple[JsonObject, ...], observed: ObservedCluster
) -> JsonObject | None:
    sizes = {(tree["kind"], tree["metadata"]["name"]): gang_size(tree) for tree in wanted}
    for live in listed:
        if observed.owns(live) and sizes.get((live["kind"], live["metadata"]["name"])) != gang_size(live):
            return live
    return None


def gang_size(tree: JsonObject) -> int | None:
    """How many Pods must fit together: the PodGroup says it itself, a Workload in its first template."""
    spec = tree.get("spec") or {}
    policy_of = spec if tree["kind"] == "PodGroup" else next(iter(spec.get("podGroupTemplates") or []), {})
    gang = (policy_of.get("schedulingPolicy") or {}).get("gang") or {}
    size = gang.get("minCount")
    return size if isinstance(size, int) else None


def _remove(live: JsonObject, because: Because) -> Part:
    """One step per pass: what protects a PodGroup is lifted first, and the next step waits until it is gone."""
    metadata = live["metadata"]
    wait = wait_for(Hold.BLOCKED, f"{ref_of(live)} has to be gone first", "it is gone")
    finalizers = metadata.get("finalizers") or []
    if PROTECTION in finalizers:
        others = [name for name in finalizers if name != PROTECTION]
        changes = {"metadata": {"finalizers": others or None}}
        return replace(wait, actions=(patch_of(live, changes, because),))
    if metadata.get("deletionTimestamp"):
        return wait
    return replace(wait, actions=(delete_of(live, because),))
