"""Which part of an object a request may write, by the path it came through."""

from heliostat.embedded.kinds.narrow_doors import door_of
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject


def merge_doors(new: JsonObject, old: JsonObject, resource: Resource, subresource: str) -> JsonObject:
    """Through the main door the status stays; through the status door everything else does."""
    door = door_of(resource.storage_name, subresource) if subresource else None
    if door is not None:
        return door(new, old)
    if not resource.has_status:
        return new
    if subresource == "status":
        return _merge_status(new, old, is_custom=resource.is_custom)
    if "status" in old:
        return {**new, "status": old["status"]}
    return {key: value for key, value in new.items() if key != "status"}


def _merge_status(new: JsonObject, old: JsonObject, *, is_custom: bool) -> JsonObject:
    merged = {**old, "status": new.get("status")}
    if merged["status"] is None:
        del merged["status"]
    if not is_custom:
        merged["metadata"] = new["metadata"]
    elif "managedFields" in new["metadata"]:
        merged["metadata"] = {**old["metadata"], "managedFields": new["metadata"]["managedFields"]}
    return merged
