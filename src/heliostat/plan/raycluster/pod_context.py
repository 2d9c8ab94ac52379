"""What every decision over a cluster's Pods needs, worked out once per plan."""

from msgspec import Struct

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.plan import Delete, Ref, Report, Wait
from heliostat.kube.pods import PodView
from heliostat.plan.because import Because
from heliostat.plan.raycluster.names import PodNames


class PodContext(Struct, frozen=True, kw_only=True):
    cluster: RayCluster
    desired: DesiredCluster
    settings: Settings
    now: float
    pods: tuple[PodView, ...]  # the cluster's own, by name
    conditions: list[JsonObject]  # as the status has them now
    names: PodNames
    asked_away: frozenset[str]  # every name in any group's workersToDelete
    certificates: Wait | None  # what new Pods have to wait for

    @property
    def place(self) -> str:
        """``namespace/name`` of the RayCluster, as events tell it."""
        return f"{self.cluster.metadata.namespace}/{self.cluster.metadata.name}"

    @property
    def may_choose_victims(self) -> bool:
        """With the autoscaler on, it alone says which workers go (R5-29, R5-56)."""
        return not features.is_autoscaling(self.cluster.spec) or self.settings.random_pod_delete


def names_asked_away(desired: DesiredCluster) -> frozenset[str]:
    return frozenset(name for group in desired.groups for name in group.workers_to_delete)


def delete_pod(pod: PodView, because: Because, report: Report, detail: str = "") -> Delete:
    return Delete(Ref("v1", "Pod", pod.namespace, pod.name), pod.uid, because, detail, report)
