"""From what the loop wants of the API to calls: paths, queries and bodies. Pure.

A name that is empty or has a slash is refused here: as a path it would mean something else than that one object.
"""

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.errors import InvalidError
from heliostat.runtime.transport import JSON, JSON_PATCH, MERGE_PATCH, Call

# Servers that cannot leave out all but the metadata send whole objects, which read the same.
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class Selection(Struct, frozen=True):
    """Which objects of a resource, and how much of them."""

    resource: ResourceType
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False


def get_call(resource: ResourceType, namespace: str, name: str) -> Call:
    return Call(method="GET", path=path_of(resource, namespace, name))


def list_call(
    selection: Selection, *, limit: int = 0, continue_token: str = "", resource_version: str = "", match: str = ""
) -> Call:
    query = {
        **_selectors(selection),
        "limit": str(limit) if limit else "",
        "continue": continue_token,
        "resourceVersion": resource_version,
        "resourceVersionMatch": match,
    }
    accept = METADATA_LIST if selection.metadata_only else JSON
    return Call(method="GET", path=_collection(selection), query=_set(query), accept=accept)


def watch_call(selection: Selection, *, resource_version: str, initial_events: bool, timeout_seconds: int) -> Call:
    query = {
        **_selectors(selection),
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": resource_version,
        "timeoutSeconds": str(timeout_seconds),
        "sendInitialEvents": "true" if initial_events else "",
        "resourceVersionMatch": "NotOlderThan" if initial_events else "",
    }
    accept = METADATA if selection.metadata_only else JSON
    return Call(method="GET", path=_collection(selection), query=_set(query), accept=accept)


def create_call(resource: ResourceType, tree: JsonObject) -> Call:
    """Kinds that are a subresource of another object are posted there."""
    namespace, name = _place(tree)
    if resource.subresource:
        path = path_of(resource, namespace, name, resource.subresource)
    else:
        path = resource.collection_path(_checked_namespace(resource, namespace))
    return Call(method="POST", path=path, body=encode_json(tree))


def patch_call(resource: ResourceType, namespace: str, name: str, changes: JsonObject, subresource: str = "") -> Call:
    path = path_of(resource, namespace, name, subresource)
    return Call(method="PATCH", path=path, body=encode_json(changes), content_type=MERGE_PATCH)


def status_call(
    resource: ResourceType, namespace: str, name: str, *, uid: str, resource_version: str, status: JsonObject
) -> Call:
    """The whole status and nothing else, if the object is still the one it was decided from.

    A PUT to ``status`` would also replace the metadata of most built-in kinds: labels, finalizers, owners.
    """
    operations = [
        {"op": "add", "path": "/metadata/uid", "value": uid},
        {"op": "add", "path": "/metadata/resourceVersion", "value": resource_version},
        {"op": "add", "path": "/status", "value": status},
    ]
    path = path_of(resource, namespace, name, "status")
    return Call(method="PATCH", path=path, body=encode_json(operations), content_type=JSON_PATCH)


def replace_call(resource: ResourceType, tree: JsonObject, subresource: str = "") -> Call:
    return Call(method="PUT", path=path_of(resource, *_place(tree), subresource), body=encode_json(tree))


def delete_call(
    resource: ResourceType,
    namespace: str,
    name: str,
    *,
    uid: str,
    resource_version: str = "",
    propagation: str = "",
    grace_seconds: int | None = None,
) -> Call:
    if not uid:
        raise InvalidError(
            400, "BadRequest", f"a delete of {resource} {name!r} without a UID; name the one that is meant"
        )
    preconditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
    options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
    if propagation:
        options["propagationPolicy"] = propagation
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return Call(method="DELETE", path=path_of(resource, namespace, name), body=encode_json(options))


def path_of(resource: ResourceType, namespace: str, name: str, subresource: str = "") -> str:
    if not name or "/" in name or name in (".", ".."):
        raise InvalidError(400, "BadRequest", f"{name!r} is not the name of an object among {resource}; give its name")
    return resource.path(_checked_namespace(resource, namespace), name, subresource)


def _checked_namespace(resource: ResourceType, namespace: str) -> str:
    if resource.is_namespaced and (not namespace or "/" in namespace or namespace in (".", "..")):
        raise InvalidError(400, "BadRequest", f"{namespace!r} is not a namespace, and {resource} live in one; name it")
    return namespace


def _collection(selection: Selection) -> str:
    return selection.resource.collection_path(selection.namespace)


def _selectors(selection: Selection) -> dict[str, str]:
    return {"labelSelector": selection.label_selector, "fieldSelector": selection.field_selector}


def _set(query: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in query.items() if value)


def _place(tree: JsonObject) -> tuple[str, str]:
    metadata = tree.get("metadata") or {}
    return metadata.get("namespace", ""), metadata.get("name", "")
