"""The cache of one resource (an informer's store): the objects of its watch, slim, with one writer and many readers.

Rules: only the ``CacheWriter`` changes it, between two reads of anybody (one thread, no await inside); a relist
replaces everything at once, and listeners hear the difference; ``revision`` is how far the view is: everything the
server wrote up to it is here. Objects are frozen, so nobody can change the cache by accident.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from heliostat.kube.objects import Key, Metadata, Object
from heliostat.kube.resource_types import ResourceType

T = TypeVar("T", bound=Object)

IndexKeys: TypeAlias = Callable[[T], Collection[str]]
Changed: TypeAlias = Callable[[T | None, T | None], None]  # before, after


class Unreadable(Struct, frozen=True):
    """An object of another shape than the one decided on; of its metadata at least we can be sure."""

    metadata: Metadata
    problem: str


class CachedKind(Struct, Generic[T], frozen=True):
    """What to watch and what to keep of it. Equal ones share a cache."""

    resource: ResourceType
    shape: type[T]
    label_selector: str = ""
    field_selector: str = ""
    namespace: str = ""
    metadata_only: bool = False  # the server sends nothing else

    def __str__(self) -> str:
        narrowed = ",".join(part for part in (self.namespace, self.label_selector, self.field_selector) if part)
        return f"{self.resource}[{narrowed}]" if narrowed else str(self.resource)


class Index(Generic[T]):
    """Objects by a value computed from them."""

    def __init__(self, keys_of: IndexKeys[T]) -> None:
        self.keys_of = keys_of
        self._found: dict[str, dict[Key, T]] = {}

    def at(self, value: str) -> list[T]:
        return list(self._found.get(value, {}).values())

    def has(self, value: str) -> bool:
        return value in self._found

    def values(self) -> Iterator[str]:
        return iter(self._found)

    def tables(self) -> list[dict[Any, Any]]:
        return [self._found, *self._found.values()]

    def change(self, key: Key, before: T | None, after: T | None) -> None:
        old = self.keys_of(before) if before is not None else ()
        new = self.keys_of(after) if after is not None else ()
        for value in old:
            if value not in new:
                self._drop(value, key)
        if after is not None:
            for value in new:
                self._found.setdefault(value, {})[key] = after

    def _drop(self, value: str, key: Key) -> None:
        entries = self._found.get(value)
        if entries is not None:
            entries.pop(key, None)
            if not entries:
                del self._found[value]


def _owner_uids(item: Object) -> Collection[str]:
    return [owner.uid for owner in item.metadata.owner_references]


def _namespace(item: Object) -> Collection[str]:
    return (item.metadata.namespace,)


class Cache(Generic[T]):
    """The readers' side."""

    def __init__(self, kind: CachedKind[T]) -> None:
        self.kind = kind
        self.revision = 0
        self.synced = asyncio.Event()  # the first list is complete
        self.answered = asyncio.Event()  # the first list is complete, or the server said that there is none to be had
        self.refused = ""  # why the server gives us no view, in its words: what is here may be old
        self.unreadable: dict[Key, Unreadable] = {}  # what is there and cannot be read: not the same as not there
        self.is_going_back = False  # while such a list is taken over: what it does not have may never have been gone
        self.histories = 1  # how many histories of the server we have lived through; a restored backup begins another
        self._items: dict[Key, T] = {}
        self._by_owner: Index[T] = Index(_owner_uids)
        self._by_namespace: Index[T] = Index(_namespace)
        self._indexes: list[Index[T]] = [self._by_owner, self._by_namespace]
        self._listeners: list[Changed[T]] = []

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._items.values()))

    def get(self, key: Key) -> T | None:
        return self._items.get(key)

    def owned_by(self, uid: str) -> list[T]:
        """Those that name this UID among their owners, controller or not."""
        return self._by_owner.at(uid)

    def in_namespace(self, namespace: str) -> list[T]:
        return self._by_namespace.at(namespace)

    def add_index(self, keys_of: IndexKeys[T]) -> Index[T]:
        """Whoever asks with the same function shares an index."""
        known = next((index for index in self._indexes if index.keys_of is keys_of), None)
        if known is not None:
            return known
        index = Index(keys_of)
        for key, item in self._items.items():
            index.change(key, None, item)
        self._indexes.append(index)
        return index

    def subscribe(self, listener: Changed[T]) -> None:
        """Hear of every change, with the object before and after; what is there already comes at once."""
        self._listeners.append(listener)
        for item in list(self._items.values()):
            listener(None, item)

    def change(self, key: Key, after: T | None) -> None:
        """For the writer alone."""
        before = self._items.get(key)
        if after is None:
            self._items.pop(key, None)
        else:
            self._items[key] = after
        if before is None and after is None:
            return
        for index in self._indexes:
            index.change(key, before, after)
        for listener in self._listeners:
            listener(before, after)

    def tables(self) -> list[dict[Any, Any]]:
        """All that holds the objects together, to be weighed and not to be read. Any thread may ask."""
        return [self._items, *(table for index in tuple(self._indexes) for table in index.tables())]

    def known_keys(self) -> list[Key]:
        return list(self._items)


class CacheWriter(Generic[T]):
    """The one that changes a cache: the reflector that watches for it."""

    def __init__(self, cache: Cache[T]) -> None:
        self._cache = cache

    def replace(self, items: Iterable[T], revision: int, *, went_back: bool = False) -> None:
        """A whole list took the place of everything; what it does not have is gone."""
        if went_back:
            self._cache.histories += 1
        self._cache.is_going_back = went_back
        fresh = {item.metadata.key: item for item in items}
        self._cache.unreadable.clear()
        self._advance(revision)
        for key in self._cache.known_keys():
            if key not in fresh:
                self._cache.change(key, None)
        for key, item in fresh.items():
            known = self._cache.get(key)
            if known is None or known.metadata.resource_version != item.metadata.resource_version:
                self._cache.change(key, item)
        self._cache.is_going_back = False
        self._cache.refused = ""
        self._cache.synced.set()
        self._cache.answered.set()

    def refuse(self, why: str) -> None:
        """The server answered that it does not show this: the resource is not served, or we may not see it."""
        self._cache.refused = why
        self._cache.answered.set()

    def accept(self) -> None:
        """The server shows it again, from where it had stopped: a list is not needed for that, nor a change."""
        self._cache.refused = ""

    def put(self, item: T) -> None:
        self._advance(item.metadata.revision)
        self._cache.unreadable.pop(item.metadata.key, None)
        self._cache.change(item.metadata.key, item)

    def remove(self, item: Object) -> None:
        """``item`` is the last state, and its resourceVersion that of the deletion."""
        self._advance(item.metadata.revision)
        self._cache.unreadable.pop(item.metadata.key, None)
        self._cache.change(item.metadata.key, None)

    def mark(self, found: Unreadable) -> None:
        """It must not be decided on, and neither must its absence."""
        key = found.metadata.key
        self._cache.unreadable[key] = found
        self._cache.change(key, None)

    def progress(self, revision: int) -> None:
        """A bookmark: nothing changed up to here that was not told."""
        self._advance(revision)

    def _advance(self, revision: int) -> None:
        self._cache.revision = revision
        self._cache.refused = ""
