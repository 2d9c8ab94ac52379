"""RayClusters on the loop: the view is put together from the caches, and ``plan_cluster`` decides.

Nothing is decided here. A cluster is looked at again when it or anything it controls changes (of some kinds: is gone),
when something it looked for and did not find appears, and when its plan failed in a new way: the status has to tell.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from heliostat.api.settings import Settings
from heliostat.api.validation import refusal, status_problems
from heliostat.desired import labels
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.pods import PodView, build_view
from heliostat.operator.kinds import (
    HEARD_WHEN_GONE,
    RAY_CLUSTER,
    RAY_CLUSTERS,
    RAY_PODS,
    RayPod,
    WholeObject,
    kinds_around,
)
from heliostat.operator.raycluster.memory import Memory
from heliostat.operator.raycluster.surroundings import CachedObjects, Interests, when_gone
from heliostat.operator.raycluster.understanding import Understanding, metadata_of
from heliostat.operator.scope import Scoped, cache_dispensable, cache_needed
from heliostat.plan.because import Hold
from heliostat.plan.cluster import plan_cluster
from heliostat.plan.misfit import plan_misfit
from heliostat.plan.observed import ObservedCluster, Unknown
from heliostat.runtime.caches import Caches
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.reconciler import Signal, Source, Subject, its_controller, itself, signalled, subject_of

NAME = "raycluster-controller"  # what KubeRay's events name as their reporter
UNKNOWN_POLL = 5.0  # seconds until a view that is not complete is looked at again


class RayClusterReconciler:
    name = NAME

    def __init__(self, caches: Caches, settings: Settings, namespaces: Sequence[str] = ()) -> None:
        self._settings = settings
        self._clusters = cache_needed(caches, RAY_CLUSTERS, namespaces)
        self._pods = cache_needed(caches, RAY_PODS, namespaces)
        self._pods_of = {cache.kind.namespace: cache.add_index(_cluster_label) for cache in self._pods}
        self._around = {
            kind: cache_dispensable(caches, cached, namespaces) for kind, cached in kinds_around(settings).items()
        }
        self._understanding = Understanding(settings)
        self._interests = Interests()
        self._memory = Memory()
        self._again = Signal()

    @property
    def clusters(self) -> Scoped[WholeObject]:
        return self._clusters

    def sources(self) -> Sequence[Source]:
        controller = its_controller(RAY_CLUSTER.api_version, RAY_CLUSTER.kind)
        sources = [Source(self._again, signalled)]
        sources += [Source(cache, itself) for cache in self._clusters]
        sources += [Source(cache, keys_of) for cache in self._pods for keys_of in (controller, _labelled)]
        for kind, scoped in self._around.items():
            owner = when_gone(controller) if kind in HEARD_WHEN_GONE else controller
            awaiting = self._interests.awaiting(kind)
            sources += [Source(cache, keys_of) for cache in scoped for keys_of in (owner, awaiting)]
        return sources

    def subject(self, key: Key) -> Subject | None:
        item = self._clusters.get(key)
        if item is None:
            self._interests.forget(key)
            self._memory.forget(key)
            self._understanding.forget(key)
            return None
        return subject_of(item, RAY_CLUSTER.api_version, RAY_CLUSTER.kind)

    def plan(self, key: Key, now: float) -> Plan:
        item = self._clusters.get(key)
        cache = self._clusters.in_namespace(key.namespace)
        if item is None:
            return Plan()
        if cache.refused:
            wait = Wait(Hold.NOT_KNOWN, f"RayClusters cannot be seen any more: {cache.refused}", "they can be read")
            return Plan(waits=(wait,), wake_after=UNKNOWN_POLL)
        self._interests.forget(key)
        return self._plan(key, item, now)

    def after(self, key: Key, outcome: Outcome) -> None:
        if self._memory.ended(key, outcome):
            self._again.send(key)

    def _plan(self, key: Key, item: WholeObject, now: float) -> Plan:
        meaning = self._understanding.understand(item)
        status = msgspec.json.decode(item.status)
        if meaning.cluster is None:
            misfit = meaning.refusal
            return plan_misfit(metadata_of(item), msgspec.json.decode(item.spec), misfit, now) if misfit else Plan()
        metadata, seen = item.metadata, self._pods.in_namespace(key.namespace).revision
        objects = CachedObjects(key, metadata.uid, self._around, self._interests)
        pods = self._pods_around(key)
        observed = ObservedCluster(cluster=meaning.cluster, status=status, pods=pods, objects=objects)
        plan = plan_cluster(
            observed,
            meaning.desired,
            self._settings,
            self._memory.facts(key, metadata.uid, metadata.resource_version, meaning.desired, seen),
            now,
            refusal=meaning.refusal or refusal(status_problems(observed.conditions)),
            warnings=meaning.warnings,
        )
        plan = self._memory.pace(key, plan, status, now)
        return _look_again_soon(plan) if objects.has_unknown or isinstance(pods, Unknown) else plan

    def _pods_around(self, key: Key) -> tuple[PodView, ...] | Unknown:
        cache = self._pods.in_namespace(key.namespace)
        if cache.refused:
            return Unknown(cache.refused)
        for found in cache.unreadable.values():
            if _cluster_label(Object(found.metadata)) == (str(key),):
                return Unknown(f"Pod {found.metadata.name} cannot be read: {found.problem}")
        index = self._pods_of[cache.kind.namespace]
        return tuple(view_ray_pod(pod) for pod in index.at(str(key)))


def _look_again_soon(plan: Plan) -> Plan:
    wake_after = UNKNOWN_POLL if plan.wake_after is None else min(plan.wake_after, UNKNOWN_POLL)
    return replace(plan, wake_after=wake_after)


def _cluster_label(pod: Object) -> tuple[str, ...]:
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
