"""CustomResourceDefinitions: from a CRD to the resources it brings, and the status that says so.

Rules: a CRD whose names are taken is kept but not established; every served version is a resource of its own over
one storage; the schema is used as it stands, with the metadata every object has laid over it.
"""

from collections.abc import Collection, Iterator
from typing import Any

from heliostat.embedded.server.custom.custom_rules import CustomRules
from heliostat.embedded.server.resources import STANDARD_VERBS, Column, Resource
from heliostat.kube.core_schema import definition
from heliostat.kube.equal_parts import share_equal_parts
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema
from heliostat.kube.timestamps import format_timestamp

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"  # holds a definition until its objects are gone
AGE = Column(name="Age", type="date", path=".metadata.creationTimestamp")


def resources_of(crd: JsonObject) -> list[Resource]:
    """One for each served version. Its schema lives as long as it is served, so its equal parts are kept once."""
    spec = {**crd["spec"], "versions": share_equal_parts(crd["spec"]["versions"])}
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    served = [(index, version) for index, version in enumerate(spec["versions"]) if version.get("served")]
    ending = _has_condition(crd, "Terminating")
    return [_build(spec, index, version, storage, is_terminating=ending) for index, version in served]


def rules_of_version(index: int, version: JsonObject) -> CustomRules:
    return CustomRules(_schema_of(version), f"spec.versions[{index}].schema.openAPIV3Schema")


def _schema_of(version: JsonObject) -> JsonSchema:
    return (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}


def _build(spec: JsonObject, index: int, version: JsonObject, storage: str, *, is_terminating: bool) -> Resource:
    names, group = spec["names"], spec["group"]
    subresources = version.get("subresources") or {}
    return Resource(
        group=group,
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        is_namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=frozenset(name for name in ("status", "scale") if name in subresources),
        verbs=STANDARD_VERBS,
        schema=build_object_schema(_schema_of(version)),
        definitions=definition,
        is_custom=True,
        storage_version=f"{group}/{storage}",
        storage_name=f"{names['plural']}.{group}",
        columns=_columns(version),
        selectable=tuple(field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()),
        scale_paths=subresources.get("scale"),
        rules=rules_of_version(index, version),
        is_terminating=is_terminating,
    )


def build_object_schema(schema: JsonSchema) -> JsonSchema:
    properties = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "meta.v1.ObjectMeta"},
    }
    return {**schema, "type": "object", "properties": properties}


def _columns(version: JsonObject) -> tuple[Column, ...]:
    given = version.get("additionalPrinterColumns")
    if not given:
        return (AGE,)
    return tuple(
        Column(
            name=column["name"],
            type=column["type"],
            path=column["jsonPath"],
            priority=column.get("priority", 0),
            description=column.get("description", ""),
            format=column.get("format", ""),
        )
        for column in given
    )


def fill_in_names(crd: JsonObject) -> None:
    names = crd["spec"]["names"]
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    crd["spec"].setdefault("conversion", {"strategy": "None"})


def start_status(crd: JsonObject) -> JsonObject:
    """Of a definition that nobody has looked at yet."""
    return {"acceptedNames": {"plural": "", "kind": ""}, "conditions": None, "storedVersions": _stored_versions(crd)}


def keep_stored_versions(crd: JsonObject) -> None:
    """In place: a version that objects were kept in stays on the list."""
    crd["status"] = {**(crd.get("status") or {}), "storedVersions": _stored_versions(crd)}


def _stored_versions(crd: JsonObject) -> list[str]:
    kept: list[str] = (crd.get("status") or {}).get("storedVersions") or []
    stored = [version["name"] for version in crd["spec"]["versions"] or () if version.get("storage")]
    return [*kept, *(name for name in stored[:1] if name not in kept)]


def is_established(crd: JsonObject) -> bool:
    return _has_condition(crd, "Established")


def _has_condition(crd: JsonObject, kind: str) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == kind and condition["status"] == "True" for condition in conditions)


def accept_names(crd: JsonObject, others: list[JsonObject], now: float) -> JsonObject:
    """The status that the definition should have, seeing the names that others of its group have already."""
    status, wanted = crd.get("status") or {}, crd["spec"]["names"]
    before = status.get("acceptedNames") or {}
    if before == wanted:
        return status
    taken = [other["status"].get("acceptedNames") or {} for other in others if _is_of_group(other, crd)]
    plurals = {name for names in taken for name in _resource_names(names)}
    kinds = {name for names in taken for name in (names.get("kind"), names.get("listKind"))}
    accepted, conflict = dict(before), None
    for field, used in (("plural", plurals), ("singular", plurals), ("shortNames", plurals), ("kind", kinds),
                        ("listKind", kinds)):  # fmt: skip
        clash = _clash(wanted.get(field), before.get(field), used)
        if clash:
            conflict = (f"{field[0].upper()}{field[1:]}Conflict", clash)
        elif field in wanted:
            accepted[field] = wanted[field]
        else:
            accepted.pop(field, None)
    accepted.pop("categories", None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    return {**status, "acceptedNames": accepted, "conditions": _named_conditions(crd, conflict, format_timestamp(now))}


def _is_of_group(other: JsonObject, crd: JsonObject) -> bool:
    return bool(other["spec"]["group"] == crd["spec"]["group"] and other.get("status"))


def _resource_names(names: JsonObject) -> Iterator[str]:
    yield from (names.get("plural") or "", names.get("singular") or "", *(names.get("shortNames") or ()))


def _clash(wanted: Any, before: Any, used: Collection[str | None]) -> str:
    if wanted == before:
        return ""
    owned = before if isinstance(before, list) else [before]
    names = wanted if isinstance(wanted, list) else [wanted]
    clashing = [f'"{name}" is already in use' for name in names if name and name in used and name not in owned]
    return clashing[0] if len(clashing) == 1 else f"[{', '.join(clashing)}]" if clashing else ""


def _named_conditions(crd: JsonObject, conflict: tuple[str, str] | None, moment: str) -> list[JsonObject]:
    named = _condition("NamesAccepted", "NoConflicts", "no conflicts found", moment)
    if conflict is not None:
        named = {**_condition("NamesAccepted", *conflict, moment), "status": "False"}
    conditions = _with_condition((crd.get("status") or {}).get("conditions") or [], named)
    if _has_condition(crd, "Established"):
        return conditions
    why = ("Installing", _ACCEPTED) if conflict is None else ("NotAccepted", "not all names are accepted")
    return _with_condition(conditions, {**_condition("Established", *why, moment), "status": "False"})


_ACCEPTED = "the initial names have been accepted"


def establish(crd: JsonObject, _others: list[JsonObject], now: float) -> JsonObject:
    """The status once its objects are served, which the acceptance of its names allows."""
    status = crd.get("status") or {}
    if _has_condition(crd, "Established") or not _has_condition(crd, "NamesAccepted"):
        return status
    served = _condition("Established", "InitialNamesAccepted", _ACCEPTED, format_timestamp(now))
    return {**status, "conditions": _with_condition(status.get("conditions") or [], served)}


_TERMINATING = {
    "InstanceDeletionPending": (
        "True", "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    ),
    "InstanceDeletionInProgress": ("True", "CustomResource deletion is in progress"),
    "InstanceDeletionCompleted": ("False", "removed all instances"),
    "NeverEstablished": ("False", "resource was never established"),
}  # fmt: skip


def set_terminating(crd: JsonObject, reason: str, now: float) -> JsonObject:
    """The definition with how far its end has come."""
    status, message = _TERMINATING[reason]
    condition = {**_condition("Terminating", reason, message, format_timestamp(now)), "status": status}
    conditions = _with_condition((crd.get("status") or {}).get("conditions") or [], condition)
    return {**crd, "status": {**(crd.get("status") or {}), "conditions": conditions}}


def _with_condition(conditions: list[JsonObject], condition: JsonObject) -> list[JsonObject]:
    """In its place, or at the end; the time is that of the last change of its status."""
    kept = next((each for each in conditions if each["type"] == condition["type"]), None)
    if kept is None:
        return [*conditions, condition]
    if kept["status"] == condition["status"]:
        condition = {**condition, "lastTransitionTime": kept["lastTransitionTime"]}
    return [condition if each is kept else each for each in conditions]


def _condition(kind: str, reason: str, message: str, moment: str) -> JsonObject:
    return {"type": kind, "status": "True", "lastTransitionTime": moment, "reason": reason, "message": message}
