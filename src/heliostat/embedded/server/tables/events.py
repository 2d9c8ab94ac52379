"""The columns of Events: what happened to which object, when last and how often.

An Event is written in one of two forms, the core one and the one of ``events.k8s.io``; both are read here.
"""

from typing import Any

from heliostat.embedded.server.tables.columns import Column, Columns, computed, look, text, text_at
from heliostat.embedded.server.tables.durations import age
from heliostat.kube.jsontree import JsonObject


def _either(event: JsonObject, *paths: str) -> Any:
    """The first that says something."""
    return next((value for path in paths if (value := look(event, path))), None)


def _first_seen(event: JsonObject, now: float) -> str:
    return age(_either(event, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)


def _last_seen(event: JsonObject, now: float) -> str:
    if look(event, "series") is not None:
        return age(look(event, "series.lastObservedTime"), now)
    last = _either(event, "lastTimestamp", "deprecatedLastTimestamp")
    return age(last, now) if last else _first_seen(event, now)


def _count(event: JsonObject) -> int:
    if look(event, "series") is not None:
        return int(look(event, "series.count") or 0)
    return int(_either(event, "count", "deprecatedCount") or 1)


def _target(event: JsonObject) -> str:
    about = _either(event, "involvedObject", "regarding") or {}
    kind = str(about.get("kind") or "").lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _source(event: JsonObject) -> str:
    component = _either(event, "source.component", "deprecatedSource.component", "reportingComponent",
                        "reportingController")  # fmt: skip
    host = _either(event, "source.host", "deprecatedSource.host", "reportingInstance")
    return f"{component or ''}, {host}" if host else str(component or "")


EVENT_COLUMNS: Columns = (
    Column("Last Seen", _last_seen),
    text("Type", "type"),
    text("Reason", "reason"),
    computed("Object", _target),
    computed(
        "Subobject",
        lambda event: _either(event, "involvedObject.fieldPath", "regarding.fieldPath") or "",
        priority=1,
    ),
    computed("Source", _source, priority=1),
    computed("Message", lambda event: str(_either(event, "message", "note") or "").strip()),
    Column("First Seen", _first_seen, priority=1),
    computed("Count", _count, priority=1),
    Column("Name", text_at("metadata.name"), format="name", priority=1),
)
