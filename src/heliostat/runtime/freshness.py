"""No decision on a stale cache: a key is not reconciled before the cache shows our own last writes for its object.

Rules, each keyed by the controller and the UID of the object decided on: a create or an update is seen when the cache
has passed its resourceVersion; a delete when the UID is gone or terminating; an ambiguous write when a read after it
has told what became of it. Never by time alone. A server whose history went back (a restored backup) has forgotten the
write. A cache that the server does not let us fill any more counts as unknown, so nobody waits for it; once it is back,
it has to show the write as well.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.kube.objects import Key, Metadata
from heliostat.kube.plan import Ref
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.selector_text import parse_selector
from heliostat.runtime.cache import Cache
from heliostat.runtime.caches import Caches

_parse_once = lru_cache(maxsize=256)(parse_selector)  # asked with every write, and there are only so many caches


class InvisibleWriteError(Exception):
    """A bug: what was written does not match the selector of the cache that should show it."""


class PassedRevision(Struct, frozen=True):
    """Until the view is as new as what we wrote."""

    cache: Cache[Any]
    revision: int
    history: int

    def is_met(self) -> bool:
        return self.cache.revision >= self.revision or self.cache.histories != self.history

    def __str__(self) -> str:
        return f"{self.cache.kind} at {self.cache.revision}, written at {self.revision}"


class GoneOrGoing(Struct, frozen=True):
    """Until the view shows that the UID is gone or asked to go."""

    cache: Cache[Any]
    key: Key
    uid: str

    def is_met(self) -> bool:
        item = self.cache.get(self.key)
        return item is None or item.metadata.uid != self.uid or item.metadata.is_terminating

    def __str__(self) -> str:
        return f"{self.cache.kind} still shows {self.key}, which was deleted"


class Gone(Struct, frozen=True):
    """Until the view shows that the UID is gone: the server has said so, and that it was going is old news."""

    cache: Cache[Any]
    key: Key
    uid: str

    def is_met(self) -> bool:
        item = self.cache.get(self.key)
        return item is None or item.metadata.uid != self.uid

    def __str__(self) -> str:
        return f"{self.cache.kind} still shows {self.key}, which is gone"


class Until(Struct, frozen=True):
    """Until something else that only the view can show."""

    test: Callable[[], bool]
    why: str

    def is_met(self) -> bool:
        return self.test()

    def __str__(self) -> str:
        return self.why


Need: TypeAlias = PassedRevision | GoneOrGoing | Gone | Until


class Unsettled(Struct, frozen=True):
    """A write of which nobody knows whether it was carried out. It may land until ``lands_before`` (loop time)."""

    ref: Ref
    uid: str  # that it named; empty for a create
    lands_before: float
    is_end: bool = False  # a delete: that the object is going is all there is to see


class Freshness:
    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._needs: dict[str, list[Need]] = {}
        self._unsettled: dict[str, list[Unsettled]] = {}

    def wrote(self, subject: str, resource: ResourceType, metadata: Metadata) -> None:
        for cache in self._covering(resource, metadata):
            self._add(subject, PassedRevision(cache, metadata.revision, cache.histories))

    def deleted(self, subject: str, resource: ResourceType, key: Key, uid: str) -> None:
        for cache in self._of(resource):
            self._add(subject, GoneOrGoing(cache, key, uid))

    def gone(self, subject: str, resource: ResourceType, key: Key, uid: str) -> None:
        for cache in self._of(resource):
            self._add(subject, Gone(cache, key, uid))

    def until(self, subject: str, test: Callable[[], bool], why: str) -> None:
        self._add(subject, Until(test, why))

    def doubt(self, subject: str, unsettled: Unsettled) -> None:
        self._unsettled.setdefault(subject, []).append(unsettled)

    def unsettled(self, subject: str) -> tuple[Unsettled, ...]:
        return tuple(self._unsettled.get(subject, ()))

    def settled(self, subject: str, unsettled: Unsettled) -> None:
        left = [item for item in self._unsettled.get(subject, ()) if item is not unsettled]
        if left:
            self._unsettled[subject] = left
        else:
            self._unsettled.pop(subject, None)

    def missing(self, subject: str) -> Need | None:
        """What the view has not shown yet; None: decide."""
        needs = [need for need in self._needs.get(subject, ()) if not need.is_met()]
        if not needs:
            self._needs.pop(subject, None)
            return None
        self._needs[subject] = needs
        return next((need for need in needs if not self._is_lost(need)), None)

    def _is_lost(self, need: Need) -> bool:
        return not isinstance(need, Until) and self._caches.is_unknown(need.cache)

    def forget(self, subject: str) -> None:
        self._needs.pop(subject, None)
        self._unsettled.pop(subject, None)

    def _add(self, subject: str, need: Need) -> None:
        if not need.is_met():
            self._needs.setdefault(subject, []).append(need)

    def _of(self, resource: ResourceType) -> Iterator[Cache[Any]]:
        return (cache for cache in self._caches if cache.kind.resource == resource)

    def _covering(self, resource: ResourceType, metadata: Metadata) -> list[Cache[Any]]:
        """The caches whose watch shows this object. Kinds that nobody caches need no waiting."""
        caches = list(self._of(resource))
        covering = [cache for cache in caches if _shows(cache, metadata)]
        if caches and not covering:
            raise InvisibleWriteError(f"no cache of {resource} would show {metadata.key}: it lacks what they select")
        return covering


def _shows(cache: Cache[Any], metadata: Metadata) -> bool:
    kind = cache.kind
    if kind.namespace and kind.namespace != metadata.namespace:
        return False
    return not kind.label_selector or _parse_once(kind.label_selector).matches(metadata.labels)
