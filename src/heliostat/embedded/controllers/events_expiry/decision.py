"""Which Events of a namespace are too old to keep: those last seen, or last written, more than an hour ago.

Rules: the latest of the times that an Event tells counts; one that tells none is as old as its creation; one without
any time is kept. At most so many go at once, the oldest first, and the next look is when the next one is due.
"""

from collections.abc import Iterable

from heliostat.embedded.controllers.views.events import EVENT, StoredEvent
from heliostat.kube.plan import Delete, Plan, Ref, Stage
from heliostat.kube.timestamps import moment_of

LIFETIME_SECONDS = 3600.0
MOST_AT_ONCE = 500
AT_MOST_EVERY_SECONDS = 1.0  # Events that are due soon go together


def plan_expiry(events: Iterable[StoredEvent], now: float) -> Plan:
    dated = [(seen, event) for event in events if (seen := last_seen(event)) is not None]
    dated.sort(key=lambda item: (item[0], item[1].metadata.name))
    due = [event for seen, event in dated if seen + LIFETIME_SECONDS <= now]
    deletes = tuple(_delete(event) for event in due[:MOST_AT_ONCE])
    later = dated[len(deletes) :]
    wake = max(later[0][0] + LIFETIME_SECONDS - now, AT_MOST_EVERY_SECONDS) if later else None
    return Plan((Stage("expired", deletes),) if deletes else (), wake_after=wake)


def last_seen(event: StoredEvent) -> float | None:
    series = event.series.last_observed_time if event.series is not None else None
    told = [moment for text in (series, event.last_timestamp, event.event_time) if (moment := moment_of(text))]
    return max(told) if told else moment_of(event.metadata.creation_timestamp)


def _delete(event: StoredEvent) -> Delete:
    """With its version: an Event that was just seen again is not the one that expired."""
    metadata = event.metadata
    ref = Ref(EVENT.api_version, EVENT.kind, metadata.namespace, metadata.name)
    return Delete(ref, metadata.uid, "it was last seen an hour ago", resource_version=metadata.resource_version)
