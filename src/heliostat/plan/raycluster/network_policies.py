"""NetworkPolicies: what KubeRay's separate controller for them would do (raycluster.md §12).

Each wanted policy is made or made equal; ours that are no longer wanted go. One of somebody else's under our name is
left alone: the cluster is then not isolated as asked, which is told. Nothing else waits for policies, and a refused
spec gets them all the same.
"""

from typing import Any

from heliostat.api.markers import JsonObject
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import diff_merge_patch, drop_empty
from heliostat.kube.lookups import NETWORK_POLICY
from heliostat.kube.plan import Event, delete_of, patch_of, ref_of
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, join, wait_beside
from heliostat.plan.ensure import create
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.reports import report_policy
from heliostat.plan.reports import POLICY_REPORTER, WARNING

# Empty selectors select everything, so they mean something.
_SIGNIFICANT = frozenset({"podSelector", "namespaceSelector"})


def plan_network_policies(wanted: tuple[JsonObject, ...], observed: ObservedCluster) -> Part:
    owned = observed.list_owned(NETWORK_POLICY)
    if isinstance(owned, Unknown):
        return wait_beside(Hold.NOT_KNOWN, f"the NetworkPolicies: {owned.why}", "they can be read")
    names = {tree["metadata"]["name"] for tree in wanted}
    surplus = (tree for tree in owned if tree["metadata"]["name"] not in names)
    deletes = tuple(delete_of(tree, Because.NOT_WANTED, report_policy("Delete", ref_of(tree))) for tree in surplus)
    return join((*(_ensure(tree, observed) for tree in wanted), Part(actions=deletes)))


def _ensure(wanted: JsonObject, observed: ObservedCluster) -> Part:
    live = observed.find(NETWORK_POLICY, wanted["metadata"]["name"])
    if live is None:
        return create(wanted)
    if isinstance(live, Unknown):
        return NOTHING  # the caller has told already
    return _update(live, wanted) if observed.owns(live) else _tell_collision(live)


def _update(live: JsonObject, wanted: JsonObject) -> Part:
    changes = diff_merge_patch(_comparable(live), _comparable(wanted))
    if not changes:
        return NOTHING
    return Part(actions=(patch_of(live, changes, Because.DRIFTED, report_policy("Update", ref_of(live))),))


def _comparable(policy: JsonObject) -> JsonObject:
    spec = drop_empty(_name_protocols(policy.get("spec") or {}), _SIGNIFICANT)
    return {"metadata": {"labels": policy["metadata"].get("labels") or {}}, "spec": spec}


def _name_protocols(tree: Any, key: str = "") -> Any:
    """A port without a protocol is a TCP port; the API server writes that down."""
    if isinstance(tree, list):
        return [_name_protocols(item, key) for item in tree]
    if not isinstance(tree, dict):
        return tree
    named = {name: _name_protocols(value, name) for name, value in tree.items()}
    return {"protocol": "TCP", **named} if key == "ports" else named


def _tell_collision(live: JsonObject) -> Part:
    metadata = live["metadata"]
    note = (
        f"NetworkPolicy {metadata['namespace']}/{metadata['name']} already exists and is not owned by this RayCluster, "
        "network isolation will not be applied. Rename the existing NetworkPolicy or use a different RayCluster name "
        "to avoid the collision"
    )
    told = Event(WARNING, "NetworkPolicyNameCollision", "Validate", note, reporter=POLICY_REPORTER)
    return wait_beside(Hold.NAME_TAKEN, note, "it is deleted or renamed", events=(told,))
