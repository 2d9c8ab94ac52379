"""Edits of the spec that running Pods do not follow, because ``upgradeStrategy`` is not Recreate (raycluster.md §10).

The head Pod carries the hash of the spec that it was made from. Another first half under our own version means that
something was edited since which only new Pods can take up (``heliostat.desired.spec_hash``). Not told: what is applied
all the same (suspension, network policies, the Ingress, groups added behind the others), what no Pod has of the spec,
a head that is on its way out, and one that another operator or version has made: its hash cannot be compared.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.desired import labels
from heliostat.desired.spec_hash import HALF
from heliostat.kube.conditions import TRUE, build_condition, get_condition
from heliostat.kube.pods import PodView, is_terminating
from heliostat.plan.observed import ObservedCluster, Unknown
from heliostat.plan.own_conditions import SPEC_NOT_APPLIED
from heliostat.plan.pod_health import node_type

_REASON = "UpgradeStrategyIsNotRecreate"
_MESSAGE = (
    "the spec was changed after the head Pod {head} had been made, and Pods that run keep what they were made from; "
    "this ends when upgradeStrategy.type is Recreate (all Pods are made anew), when the head Pod is deleted (workers "
    "follow as they are replaced), or when the change is taken back"
)


def find_unapplied(
    observed: ObservedCluster, hashes_in_force: frozenset[str], operator_version: str
) -> JsonObject | None:
    """The condition to show; while nobody knows the Pods, the one that is shown already."""
    pods = observed.own_pods
    if isinstance(pods, Unknown):
        return get_condition(observed.conditions, SPEC_NOT_APPLIED)
    heads = (pod for pod in pods if node_type(pod) == labels.HEAD)
    head = min(heads, key=is_terminating, default=None)
    if head is None or not _is_behind(observed.cluster.spec, head, hashes_in_force, operator_version):
        return None
    return build_condition(SPEC_NOT_APPLIED, TRUE, _REASON, _MESSAGE.format(head=head.name))


def _is_behind(spec: RayClusterSpec, head: PodView, hashes_in_force: frozenset[str], operator_version: str) -> bool:
    if is_terminating(head) or _is_recreating(spec) or spec.suspend:
        return False
    stamped = head.annotations.get(labels.SPEC_HASH, "")
    is_ours = head.annotations.get(labels.OPERATOR_VERSION) == operator_version
    return is_ours and stamped != "" and stamped[:HALF] not in hashes_in_force


def _is_recreating(spec: RayClusterSpec) -> bool:
    return spec.upgrade_strategy is not None and spec.upgrade_strategy.type == "Recreate"
