"""Which Services select a Pod, and which Pods a Service selects, without looking at all of them.

Selectors of many Services have few shapes: the sets of keys that they name. For every shape that is in use Services
and Pods are filed under their values of those keys, so either finds the other by one lookup for each shape.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.services import Service
from heliostat.kube.objects import Key
from heliostat.runtime.cache import Cache

Shape: TypeAlias = tuple[str, ...]  # keys of labels
Place: TypeAlias = tuple[str, ...]  # a namespace, and the values of those keys


class _Filed:
    """What is filed under one shape, for as long as a Service has it."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._services: dict[Place, dict[Key, None]] = {}
        self._pods: dict[Place, dict[Key, None]] = {}

    @property
    def is_unused(self) -> bool:
        return not self._services

    def add_service(self, service: Service) -> None:
        self._services.setdefault(self._place_of_service(service), {})[service.metadata.key] = None

    def drop_service(self, service: Service) -> None:
        _drop(self._services, self._place_of_service(service), service.metadata.key)

    def change_pod(self, before: Pod | None, after: Pod | None) -> None:
        old, new = self._place_of_pod(before), self._place_of_pod(after)
        if before is not None and old is not None and old != new:
            _drop(self._pods, old, before.metadata.key)
        if after is not None and new is not None:
            self._pods.setdefault(new, {})[after.metadata.key] = None

    def services_of(self, pod: Pod) -> Iterable[Key]:
        place = self._place_of_pod(pod)
        return self._services.get(place, ()) if place is not None else ()

    def pods_of(self, service: Service) -> Iterable[Key]:
        return self._pods.get(self._place_of_service(service), ())

    def _place_of_service(self, service: Service) -> Place:
        selector = service.spec.selector or {}
        return (service.metadata.namespace, *(selector[key] for key in self._shape))

    def _place_of_pod(self, pod: Pod | None) -> Place | None:
        if pod is None:
            return None
        labels: Mapping[str, str] = pod.metadata.labels
        if not all(key in labels for key in self._shape):
            return None
        return (pod.metadata.namespace, *(labels[key] for key in self._shape))


class Selections:
    """To be made before anything listens to the caches: listeners ask it."""

    def __init__(self, services: Cache[Service], pods: Cache[Pod]) -> None:
        self._pods = pods
        self._filed: dict[Shape, _Filed] = {}
        services.subscribe(self._service_changed)
        pods.subscribe(self._pod_changed)

    def services_of(self, pod: Pod) -> Iterator[Key]:
        for filed in self._filed.values():
            yield from filed.services_of(pod)

    def pods_of(self, service: Service) -> tuple[Pod, ...]:
        """By name."""
        filed = self._filed.get(_shape_of(service))
        keys = filed.pods_of(service) if filed is not None else ()
        return tuple(pod for key in sorted(keys) if (pod := self._pods.get(key)) is not None)

    def _service_changed(self, before: Service | None, after: Service | None) -> None:
        if before is not None and after is not None and _selection_of(before) == _selection_of(after):
            return
        if before is not None and (shape := _shape_of(before)):
            self._filed[shape].drop_service(before)
            if self._filed[shape].is_unused:
                del self._filed[shape]
        if after is not None and (shape := _shape_of(after)):
            self._filed_under(shape).add_service(after)

    def _filed_under(self, shape: Shape) -> _Filed:
        filed = self._filed.get(shape)
        if filed is None:
            filed = self._filed[shape] = _Filed(shape)
            for pod in self._pods:
                filed.change_pod(None, pod)
        return filed

    def _pod_changed(self, before: Pod | None, after: Pod | None) -> None:
        for filed in self._filed.values():
            filed.change_pod(before, after)


def _shape_of(service: Service) -> Shape:
    """Empty: it selects nothing."""
    return tuple(sorted(service.spec.selector or ()))


def _selection_of(service: Service) -> object:
    return service.metadata.uid, service.spec.selector


def _drop(table: dict[Place, dict[Key, None]], place: Place, key: Key) -> None:
    keys = table.get(place)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del table[place]
