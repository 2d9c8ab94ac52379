"""The objects around one reconciled object, looked up in the caches, and who is requeued when a missing one appears.

A kind that the server does not show us is unknown, never empty. A lookup that finds nothing, or an object with another
owner, is remembered: when an object of that name changes, the key is requeued.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from heliostat.kube.facts import UNKNOWN, Unknown
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.lookups import Found, KindName
from heliostat.kube.objects import Key, Metadata, Object
from heliostat.kube.owners import is_controlled_by
from heliostat.operator.kinds import RESOURCES, SecretWithData, WholeObject
from heliostat.operator.scope import Scoped
from heliostat.runtime.cache import Cache
from heliostat.runtime.reconciler import KeysOf


class Interests:
    """Which reconciled objects looked for an object that was not there, or not theirs."""

    def __init__(self) -> None:
        self._asking: dict[tuple[KindName, Key], set[Key]] = {}
        self._wanted: dict[Key, set[tuple[KindName, Key]]] = {}

    def note(self, asking: Key, kind: KindName, key: Key) -> None:
        self._asking.setdefault((kind, key), set()).add(asking)
        self._wanted.setdefault(asking, set()).add((kind, key))

    def forget(self, asking: Key) -> None:
        """Before it is reconciled again, or when it is gone."""
        for wanted in self._wanted.pop(asking, ()):
            others = self._asking[wanted]
            others.discard(asking)
            if not others:
                del self._asking[wanted]

    def wanting(self, kind: KindName, key: Key) -> list[Key]:
        return sorted(self._asking.get((kind, key), ()))

    def awaiting(self, kind: KindName) -> KeysOf:
        """The keys that a change of an object of this kind concerns because they looked for it."""

        def keys_of(before: Object | None, after: Object | None) -> Iterable[Key]:
            item = after or before
            return self.wanting(kind, item.metadata.key) if item is not None else ()

        return keys_of


def when_gone(keys_of: KeysOf) -> KeysOf:
    """The keys that a change concerns, if it took the object away; another one of its name is no consolation."""

    def keys_of_the_gone(before: Object | None, after: Object | None) -> Iterable[Key]:
        is_here = before is None or (after is not None and after.metadata.uid == before.metadata.uid)
        return () if is_here else keys_of(before, None)

    return keys_of_the_gone


class CachedObjects:
    """The view from one reconciled object, for the length of one plan."""

    def __init__(self, key: Key, uid: str, caches: Mapping[KindName, Scoped[Any]], interests: Interests) -> None:
        self._key = key
        self._uid = uid
        self._caches = caches
        self._interests = interests
        self._has_unknown = False
        # Decisions ask more than once, and a tree costs more than all of them.
        self._owned: dict[tuple[KindName, str], tuple[JsonObject, ...]] = {}
        self._found: dict[tuple[KindName, str], JsonObject | None] = {}

    @property
    def has_unknown(self) -> bool:
        return self._has_unknown

    def list_kind(self, kind: KindName) -> tuple[JsonObject, ...] | Unknown:
        cache = self._cache(kind)
        if isinstance(cache, Unknown):
            return cache
        return _trees(kind, cache.in_namespace(self._key.namespace))

    def list_owned(self, kind: KindName, uid: str) -> tuple[JsonObject, ...] | Unknown:
        known = self._owned.get((kind, uid))
        if known is not None:
            return known
        cache = self._cache(kind)
        if isinstance(cache, Unknown):
            return cache
        found = tuple(tree for tree in _trees(kind, cache.owned_by(uid)) if is_controlled_by(tree, uid))
        self._owned[kind, uid] = found
        return found

    def find(self, kind: KindName, name: str) -> Found:
        if (kind, name) in self._found:
            return self._found[kind, name]
        cache = self._cache(kind)
        if isinstance(cache, Unknown):
            return cache
        key = Key(self._key.namespace if RESOURCES[kind].is_namespaced else "", name)
        item = cache.get(key)
        tree = build_tree(kind, item) if item is not None else None
        if tree is None or not is_controlled_by(tree, self._uid):
            self._interests.note(self._key, kind, key)
        self._found[kind, name] = tree
        return tree

    def find_if_read(self, kind: KindName, name: str) -> JsonObject | None:
        """Nobody looks again because it is not known."""
        scoped = self._caches.get(kind)
        cache = scoped.in_namespace(self._key.namespace) if scoped is not None else None
        is_known = cache is not None and not cache.refused and cache.synced.is_set()
        found = self.find(kind, name) if is_known else None
        return None if isinstance(found, Unknown) else found

    def _cache(self, kind: KindName) -> Cache[Any] | Unknown:
        scoped = self._caches.get(kind)
        if scoped is None:
            return UNKNOWN
        cache = scoped.in_namespace(self._key.namespace)
        if cache.refused or not cache.synced.is_set():
            self._has_unknown = True
            return Unknown(cache.refused or f"{cache.kind} has not been listed yet")
        return cache


def _trees(kind: KindName, items: Iterable[Object]) -> tuple[JsonObject, ...]:
    by_name = sorted(items, key=lambda item: item.metadata.name)
    return tuple(build_tree(kind, item) for item in by_name)


def build_tree(kind: KindName, item: Object) -> JsonObject:
    """The object as a planner reads it; a new tree each time."""
    resource = RESOURCES[kind]
    tree = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": _metadata_tree(item.metadata),
    }
    if isinstance(item, WholeObject):
        tree["spec"] = msgspec.json.decode(item.spec)
        tree["status"] = msgspec.json.decode(item.status)
    elif isinstance(item, SecretWithData):
        tree["data"] = item.data
    return tree


def _metadata_tree(metadata: Metadata) -> JsonObject:
    """Lists are lists, as in every tree; the cache keeps tuples."""
    tree: JsonObject = msgspec.to_builtins(metadata)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in tree.items()}
