"""All caches of one program: each declared kind once, however many controllers ask for it."""

from collections.abc import Iterator
from typing import Any, TypeVar, cast

from heliostat.kube.objects import Object
from heliostat.runtime.cache import Cache, CachedKind

T = TypeVar("T", bound=Object)


class Caches:
    def __init__(self) -> None:
        self._caches: dict[CachedKind[Any], Cache[Any]] = {}

    def of(self, kind: CachedKind[T]) -> Cache[T]:
        """The cache of this kind, made when first asked for."""
        found = self._caches.get(kind)
        if found is None:
            found = self._caches[kind] = Cache(kind)
        return cast("Cache[T]", found)

    def __iter__(self) -> Iterator[Cache[Any]]:
        return iter(self._caches.values())

    def drop(self, kind: CachedKind[T]) -> None:
        self._caches.pop(kind, None)

    @property
    def are_synced(self) -> bool:
        return all(cache.synced.is_set() for cache in self._caches.values())
