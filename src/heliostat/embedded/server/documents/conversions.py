"""A kind that several APIs serve is kept once: from the kept form to the one that is asked for, and back."""

from heliostat.embedded.server.documents.autoscaler_conversion import AUTOSCALERS, to_v1, to_v2
from heliostat.embedded.server.documents.events_conversion import EVENTS, to_new_event, to_old_event
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject

_SERVED = {EVENTS: to_new_event, AUTOSCALERS: to_v1}
_STORED = {EVENTS: to_old_event, AUTOSCALERS: to_v2}


def is_converted(resource: Resource) -> bool:
    return resource.storage_name in _SERVED and resource.storage_version != resource.api_version


def to_served(tree: JsonObject, resource: Resource) -> JsonObject:
    """A kept object in the form of the API it is asked for by; versions of custom resources differ by name alone."""
    served = _SERVED[resource.storage_name](tree) if is_converted(resource) else dict(tree)
    served["apiVersion"] = resource.api_version
    return served


def to_stored(tree: JsonObject, resource: Resource) -> None:
    """A client's object into the kept form, in place."""
    if not is_converted(resource):
        return
    stored = _STORED[resource.storage_name](tree)
    tree.clear()
    tree |= stored
    tree["apiVersion"] = resource.storage_version
