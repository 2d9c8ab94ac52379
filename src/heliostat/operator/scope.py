"""The namespaces that the operator watches: all of them with one watch of each kind, or some with a watch each."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from msgspec.structs import replace

from heliostat.kube.objects import Key, Object
from heliostat.runtime.cache import Cache, CachedKind
from heliostat.runtime.caches import Caches

T = TypeVar("T", bound=Object)


class Scoped(Generic[T]):
    """The caches of one kind, one for each watched namespace or one for all."""

    def __init__(self, caches: Iterable[Cache[T]]) -> None:
        self._by_namespace = {cache.kind.namespace: cache for cache in caches}
        self._of_all = self._by_namespace.get("")

    def __iter__(self) -> Iterator[Cache[T]]:
        return iter(self._by_namespace.values())

    def in_namespace(self, namespace: str) -> Cache[T]:
        """Raises KeyError for a namespace that is not watched; no key of such a one ever comes up."""
        return self._of_all if self._of_all is not None else self._by_namespace[namespace]

    def get(self, key: Key) -> T | None:
        return self.in_namespace(key.namespace).get(key)


def cache_needed(caches: Caches, kind: CachedKind[T], namespaces: Iterable[str]) -> Scoped[T]:
    """Required caches: nothing is decided before they are synced, nor while the server refuses to show them."""
    return Scoped(caches.questioned(each) for each in _narrowed(kind, namespaces))


def cache_dispensable(caches: Caches, kind: CachedKind[T], namespaces: Iterable[str]) -> Scoped[T]:
    """Optional caches: their objects count as unknown as long as the server does not show them."""
    return Scoped(caches.dispensable(each) for each in _narrowed(kind, namespaces))


def _narrowed(kind: CachedKind[T], namespaces: Iterable[str]) -> Iterator[CachedKind[T]]:
    return (replace(kind, namespace=namespace) for namespace in tuple(namespaces) or ("",))
