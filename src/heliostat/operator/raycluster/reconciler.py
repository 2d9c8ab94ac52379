"""The reconciler of RayClusters: puts the view together from the caches (informers). Nothing is decided here.

A status that only counts Pods on their way is held back for a moment (``plan/raycluster/status_pacing.py``).
"""

from collections.abc import Iterable, Sequence

import msgspec

from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.operator.building import Building
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import RAY_CLUSTERS, WholeObject, kinds_around
from heliostat.operator.labelled import label_ray_pods, view_ray_pods
from heliostat.operator.raycluster.memory import Memory
from heliostat.operator.raycluster.metrics import ClusterMetrics
from heliostat.operator.scope import cache_dispensable, cache_needed
from heliostat.plan.kind import Meaning
from heliostat.plan.raycluster.kind import RAY_CLUSTER
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.situation import Remembered, Situation
from heliostat.plan.raycluster.status_pacing import pace_status
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, its_controller

NAME = "raycluster-controller"  # what KubeRay's events name as their reporter


class RayClusterReconciler(KindReconciler[ObservedCluster, DesiredCluster, Remembered, Memory]):
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, namespaces: Sequence[str] = ()) -> None:
        self._pods = label_ray_pods(caches, namespaces)
        items = cache_needed(caches, RAY_CLUSTERS, namespaces)
        around = {kind: cache_dispensable(caches, each, namespaces) for kind, each in kinds_around(settings).items()}
        super().__init__(RAY_CLUSTER, settings, items, around, Memory())

    def more_sources(self) -> Iterable[Source]:
        controller = its_controller(RAY_CLUSTER.resource.api_version, RAY_CLUSTER.resource.kind)
        # Names of Pods are chosen around all Pods that carry the cluster's label, whoever controls them.
        return [*self._pods.heard_by(controller), *self._pods.heard_by(self._pods.name_owners)]

    def observe(self, key: Key, item: WholeObject, meaning: Meaning[DesiredCluster]) -> ObservedCluster:
        return ObservedCluster(
            cluster=meaning.object,
            status=msgspec.json.decode(item.status),
            pods=view_ray_pods(self._pods.of(key)),
            objects=self.objects_around(key, item.metadata.uid),
        )

    def remember(
        self, key: Key, item: WholeObject, _observed: ObservedCluster, meaning: Meaning[DesiredCluster]
    ) -> Remembered:
        uid, version = item.metadata.uid, item.metadata.resource_version
        return self.memory.recall(key, uid, version, meaning.desired, self._pods.revision_in(key.namespace))

    def begin(self, key: Key, _item: WholeObject, situation: Situation, plan: Plan) -> Plan:
        pace = pace_status(plan, situation.observed.status, situation.remembered.held_until, situation.now)
        self.memory.decided(key, pace)
        return pace.plan


def add_controller(building: Building) -> None:
    options = building.options
    clusters = RayClusterReconciler(building.host.caches, options.settings, options.namespaces)
    building.host.add(clusters, after=clusters.after)
    if options.has_kuberay_metrics:
        ClusterMetrics(building.registry, clusters.items)
