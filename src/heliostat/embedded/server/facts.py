"""The index entry of an object: what selectors and the garbage collector ask for, taken out when it is written."""

from typing import Any

from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.records import Facts
from heliostat.kube.jsontree import JsonObject


def facts_of(tree: JsonObject, resource: Resource) -> Facts:
    metadata = tree["metadata"]
    owners = metadata.get("ownerReferences")
    return Facts(
        uid=metadata["uid"],
        labels=metadata.get("labels") or {},
        fields={path: field_value(tree, path) for path in resource.selectable},
        owners=tuple(owner.get("uid", "") for owner in owners) if owners else (),
    )


def field_value(tree: JsonObject, path: str) -> str:
    """A field as selectors compare it: text; absent is empty, and so is false for what is not a boolean field."""
    value: Any = tree
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if path == "source":
        return str((tree.get("source") or {}).get("component") or tree.get("reportingComponent") or "")
    if path in ("spec.unschedulable", "spec.hostNetwork"):
        return "true" if value else "false"
    if path in ("status.successful", "status.replicas"):
        return str(value or 0)
    return "" if value is None else str(value)
