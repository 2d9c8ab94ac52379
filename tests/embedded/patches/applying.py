"""Endpoints to apply to, and short ways to apply and to look at who owns what."""

from typing import Any

from heliostat.embedded.server.patches.apply.reset_fields import writable_fields
from heliostat.embedded.server.patches.apply.shapes import Types, custom_types
from heliostat.embedded.server.patches.apply.tracking import apply_patch, track_update
from heliostat.embedded.server.patches.apply.versions import Endpoint
from heliostat.kube.jsontree import JsonObject

NOW = "2026-01-31T12:00:00Z"
LATER = "2026-01-31T12:00:05Z"

ROW: JsonObject = {
    "type": "object",
    "required": ["k"],
    "properties": {
        "k": {"type": "string"},
        "p": {"type": "integer", "default": 1},
        "v": {"type": "string"},
        "w": {"type": "string"},
    },
}
SPEC: dict[str, JsonObject] = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "either": {"x-kubernetes-int-or-string": True},
    "atoms": {"type": "array", "items": {"type": "string"}},
    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "table": {
        "type": "array",
        "items": ROW,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k", "p"],
    },
    "atom": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "pod": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
}
CONDITIONS: JsonObject = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    },
}


def thing_schema(**changes: JsonObject) -> JsonObject:
    """A custom resource with every way to own things; ``changes`` are fields of its spec."""
    status = {"type": "object", "properties": {"phase": {"type": "string"}, "conditions": CONDITIONS}}
    properties = {"spec": {"type": "object", "properties": {**SPEC, **changes}}, "status": status}
    return {"type": "object", "properties": properties}


THING_TYPES = custom_types(thing_schema())
THING = "example.com/v1"


def thing_endpoint(subresource: str = "", types: Types = THING_TYPES) -> Endpoint:
    return Endpoint(
        api_version=THING,
        kind="Thing",
        types={THING: types}.get,
        subresource=subresource,
        writable=writable_fields("Thing", subresource, is_custom=True),
    )


def core_endpoint(api_version: str, kind: str, definition: str, subresource: str = "") -> Endpoint:
    types = Types({"$ref": definition})
    writable = writable_fields(kind, subresource)
    return Endpoint(
        api_version=api_version, kind=kind, types={api_version: types}.get, subresource=subresource, writable=writable
    )


DEPLOYMENT = core_endpoint("apps/v1", "Deployment", "apps.v1.Deployment")
CONFIG_MAP = core_endpoint("v1", "ConfigMap", "core.v1.ConfigMap")


def thing(**spec: Any) -> JsonObject:
    return {"apiVersion": THING, "kind": "Thing", "metadata": {"name": "x", "namespace": "ns"}, "spec": spec}


def config_map(**data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ns"}, "data": data}


def applied(
    live: JsonObject | None, body: Any, manager: str = "a", force: bool = False, endpoint: Endpoint | None = None
) -> JsonObject:
    endpoint = endpoint or _endpoint_of(body)
    return apply_patch(live, body, endpoint, manager=manager, force=force, now_text=NOW)


def updated(
    live: JsonObject | None, new: JsonObject, manager: str = "u", endpoint: Endpoint | None = None
) -> JsonObject:
    return track_update(live, new, endpoint or _endpoint_of(new), manager=manager, now_text=LATER)


def with_spec(tree: JsonObject, **spec: Any) -> JsonObject:
    """The object with some fields of its spec set, or removed (None)."""
    fields = {**tree["spec"], **spec}
    return {**tree, "spec": {key: value for key, value in fields.items() if value is not None}}


def owners(tree: JsonObject) -> dict[str, JsonObject]:
    """``Apply a`` or ``Update u status`` -> the fields it owns."""
    entries = tree["metadata"].get("managedFields", [])
    return {owner_name(entry): entry["fieldsV1"] for entry in entries}


def owner_name(entry: JsonObject) -> str:
    return " ".join(filter(None, (entry["operation"], entry["manager"], entry.get("subresource"))))


def owned_spec(tree: JsonObject, owner: str = "Apply a") -> JsonObject:
    spec: JsonObject = owners(tree).get(owner, {}).get("f:spec", {})
    return spec


def bare(tree: JsonObject) -> JsonObject:
    """The object without its managedFields."""
    metadata = {key: value for key, value in tree["metadata"].items() if key != "managedFields"}
    return {**tree, "metadata": metadata}


def _endpoint_of(body: Any) -> Endpoint:
    return CONFIG_MAP if isinstance(body, dict) and body.get("kind") == "ConfigMap" else thing_endpoint()
