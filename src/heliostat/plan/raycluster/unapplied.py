"""Edits of the spec that running Pods do not follow, because ``upgradeStrategy`` is not Recreate (raycluster.md §10).

The head Pod carries the hash of the spec that it was made from. Another first half under our own version means that
something was edited since which only new Pods can take up (``desired.raycluster.spec_hash``). Not told: what is applied
all the same (suspension, network policies, the Ingress, groups added behind the others), what no Pod has of the spec,
a head that is on its way out, and one that another operator or version has made: its hash cannot be compared.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.desired import labels
from heliostat.desired.raycluster.spec_hash import HALF
from heliostat.kube.conditions import TRUE, build_condition, get_condition
from heliostat.kube.facts import Unknown
from heliostat.kube.pods import PodView, is_terminating
from heliostat.plan.own_conditions import SPEC_NOT_APPLIED
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_health import node_type

_REASON = "UpgradeStrategyIsNotRecreate"
_MESSAGE = (
    "the spec was changed after the head Pod {head} had been made, and Pods that run keep what they were made from; "
    "this ends when upgradeStrategy.type is Recreate (all Pods are made anew), when the head Pod is deleted (workers "
    "follow as they are replaced), or when the change is taken back"
)

_RESTAMPED = (
    "another operator, or another version of this one, has made the head Pod {head}: what it was made from cannot be "
    "compared, so it is only stamped anew; this ends when the head Pod is deleted (workers follow as they are replaced)"
)


def find_unapplied(
    observed: ObservedCluster, hashes_in_force: frozenset[str], operator_version: str
) -> JsonObject | None:
    """The condition to show; while nobody knows the Pods, the one that is shown already."""
    if isinstance(observed.own_pods, Unknown):
        return get_condition(observed.conditions, SPEC_NOT_APPLIED)
    head = _find_head(observed.own_pods)
    if head is None or not _is_behind(observed.cluster.spec, head, hashes_in_force, operator_version):
        return None
    return build_condition(SPEC_NOT_APPLIED, TRUE, _REASON, _MESSAGE.format(head=head.name))


def tell_unfollowed(observed: ObservedCluster, made_from: str, hashes_in_force: frozenset[str]) -> str:
    """The same, of an edit that is only planned: ``made_from`` is the hash of the spec before it. Empty: they follow.

    For a head whose stamp is another operator's, which is renewed under Recreate too.
    """
    head = None if isinstance(observed.own_pods, Unknown) else _find_head(observed.own_pods)
    spec = observed.cluster.spec
    if head is None or is_terminating(head) or spec.suspend or made_from[:HALF] in hashes_in_force:
        return ""
    if not _is_recreating(spec):
        return _MESSAGE.format(head=head.name)
    is_restamped = bool(head.annotations.get(labels.OPERATOR_VERSION)) or not head.annotations.get(labels.SPEC_HASH)
    return _RESTAMPED.format(head=head.name) if is_restamped else ""


def has_own_stamp(observed: ObservedCluster, operator_version: str) -> bool:
    """Whether what the head was made from can be told from its stamp."""
    head = None if isinstance(observed.own_pods, Unknown) else _find_head(observed.own_pods)
    return head is not None and head.annotations.get(labels.OPERATOR_VERSION) == operator_version


def _find_head(pods: tuple[PodView, ...]) -> PodView | None:
    heads = (pod for pod in pods if node_type(pod) == labels.HEAD)
    return min(heads, key=is_terminating, default=None)


def _is_behind(spec: RayClusterSpec, head: PodView, hashes_in_force: frozenset[str], operator_version: str) -> bool:
    if is_terminating(head) or _is_recreating(spec) or spec.suspend:
        return False
    stamped = head.annotations.get(labels.SPEC_HASH, "")
    is_ours = head.annotations.get(labels.OPERATOR_VERSION) == operator_version
    return is_ours and stamped != "" and stamped[:HALF] not in hashes_in_force


def _is_recreating(spec: RayClusterSpec) -> bool:
    return spec.upgrade_strategy is not None and spec.upgrade_strategy.type == "Recreate"
