"""The wiring of event expiry: one key for each namespace that has Events.

A new Event is not due for an hour, so it wakes nobody who waits for an older one.
"""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.events_expiry.decision import plan_expiry
from heliostat.embedded.controllers.views.events import EVENTS, StoredEvent
from heliostat.embedded.controllers.views.namespaces import NAMESPACE, NAMESPACES
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, itself, subject_of


class EventExpiryReconciler:
    name = "event-expiry-controller"

    def __init__(self, caches: Caches) -> None:
        self._namespaces = caches.of(NAMESPACES)
        self._events = caches.of(EVENTS)
        self._waiting: set[str] = set()  # namespaces that are looked at again anyway

    def sources(self) -> Sequence[Source]:
        return (Source(self._namespaces, itself), Source(self._events, self._unless_waiting))

    def subject(self, key: Key) -> Subject | None:
        found = self._namespaces.get(key)
        return subject_of(found, NAMESPACE.api_version, NAMESPACE.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        plan = plan_expiry(self._events.in_namespace(key.name), now)
        if plan.wake_after is None:
            self._waiting.discard(key.name)
        else:
            self._waiting.add(key.name)
        return plan

    def _unless_waiting(self, before: StoredEvent | None, after: StoredEvent | None) -> Iterable[Key]:
        if before is not None or after is None or after.metadata.namespace in self._waiting:
            return ()
        return (Key("", after.metadata.namespace),)
