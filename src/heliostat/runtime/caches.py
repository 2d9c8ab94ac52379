"""All caches of one program (shared informers): each declared kind once, however many controllers ask for it.

Optional caches (``dispensable``): if one cannot be filled, work starts anyway and its objects count as unknown.
"""

from collections.abc import Iterator
from typing import Any, TypeVar, cast

from heliostat.kube.objects import Object
from heliostat.runtime.cache import Cache, CachedKind

T = TypeVar("T", bound=Object)


class Caches:
    def __init__(self) -> None:
        self._caches: dict[CachedKind[Any], Cache[Any]] = {}
        self._dispensable: set[CachedKind[Any]] = set()
        self._questioned: set[CachedKind[Any]] = set()

    def of(self, kind: CachedKind[T]) -> Cache[T]:
        """The cache of this kind, made when first asked for."""
        found = self._caches.get(kind)
        if found is None:
            found = self._caches[kind] = Cache(kind)
        return cast("Cache[T]", found)

    def questioned(self, kind: CachedKind[T]) -> Cache[T]:
        """The same, for readers that cannot begin without it, and ask ``refused`` each time before they believe it."""
        self._questioned.add(kind)
        return self.of(kind)

    def dispensable(self, kind: CachedKind[T]) -> Cache[T]:
        """An optional cache: its readers ask ``refused`` and ``synced`` before they believe it."""
        self._dispensable.add(kind)
        return self.questioned(kind)

    def is_unknown(self, cache: Cache[Any]) -> bool:
        """Whether nobody believes it now: the server does not show it, and all who read it know that."""
        return bool(cache.refused) and cache.kind in self._questioned

    def is_dispensable(self, kind: CachedKind[Any]) -> bool:
        return kind in self._dispensable

    async def wait(self) -> None:
        """Until every cache is synced; an optional one may also have been refused."""
        for cache in list(self._caches.values()):
            await (cache.answered if self.is_dispensable(cache.kind) else cache.synced).wait()

    def needed(self) -> tuple[Cache[Any], ...]:
        return tuple(cache for kind, cache in self._caches.items() if kind not in self._dispensable)

    def __iter__(self) -> Iterator[Cache[Any]]:
        return iter(self._caches.values())

    def drop(self, kind: CachedKind[T]) -> None:
        self._caches.pop(kind, None)
        self._dispensable.discard(kind)
        self._questioned.discard(kind)
