"""Events: the loose rules of the old API, and the strict ones for whoever writes through ``events.k8s.io``.

Both judge the one stored form (``v1``); only some field names in messages follow the API that was used.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import changed, each_invalid, invalid, required
from heliostat.embedded.kinds.rules.name_rules import dns1123_subdomain_problems, label_key_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_ELSEWHERE = "does not match event.namespace"
_LONGEST = 128
_LONGEST_NOTE = 1024
_KEPT = (
    ("involvedObject", "involvedObject"), ("reason", "reason"), ("message", "message"), ("source", "source"),
    ("firstTimestamp", "firstTimestamp"), ("lastTimestamp", "lastTimestamp"), ("count", "count"), ("type", "type"),
    ("eventTime", "eventTime"), ("action", "action"), ("related", "related"),
    ("reportingComponent", "reportingController"), ("reportingInstance", "reportingInstance"),
)  # fmt: skip


def event_causes(tree: JsonObject, *, is_strict: bool = False) -> Iterator[Cause]:
    metadata, about = tree["metadata"], tree.get("involvedObject") or {}
    namespace, subject = metadata.get("namespace", ""), about.get("namespace", "")
    if not tree.get("eventTime"):
        allowed = (namespace,) if subject else ("", "default")
        if (subject or namespace) not in allowed:
            yield invalid("involvedObject.namespace", subject, _ELSEWHERE)
    else:
        if not subject and namespace not in ("default", "kube-system"):
            yield invalid("involvedObject.namespace", subject, _ELSEWHERE)
        yield from _new_style_causes(tree, "reportingController" if is_strict else "reportingComponent")
    yield from each_invalid("namespace", namespace, dns1123_subdomain_problems(namespace))
    if is_strict:
        yield from _strict_causes(tree)


def _new_style_causes(tree: JsonObject, controller_field: str) -> Iterator[Cause]:
    controller = tree.get("reportingComponent", "")
    if not controller:
        yield required(controller_field)
    yield from each_invalid(controller_field, controller, label_key_problems(controller))
    for name in ("reportingInstance", "action", "reason"):
        text = tree.get(name, "")
        if not text:
            yield required(name)
        if len(text) > _LONGEST:
            yield invalid(name, "", f"can have at most {_LONGEST} characters")
    if len(tree.get("message", "")) > _LONGEST_NOTE:
        yield invalid("message", "", f"can have at most {_LONGEST_NOTE} characters")


def _strict_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _series_causes(tree)
    if not tree.get("eventTime"):
        yield required("eventTime")
    if tree.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {tree.get('type', '')}")
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if tree.get(name):
            yield invalid(name, "", "needs to be unset")


def _series_causes(tree: JsonObject) -> Iterator[Cause]:
    series = tree.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def changed_event_causes(tree: JsonObject, old: JsonObject, *, is_strict: bool = False) -> Iterator[Cause]:
    yield from event_causes(tree)
    if not is_strict:
        return
    if tree.get("series") != old.get("series"):
        yield from _series_causes(tree)
    for stored, shown in _KEPT:
        yield from changed(shown, tree.get(stored), old.get(stored))
