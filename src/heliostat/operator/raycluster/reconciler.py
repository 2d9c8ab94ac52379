"""RayClusters on the loop: the view is put together from the caches, and ``plan_cluster`` decides.

Nothing is decided here; what requeues a key is shared with the other kinds (``kind_reconciler.py``).
"""

from collections.abc import Iterable, Sequence

import msgspec

from heliostat.api.settings import Settings
from heliostat.api.validation import refusal, status_problems
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import RAY_CLUSTER, RAY_CLUSTERS, WholeObject, kinds_around
from heliostat.operator.labelled import label_ray_pods, view_ray_pods
from heliostat.operator.raycluster.meaning import Meaning, with_metadata, work_out
from heliostat.operator.raycluster.memory import Memory
from heliostat.operator.scope import Scoped, cache_dispensable, cache_needed
from heliostat.operator.understanding import Understanding, metadata_of
from heliostat.plan.raycluster.misfit import plan_misfit
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.situation import Situation
from heliostat.plan.raycluster.status_pacing import decide_cluster
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, its_controller

NAME = "raycluster-controller"  # what KubeRay's events name as their reporter


class RayClusterReconciler(KindReconciler[Meaning, Memory]):
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, namespaces: Sequence[str] = ()) -> None:
        self._settings = settings
        self._pods = label_ray_pods(caches, namespaces)
        super().__init__(
            cache_needed(caches, RAY_CLUSTERS, namespaces),
            {kind: cache_dispensable(caches, cached, namespaces) for kind, cached in kinds_around(settings).items()},
            Understanding(lambda item: work_out(item, settings), with_metadata),
            Memory(),
        )

    @property
    def clusters(self) -> Scoped[WholeObject]:
        return self.items

    def more_sources(self) -> Iterable[Source]:
        controller = its_controller(RAY_CLUSTER.api_version, RAY_CLUSTER.kind)
        # Names of Pods are chosen around all Pods that carry the cluster's label, whoever controls them.
        return [*self._pods.heard_by(controller), *self._pods.heard_by(self._pods.name_owners)]

    def plan_item(self, key: Key, item: WholeObject, meaning: Meaning, now: float) -> Plan:
        status = msgspec.json.decode(item.status)
        if meaning.cluster is None:
            misfit = meaning.refusal
            return plan_misfit(metadata_of(item), msgspec.json.decode(item.spec), misfit, now) if misfit else Plan()
        metadata, seen = item.metadata, self._pods.revision_in(key.namespace)
        objects = self.objects_around(key, metadata.uid)
        observed = ObservedCluster(
            cluster=meaning.cluster, status=status, pods=view_ray_pods(self._pods.of(key)), objects=objects
        )
        pace = decide_cluster(
            Situation(
                observed=observed,
                desired=meaning.desired,
                settings=self._settings,
                remembered=self.memory.recall(key, metadata.uid, metadata.resource_version, meaning.desired, seen),
                now=now,
                refusal=meaning.refusal or refusal(status_problems(observed.conditions)),
                warnings=meaning.warnings,
            )
        )
        self.memory.decided(key, pace)
        return pace.plan
