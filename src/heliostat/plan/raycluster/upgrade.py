"""What a changed spec does to running Pods under ``upgradeStrategy: Recreate`` (raycluster.md §6.3).

The head Pod carries the hash of the spec it was made from and the version of the operator that made it. Another hash
under the same version: all Pods go and come back new. Another version: hashes of two versions cannot be compared, so
the stamp is renewed and nothing restarts. Without a stamp, or without Recreate, nothing happens.
"""

from enum import StrEnum

from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.plan import Patch, Ref, Wait
from heliostat.kube.pods import PodView, is_terminating
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part
from heliostat.plan.raycluster.places import wake_when_stuck
from heliostat.plan.raycluster.pod_context import PodContext
from heliostat.plan.raycluster.pod_health import HEAD_PATIENCE, Presence, node_type, presence_of
from heliostat.plan.raycluster.reports import only_failure, report_recreate
from heliostat.plan.raycluster.suspend import delete_all


class Upgrade(StrEnum):
    KEEP = "keep"
    RESTAMP = "restamp"
    RECREATE = "recreate"


def decide_upgrade(spec: RayClusterSpec, head: PodView | None, expected_hash: str, operator_version: str) -> Upgrade:
    strategy = spec.upgrade_strategy
    if strategy is None or strategy.type != "Recreate" or head is None:
        return Upgrade.KEEP
    version = head.annotations.get(labels.OPERATOR_VERSION, "")
    if version not in ("", operator_version):
        return Upgrade.RESTAMP
    stamped = head.annotations.get(labels.SPEC_HASH, "")
    return Upgrade.RECREATE if stamped not in ("", expected_hash) else Upgrade.KEEP


def stamped_head(context: PodContext) -> PodView | None:
    """The head whose stamp counts: one that stays before one that leaves; a stuck one no longer counts."""
    heads = [pod for pod in context.pods if node_type(pod) == labels.HEAD]
    here = [pod for pod in heads if presence_of(pod, context.now, HEAD_PATIENCE) is not Presence.STUCK]
    return min(here, key=is_terminating, default=None)


def plan_restamp(head: PodView, desired: DesiredCluster, settings: Settings) -> Part:
    if is_terminating(head):
        return NOTHING
    annotations = {labels.SPEC_HASH: desired.spec_hash, labels.OPERATOR_VERSION: settings.operator_version}
    changes = {"metadata": {"annotations": annotations}}
    ref = Ref("v1", "Pod", head.namespace, head.name)
    return Part(actions=(Patch(ref, head.uid, head.resource_version, changes, Because.OPERATOR_CHANGED),))


def plan_recreate(context: PodContext) -> tuple[Part, Part]:
    """Workers first, then the head: the head carries the hash, so a half-done upgrade is still seen as one."""
    report = report_recreate(context.place)
    workers = tuple(pod for pod in context.pods if node_type(pod) != labels.HEAD)
    heads = tuple(pod for pod in context.pods if node_type(pod) == labels.HEAD)
    left = f"{len(context.pods)} Pods of the old spec are still there"
    wait = Wait(Hold.RECREATING, left, "the old head is gone; then new Pods are made")
    wake_after = wake_when_stuck(filter(is_terminating, heads), context.now, HEAD_PATIENCE)
    return (
        Part(actions=delete_all(workers, Because.SPEC_CHANGED, only_failure(report))),
        Part(actions=delete_all(heads, Because.SPEC_CHANGED, report), waits=(wait,), wake_after=wake_after),
    )
