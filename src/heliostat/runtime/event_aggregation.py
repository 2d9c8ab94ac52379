"""Which events are worth telling: the first of a kind at once, repetitions as a count now and then, floods not at all.

Rules: events are the same when subject, type, reason, action, note and controller are; the same one again within
``series_seconds`` of the last time belongs to its series, whose count is written at most every ``refresh_seconds``, so
a plan that repeats itself is told once; each subject has a bucket of new events for each reason that refills slowly, so
a hundred Pods that came up do not silence the one that could not. Everything here is bounded, and nothing here knows a
clock or the API.

Events are written in the form of ``v1``, with what both forms have: people sort by ``lastTimestamp``, which only this
one may say, and newer readers find ``eventTime`` and ``series``. Differs from KubeRay: event-form.
"""

import hashlib
import re
from typing import TypeAlias

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Event, Ref
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.timestamps import format_micro_timestamp, format_timestamp
from heliostat.runtime.reconciler import Subject

EVENT = ResourceType("v1", "Event", "events")

_LONGEST_NOTE = 1024  # bytes
_LONGEST_WORD = 128
_LONGEST_NAME = 253
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


class EventSettings(Struct, frozen=True, kw_only=True):
    series_seconds: float = 360.0
    refresh_seconds: float = 60.0
    burst: int = 25  # new events about one subject for one reason at once
    refill_seconds: float = 300.0  # until it may have one more
    most_series: int = 4096  # remembered; the one not seen for longest is forgotten
    most_waiting: int = 1000  # to be written


class Moment(Struct, frozen=True):
    monotonic: float  # for waiting
    epoch: float  # for people


class Series:
    """One event and how often it happened."""

    def __init__(self, controller: str, subject: Subject, event: Event, first: Moment) -> None:
        self.controller = controller
        self.subject = subject
        self.event = event
        self.first = first
        self.last = first
        self.count = 1
        self.told = 0  # the count that the API server knows; 0: it knows nothing of it
        self.told_at = first.monotonic
        self.is_waiting = True  # to be written


Identity: TypeAlias = tuple[str, str, str, Event]
Bucket: TypeAlias = tuple[str, str, str, str]


class EventBook:
    def __init__(self, settings: EventSettings) -> None:
        self._settings = settings
        self._series: dict[Identity, Series] = {}  # the one seen last comes last
        self._buckets: dict[Bucket, tuple[float, float]] = {}  # tokens, and when they were counted

    def __len__(self) -> int:
        return len(self._series)

    def note(self, controller: str, subject: Subject, event: Event, now: Moment) -> Series | None:
        """It happened. Returns its series, to be told now if it is waiting and new; None: the subject has too many."""
        identity = (controller, str(subject.ref), subject.uid, event)
        series = self._series.pop(identity, None)
        if series is not None and now.monotonic - series.last.monotonic < self._settings.series_seconds:
            series.count += 1
            series.last = now
        elif self._take_token((controller, subject.uid or str(subject.ref), event.type, event.reason), now.monotonic):
            series = Series(controller, subject, event, now)
        else:
            return None
        self._series[identity] = series
        if len(self._series) > self._settings.most_series:
            del self._series[next(iter(self._series))]
        return series

    def forget(self, series: Series) -> None:
        """It could not be told: the next time is a first time."""
        identity = (series.controller, str(series.subject.ref), series.subject.uid, series.event)
        if self._series.get(identity) is series:
            del self._series[identity]

    def due(self, now: float, *, is_last_chance: bool = False) -> list[Series]:
        """Those whose count should be written; those that ended long ago are forgotten."""
        for identity, series in list(self._series.items()):
            ended = now - series.last.monotonic >= self._settings.series_seconds
            if ended and series.told == series.count:
                del self._series[identity]
        return [series for series in self._series.values() if self._is_due(series, now, is_last_chance)]

    def _is_due(self, series: Series, now: float, is_last_chance: bool) -> bool:
        if series.is_waiting or series.count == series.told:
            return False
        return is_last_chance or now - series.told_at >= self._settings.refresh_seconds

    def _take_token(self, bucket: Bucket, now: float) -> bool:
        settings = self._settings
        tokens, counted_at = self._buckets.pop(bucket, (float(settings.burst), now))
        tokens = min(settings.burst, tokens + (now - counted_at) / settings.refill_seconds)
        has_one = tokens >= 1
        self._buckets[bucket] = (tokens - has_one, now)
        if len(self._buckets) > settings.most_series:
            del self._buckets[next(iter(self._buckets))]
        return has_one


def build_event(series: Series, instance: str) -> JsonObject:
    event, subject = series.event, series.subject
    tree: JsonObject = {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"namespace": namespace_of(series), "name": name_of(series)},
        "eventTime": format_micro_timestamp(series.first.epoch),
        "firstTimestamp": format_timestamp(series.first.epoch),
        "lastTimestamp": format_timestamp(series.last.epoch),
        "count": series.count,
        "type": event.type,
        "reason": event.reason[:_LONGEST_WORD],
        "action": (event.action or event.reason)[:_LONGEST_WORD],
        "message": _cut(event.note),
        "involvedObject": _reference(subject.ref, subject.uid, subject.resource_version),
        "source": {"component": series.controller},
        "reportingComponent": series.controller,
        "reportingInstance": instance[:_LONGEST_WORD],
    }
    if (other := event.related) is not None:
        tree["related"] = _reference(other.ref, other.uid, other.resource_version)
    return {**tree, **build_series(series)} if series.count > 1 else tree


def _reference(ref: Ref, uid: str, resource_version: str) -> JsonObject:
    parts = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": uid,
        "resourceVersion": resource_version,
    }
    return {name: text for name, text in parts.items() if text}


def build_series(series: Series) -> JsonObject:
    """What changes when it happens again."""
    return {
        "count": series.count,
        "lastTimestamp": format_timestamp(series.last.epoch),
        "series": {"count": series.count, "lastObservedTime": format_micro_timestamp(series.last.epoch)},
    }


def namespace_of(series: Series) -> str:
    return series.subject.ref.namespace or "default"


def name_of(series: Series) -> str:
    """Derived, so that a create that is sent twice collides with itself."""
    event, ref = series.event, series.subject.ref
    facts = (series.subject.uid, series.controller, event.type, event.reason, event.action, event.note)
    text = "\0".join((*facts, format_micro_timestamp(series.first.epoch)))
    digest = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]
    stem = ref.name[: _LONGEST_NAME - len(digest) - 1].rstrip(".-")
    return f"{stem if _SUBDOMAIN.fullmatch(stem) else ref.kind.lower()}.{digest}"


def _cut(note: str) -> str:
    whole = note.encode(errors="backslashreplace")
    return whole.decode() if len(whole) <= _LONGEST_NOTE else whole[: _LONGEST_NOTE - 3].decode(errors="ignore") + "..."
