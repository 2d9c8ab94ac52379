"""One Event, two APIs: kept as ``v1``, served also as ``events.k8s.io/v1`` with the newer names of its fields.

The names differ and nothing else: ``regarding`` is the involved object, ``note`` the message, and what the newer API
calls deprecated are the times, the count and the source of the older one.
"""

from heliostat.kube.jsontree import JsonObject

EVENTS = "events"
_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}
_LEFT_OUT_EMPTY = ("reportingController", "reportingInstance")


def to_new_event(tree: JsonObject) -> JsonObject:
    served = {_NEW_NAMES.get(key, key): value for key, value in tree.items()}
    return {key: value for key, value in served.items() if value or key not in _LEFT_OUT_EMPTY}


def to_old_event(tree: JsonObject) -> JsonObject:
    return {_OLD_NAMES.get(key, key): value for key, value in tree.items()}
