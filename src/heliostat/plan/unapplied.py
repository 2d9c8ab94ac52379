"""Edits of the spec that running Pods do not follow, because ``upgradeStrategy`` is not Recreate (raycluster.md §10).

The head Pod carries the hash of the spec that it was made from. Another hash under our own version means that the spec
was edited since. Not told: what is applied all the same (suspension, also of one group; groups added behind the
others), a head that is on its way out, and one that another operator or version has made: its hash cannot be compared.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec, WorkerGroupSpec
from heliostat.desired import labels
from heliostat.desired.spec_hash import hash_spec
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


def find_unapplied(observed: ObservedCluster, spec_hash: str, operator_version: str) -> JsonObject | None:
    """The condition to show; while nobody knows the Pods, the one that is shown already."""
    pods = observed.own_pods
    if isinstance(pods, Unknown):
        return get_condition(observed.conditions, SPEC_NOT_APPLIED)
    heads = (pod for pod in pods if node_type(pod) == labels.HEAD)
    head = min(heads, key=is_terminating, default=None)
    return spec_not_applied(observed.cluster.spec, head, spec_hash, operator_version)


def spec_not_applied(
    spec: RayClusterSpec, head: PodView | None, spec_hash: str, operator_version: str
) -> JsonObject | None:
    if head is None or is_terminating(head) or _is_recreating(spec) or spec.suspend:
        return None
    stamped = head.annotations.get(labels.SPEC_HASH, "")
    if head.annotations.get(labels.OPERATOR_VERSION) != operator_version or stamped in ("", spec_hash):
        return None
    if any(hash_spec(former) == stamped for former in _specs_that_are_applied(spec)):
        return None
    return build_condition(SPEC_NOT_APPLIED, TRUE, _REASON, _MESSAGE.format(head=head.name))


def _is_recreating(spec: RayClusterSpec) -> bool:
    return spec.upgrade_strategy is not None and spec.upgrade_strategy.type == "Recreate"


def _specs_that_are_applied(spec: RayClusterSpec) -> Iterator[RayClusterSpec]:
    """Former specs from which running Pods have followed."""
    groups = spec.worker_group_specs or []
    for former in (groups, *_with_one_suspension_changed(groups)):
        for count in range(len(groups), -1, -1):
            for suspend in (None, False, True):
                yield replace(spec, suspend=suspend, worker_group_specs=former[:count])


def _with_one_suspension_changed(groups: list[WorkerGroupSpec]) -> Iterator[list[WorkerGroupSpec]]:
    for index, group in enumerate(groups):
        for suspend in {None, False, True} - {group.suspend}:
            yield [*groups[:index], replace(group, suspend=suspend), *groups[index + 1 :]]
