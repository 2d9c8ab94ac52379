"""Events: when they were last seen."""

from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

EVENT = ResourceType("v1", "Event", "events")


class Series(Struct, frozen=True, rename="camel"):
    last_observed_time: str | None = None


class StoredEvent(Object, frozen=True, rename="camel"):
    series: Series | None = None
    last_timestamp: str | None = None
    event_time: str | None = None


EVENTS: CachedKind[StoredEvent] = CachedKind(EVENT, StoredEvent)
