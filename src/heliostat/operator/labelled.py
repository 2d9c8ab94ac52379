"""Objects by a label that names whom they belong to: the Pods of a RayCluster, the EndpointSlices of a Service.

What the server does not show, and an object that cannot be read, make the answer unknown: never "there is none". A
reconciler that asked hears of every change among the objects of that name.
"""

from collections.abc import Callable, Iterable
from functools import cache as kept
from typing import Generic, TypeVar

from heliostat.desired import labels
from heliostat.kube.facts import Unknown
from heliostat.kube.objects import Key, Object
from heliostat.kube.pods import PodView, build_view
from heliostat.operator.kinds import RAY_PODS, RayPod
from heliostat.operator.scope import Scoped, cache_needed
from heliostat.operator.view import Interests
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import KeysOf, Source

T = TypeVar("T", bound=Object)


class Labelled(Generic[T]):
    def __init__(self, scoped: Scoped[T], label: str) -> None:
        self._scoped = scoped
        self._label = label
        self._indexes = {cache.kind.namespace: cache.add_index(by_label(label)) for cache in scoped}

    def of(self, owner: Key) -> tuple[T, ...] | Unknown:
        """Those whose label names ``owner``, in its namespace."""
        cache = self._scoped.in_namespace(owner.namespace)
        if cache.refused or not cache.synced.is_set():
            return Unknown(cache.refused or f"{cache.kind} has not been listed yet")
        for found in cache.unreadable.values():
            if str(owner) in by_label(self._label)(Object(found.metadata)):
                return Unknown(f"{cache.kind.resource.kind} {found.metadata.name} cannot be read: {found.problem}")
        return tuple(self._indexes[cache.kind.namespace].at(str(owner)))

    def revision_in(self, namespace: str) -> int:
        """How new the view of this namespace is."""
        return self._scoped.in_namespace(namespace).revision

    def asked(self, interests: Interests, asking: Key, owner: Key) -> tuple[T, ...] | Unknown:
        """The same for the plan of ``asking``, which is requeued when they change."""
        interests.note(asking, self._label, owner)
        return self.of(owner)

    def sources(self, interests: Interests) -> list[Source]:
        """For the keys that asked."""

        def keys_of(before: Object | None, after: Object | None) -> Iterable[Key]:
            named = self.name_owners(before, after)
            return dict.fromkeys(key for owner in named for key in interests.wanting(self._label, owner))

        return self.heard_by(keys_of)

    def heard_by(self, keys_of: KeysOf) -> list[Source]:
        return [Source(cache, keys_of) for cache in self._scoped]

    def name_owners(self, before: Object | None, after: Object | None) -> Iterable[Key]:
        """Whom a changed object's label names, or named."""
        changed = [item.metadata for item in (before, after) if item is not None]
        named = [(metadata.namespace, metadata.labels.get(self._label)) for metadata in changed]
        return dict.fromkeys(Key(namespace, name) for namespace, name in named if name)


@kept
def by_label(label: str) -> Callable[[Object], tuple[str, ...]]:
    """One function for each label, so that reconcilers share an index."""

    def keys_of(item: Object) -> tuple[str, ...]:
        name = item.metadata.labels.get(label)
        return (str(Key(item.metadata.namespace, name)),) if name else ()

    return keys_of


def label_ray_pods(caches: Caches, namespaces: Iterable[str]) -> Labelled[RayPod]:
    """The Pods of RayClusters."""
    return Labelled(cache_needed(caches, RAY_PODS, namespaces), labels.CLUSTER)


def view_ray_pods(pods: tuple[RayPod, ...] | Unknown) -> tuple[PodView, ...] | Unknown:
    """As planners read them."""
    return pods if isinstance(pods, Unknown) else tuple(map(_view, pods))


def _view(pod: RayPod) -> PodView:
    owner = pod.metadata.controller
    return build_view(pod.metadata, owner.uid if owner is not None else "", pod.spec, pod.status)
