"""Orphans by namespace: objects without a controller, which somebody whose selector matches may adopt.

And the other way round: which owners a changed orphan may concern.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from heliostat.kube.objects import Key, Object
from heliostat.kube.selectors import Selector
from heliostat.runtime.cache import Cache, Index
from heliostat.runtime.reconciler import KeysOf

T = TypeVar("T", bound=Object)


def add_orphan_index(cache: Cache[T]) -> Index[T]:
    """By namespace."""
    return cache.add_index(lambda item: () if item.metadata.controller is not None else (item.metadata.namespace,))


def owners_selecting(owners: Cache[T], selector_of: Callable[[T], Selector]) -> KeysOf:
    """The owners that select a changed orphan, if its labels or its controller changed."""

    def keys_of(before: Object | None, after: Object | None) -> Iterable[Key]:
        if after is None or after.metadata.controller is not None or _is_same(before, after):
            return ()
        labels = after.metadata.labels
        return [
            owner.metadata.key
            for owner in owners.in_namespace(after.metadata.namespace)
            if selector_of(owner).matches(labels)
        ]

    return keys_of


def _is_same(before: Object | None, after: Object) -> bool:
    if before is None or before.metadata.is_terminating != after.metadata.is_terminating:
        return False
    return before.metadata.labels == after.metadata.labels and before.metadata.controller == after.metadata.controller


def either(*sources: KeysOf) -> KeysOf:
    """The keys of all of them, each once."""

    def keys_of(before: Any, after: Any) -> Iterable[Key]:
        return dict.fromkeys(key for source in sources for key in source(before, after))

    return keys_of
