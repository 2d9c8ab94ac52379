"""What the reconcilers of all kinds share: from a key to its plan, which changes requeue it, what is forgotten with it.

A kind adds how its view is put together from the caches (``observe``), and what else requeues it (``more_sources``); it
may remember something of its plans (``begin``). What is decided is decided by the kind's row. An object is reconciled
again when it or anything it controls changes (of some kinds: is gone), when something it looked for and did not find
appears, and when its last plan failed in a new way.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from heliostat.api.settings import Settings
from heliostat.kube.lookups import KindName
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Wait
from heliostat.operator.kinds import HEARD_WHEN_GONE, WholeObject
from heliostat.operator.scope import Scoped
from heliostat.operator.understanding import Understanding, metadata_of
from heliostat.operator.view import CachedObjects, Interests, when_gone
from heliostat.plan.because import Hold
from heliostat.plan.kind import UNKNOWN_POLL, Kind, Meaning
from heliostat.plan.situation import Situation, Viewed
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.reconciler import Signal, Source, Subject, its_controller, itself, signalled, subject_of

O = TypeVar("O", bound=Viewed)  # noqa: E741
D = TypeVar("D")
R = TypeVar("R")


class KindMemory(Protocol):
    """What the operator keeps in memory of the objects of a kind."""

    def ended(self, key: Key, outcome: Outcome) -> bool:
        """True: the status has something new to tell."""
        ...

    def forget(self, key: Key) -> None: ...


Mem = TypeVar("Mem", bound=KindMemory)


class KindReconciler(ABC, Generic[O, D, R, Mem]):
    """``items`` are the objects of the kind; ``around`` is everything else that its plans look up."""

    def __init__(
        self,
        kind: Kind[O, D, R],
        settings: Settings,
        items: Scoped[WholeObject],
        around: Mapping[KindName, Scoped[Any]],
        memory: Mem,
    ) -> None:
        self.items = items
        self.memory = memory
        self.interests = Interests()
        self.again = Signal()
        self.settings = settings
        self._kind = kind
        self._around = around
        self._understanding = Understanding(kind, settings)

    @abstractmethod
    def observe(self, key: Key, item: WholeObject, meaning: Meaning[D]) -> O:
        """What the caches, and whoever else is asked, show of this object."""

    def remember(self, _key: Key, _item: WholeObject, _observed: O, _meaning: Meaning[D]) -> R:
        """What is known of it beyond that; by default nothing."""
        return self._kind.remember(None)

    def begin(self, _key: Key, _item: WholeObject, _situation: Situation[O, D, R], plan: Plan) -> Plan:
        """The plan that is carried out, as it stands: whoever executes it changes nothing about it."""
        return plan

    def more_sources(self) -> Iterable[Source]:
        return ()

    def forget(self, key: Key) -> None:
        """The object is gone."""

    def objects_around(self, key: Key, uid: str) -> CachedObjects:
        return CachedObjects(key, uid, self._around, self.interests)

    def sources(self) -> Sequence[Source]:
        controller = its_controller(self._kind.resource.api_version, self._kind.resource.kind)
        sources = [Source(self.again, signalled), *(Source(cache, itself) for cache in self.items)]
        for kind, scoped in self._around.items():
            owner = when_gone(controller) if kind in HEARD_WHEN_GONE else controller
            awaiting = self.interests.awaiting(kind)
            sources += [Source(cache, keys_of) for cache in scoped for keys_of in (owner, awaiting)]
        return [*sources, *self.more_sources()]

    def subject(self, key: Key) -> Subject | None:
        item = self.items.get(key)
        if item is not None:
            return subject_of(item, self._kind.resource.api_version, self._kind.resource.kind)
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
            message = f"{self._kind.resource.kind}s cannot be seen any more: {cache.refused}"
            return Plan(waits=(Wait(Hold.NOT_KNOWN, message, "they can be read"),), wake_after=UNKNOWN_POLL)
        self.interests.forget(key)
        meaning = self._understanding.understand(item)
        if meaning.object is None and meaning.refusal is not None:
            return self._kind.plan_misfit(metadata_of(item), msgspec.json.decode(item.spec), meaning.refusal, now)
        observed = self.observe(key, item, meaning)
        remembered = self.remember(key, item, observed, meaning)
        situation = self._kind.situate(observed, meaning, remembered, self.settings, now)
        return self.begin(key, item, situation, self._kind.decide(situation))

    def after(self, key: Key, outcome: Outcome) -> None:
        if self.memory.ended(key, outcome):
            self.again.send(key)
