"""Events as explanations read them: which warnings there are about an object, the newest first.

Both shapes of the API are read: ``v1`` (message, involvedObject, count) and ``events.k8s.io/v1`` (note, regarding,
series). An event about an object of the same name that has gone is not about this one: the UID decides.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject


class Warned(Struct, frozen=True):
    """One warning; ``moment`` is RFC 3339 text, empty when the event has no time."""

    reason: str
    message: str
    moment: str
    count: int = 1


class Warnings:
    """Those of a namespace, by the object they are about."""

    def __init__(self, events: Iterable[JsonObject] = ()) -> None:
        self._by_uid: dict[str, list[Warned]] = {}
        self._by_name: dict[tuple[str, str], list[Warned]] = {}
        for event in events:
            if event.get("type") == "Warning":
                self._add(event)
        for found in (*self._by_uid.values(), *self._by_name.values()):
            found.sort(key=lambda warned: warned.moment, reverse=True)

    def about(self, kind: str, name: str, uid: str) -> tuple[Warned, ...]:
        return tuple(self._by_uid.get(uid, []) or self._by_name.get((kind, name), []))

    def _add(self, event: JsonObject) -> None:
        about: dict[str, Any] = event.get("involvedObject") or event.get("regarding") or {}
        warned = _view(event)
        if about.get("uid"):
            self._by_uid.setdefault(str(about["uid"]), []).append(warned)
        else:
            self._by_name.setdefault((str(about.get("kind")), str(about.get("name"))), []).append(warned)


def _view(event: JsonObject) -> Warned:
    series = event.get("series") or {}
    count = series.get("count") or event.get("count") or event.get("deprecatedCount") or 1
    return Warned(
        reason=str(event.get("reason") or ""),
        message=str(event.get("message") or event.get("note") or ""),
        moment=_newest_moment(event, series),
        count=count if isinstance(count, int) else 1,
    )


def _newest_moment(event: JsonObject, series: JsonObject) -> str:
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp") or event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
        (event.get("metadata") or {}).get("creationTimestamp"),
    )
    return next((str(time) for time in times if time), "")
