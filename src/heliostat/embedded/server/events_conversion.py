"""One Event, two APIs: kept as ``v1``, served also as ``events.k8s.io/v1`` with the newer names of its fields.

The names differ and nothing else: ``regarding`` is the involved object, ``note`` the message, and what the newer API
calls deprecated are the times, the count and the source of the older one.
"""

from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject

EVENTS = "events"
NEW_GROUP = "events.k8s.io"
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


def is_converted(resource: Resource) -> bool:
    return resource.storage_name == EVENTS and resource.group == NEW_GROUP


def to_served(tree: JsonObject, resource: Resource) -> JsonObject:
    """A kept object under the names of the API it is asked for by."""
    served = {_NEW_NAMES.get(key, key): value for key, value in tree.items()} if is_converted(resource) else dict(tree)
    served["apiVersion"] = resource.api_version
    return served


def to_stored(tree: JsonObject, resource: Resource) -> None:
    """A client's object into the kept form, in place."""
    if not is_converted(resource):
        return
    for name in [name for name in tree if name in _OLD_NAMES]:
        tree[_OLD_NAMES[name]] = tree.pop(name)
    tree["apiVersion"] = resource.storage_version
