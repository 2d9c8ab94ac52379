"""RayClusters on the loop: the view is put together from the caches, and ``plan_cluster`` decides.

Nothing is decided here; what requeues a key is shared with the other kinds (``kind_reconciler.py``).
"""

from collections.abc import Iterable, Sequence

import msgspec

from heliostat.api.settings import Settings
from heliostat.api.validation import refusal, status_problems
from heliostat.desired import labels
from heliostat.kube.facts import Unknown
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan
from heliostat.kube.pods import PodView, build_view
from heliostat.operator.kind_reconciler import KindReconciler
from heliostat.operator.kinds import (
    RAY_CLUSTER,
    RAY_CLUSTERS,
    RAY_PODS,
    RayPod,
    WholeObject,
    kinds_around,
)
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
        self._pods = cache_needed(caches, RAY_PODS, namespaces)
        self._pods_of = {cache.kind.namespace: cache.add_index(cluster_label) for cache in self._pods}
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
        return [Source(cache, keys_of) for cache in self._pods for keys_of in (controller, _labelled)]

    def plan_item(self, key: Key, item: WholeObject, meaning: Meaning, now: float) -> Plan:
        status = msgspec.json.decode(item.status)
        if meaning.cluster is None:
            misfit = meaning.refusal
            return plan_misfit(metadata_of(item), msgspec.json.decode(item.spec), misfit, now) if misfit else Plan()
        metadata, seen = item.metadata, self._pods.in_namespace(key.namespace).revision
        objects = self.objects_around(key, metadata.uid)
        observed = ObservedCluster(cluster=meaning.cluster, status=status, pods=self._pods_around(key), objects=objects)
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

    def _pods_around(self, key: Key) -> tuple[PodView, ...] | Unknown:
        cache = self._pods.in_namespace(key.namespace)
        if cache.refused:
            return Unknown(cache.refused)
        for found in cache.unreadable.values():
            if cluster_label(Object(found.metadata)) == (str(key),):
                return Unknown(f"Pod {found.metadata.name} cannot be read: {found.problem}")
        index = self._pods_of[cache.kind.namespace]
        return tuple(view_ray_pod(pod) for pod in index.at(str(key)))


def cluster_label(pod: Object) -> tuple[str, ...]:
    cluster = pod.metadata.labels.get(labels.CLUSTER)
    return (str(Key(pod.metadata.namespace, cluster)),) if cluster else ()


def _labelled(before: Object | None, after: Object | None) -> Iterable[Key]:
    """Names of Pods are chosen around all Pods that carry the cluster's label, whoever controls them."""
    found: dict[Key, None] = {}
    for pod in (before, after):
        cluster = pod.metadata.labels.get(labels.CLUSTER) if pod is not None else None
        if pod is not None and cluster:
            found[Key(pod.metadata.namespace, cluster)] = None
    return found


def view_ray_pod(pod: RayPod) -> PodView:
    owner = pod.metadata.controller
    return build_view(pod.metadata, owner.uid if owner is not None else "", pod.spec, pod.status)
