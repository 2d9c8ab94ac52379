"""What a controller is: which changes requeue which keys, and what to do about a key. The loop does the rest.

A reconciler reads caches and returns a plan; it writes nothing, awaits nothing and asks no clock. The loop calls
``plan`` only when the caches have seen everything that was written for the key before (freshness).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan, Ref

KeysOf: TypeAlias = Callable[[Any, Any], Iterable[Key]]  # (before, after): the keys that the change concerns


class Changes(Protocol):
    """What tells of changes: a cache, or a signal."""

    def subscribe(self, listener: Callable[[Any, Any], None]) -> None: ...


class Source(Struct, frozen=True):
    """These changes concern these keys."""

    changes: Changes
    keys_of: KeysOf


class Signal:
    """Keys to look at for a reason that no cache shows: a fact that became known, a graph that changed.

    What is sent before anybody listens is kept for the first who does.
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[Any, Any], None]] = []
        self._kept: dict[Key, None] = {}

    def subscribe(self, listener: Callable[[Any, Any], None]) -> None:
        self._listeners.append(listener)
        kept, self._kept = self._kept, {}
        for key in kept:
            listener(None, key)

    def send(self, key: Key) -> None:
        if not self._listeners:
            self._kept[key] = None
        for listener in self._listeners:
            listener(None, key)


def signalled(_before: None, key: Key) -> Iterable[Key]:
    """The key that a signal names."""
    return (key,)


class Subject(Struct, frozen=True):
    """The object that a key stands for: events are about it, and its writes are remembered under its UID."""

    ref: Ref
    uid: str
    resource_version: str = ""
    generation: int = 0  # another one: somebody wants something else, or wants it gone


class Reconciler(Protocol):
    """The caches come from ``Caches.of`` in the constructor."""

    @property
    def name(self) -> str: ...

    def sources(self) -> Sequence[Source]: ...

    def subject(self, key: Key) -> Subject | None:
        """None: there is no such object (any more); then ``plan`` is not called and the key is forgotten."""
        ...

    def plan(self, key: Key, now: float) -> Plan: ...


def itself(before: Object | None, after: Object | None) -> Iterable[Key]:
    """The changed object's own key."""
    item = after or before
    return (item.metadata.key,) if item is not None else ()


def its_controller(api_version: str, kind: str) -> KeysOf:
    """The key of the controller that a changed object names, before and after the change."""

    def keys_of(before: Object | None, after: Object | None) -> Iterable[Key]:
        keys = []
        for item in (before, after):
            owner = item.metadata.controller if item is not None else None
            if item is not None and owner is not None and owner.kind == kind and owner.api_version == api_version:
                keys.append(Key(item.metadata.namespace, owner.name))
        return dict.fromkeys(keys)

    return keys_of


def subject_of(item: Object, api_version: str, kind: str) -> Subject:
    metadata = item.metadata
    ref = Ref(api_version, kind, metadata.namespace, metadata.name)
    return Subject(ref, metadata.uid, metadata.resource_version, metadata.generation)
