"""What the reconcilers of all ray.io kinds share: which changes requeue a key, what is forgotten with an object.

A kind adds how it puts its view together (``plan_item``), and what else requeues it (``more_sources``). An object is
reconciled again when it or anything it controls changes (of some kinds: is gone), when something it looked for and did
not find appears, and when its last plan failed in a new way.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from heliostat.kube.lookups import KindName
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Wait
from heliostat.operator.kinds import HEARD_WHEN_GONE, WholeObject
from heliostat.operator.scope import Scoped
from heliostat.operator.understanding import Understanding
from heliostat.operator.view import CachedObjects, Interests, when_gone
from heliostat.plan.because import Hold
from heliostat.plan.raycluster.status_pacing import UNKNOWN_POLL
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.reconciler import Signal, Source, Subject, its_controller, itself, signalled, subject_of

M = TypeVar("M")


class KindMemory(Protocol):
    """What the operator keeps in memory of the objects of a kind."""

    def ended(self, key: Key, outcome: Outcome) -> bool:
        """True: the status has something new to tell."""
        ...

    def forget(self, key: Key) -> None: ...


Mem = TypeVar("Mem", bound=KindMemory)


class KindReconciler(ABC, Generic[M, Mem]):
    """``items`` are the objects of the kind; ``around`` is everything else that its plans look up."""

    def __init__(
        self,
        items: Scoped[WholeObject],
        around: Mapping[KindName, Scoped[Any]],
        understanding: Understanding[M],
        memory: Mem,
    ) -> None:
        self.items = items
        self.interests = Interests()
        self.again = Signal()
        self._around = around
        self._understanding = understanding
        self.memory = memory
        resources = {cache.kind.resource for cache in items}
        (self._resource,) = resources

    @abstractmethod
    def plan_item(self, key: Key, item: WholeObject, meaning: M, now: float) -> Plan:
        """One reconcile of this object."""

    def more_sources(self) -> Iterable[Source]:
        return ()

    def forget(self, key: Key) -> None:
        """The object is gone."""

    def objects_around(self, key: Key, uid: str) -> CachedObjects:
        return CachedObjects(key, uid, self._around, self.interests)

    def sources(self) -> Sequence[Source]:
        controller = its_controller(self._resource.api_version, self._resource.kind)
        sources = [Source(self.again, signalled), *(Source(cache, itself) for cache in self.items)]
        for kind, scoped in self._around.items():
            owner = when_gone(controller) if kind in HEARD_WHEN_GONE else controller
            awaiting = self.interests.awaiting(kind)
            sources += [Source(cache, keys_of) for cache in scoped for keys_of in (owner, awaiting)]
        return [*sources, *self.more_sources()]

    def subject(self, key: Key) -> Subject | None:
        item = self.items.get(key)
        if item is not None:
            return subject_of(item, self._resource.api_version, self._resource.kind)
        self.interests.forget(key)
        self._understanding.forget(key)
        self.memory.forget(key)
        self.forget(key)
        return None

    def plan(self, key: Key, now: float) -> Plan:
        item, cache = self.items.get(key), self.items.in_namespace(key.namespace)
        if item is None:
            return Plan()
        if cache.refused:
            message = f"{self._resource.kind}s cannot be seen any more: {cache.refused}"
            return Plan(waits=(Wait(Hold.NOT_KNOWN, message, "they can be read"),), wake_after=UNKNOWN_POLL)
        self.interests.forget(key)
        return self.plan_item(key, item, self._understanding.understand(item), now)

    def after(self, key: Key, outcome: Outcome) -> None:
        if self.memory.ended(key, outcome):
            self.again.send(key)
