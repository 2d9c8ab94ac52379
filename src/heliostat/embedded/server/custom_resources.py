"""CustomResourceDefinitions: from a CRD to the resources it brings, and the status that says so.

Rules: a CRD whose names are taken is kept but not established; every served version is a resource of its own over
one storage; the schema is used as it stands, with the metadata every object has laid over it.
"""

from typing import Any

from heliostat.embedded.server.custom_rules import CustomRules
from heliostat.embedded.server.errors import Cause, invalid
from heliostat.embedded.server.resources import STANDARD_VERBS, Column, Resource
from heliostat.kube.core_schema import definition
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema
from heliostat.kube.timestamps import format_timestamp

AGE = Column(name="Age", type="date", path=".metadata.creationTimestamp")


def resources_of(crd: JsonObject) -> list[Resource]:
    """One for each served version."""
    spec = crd["spec"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    served = [(index, version) for index, version in enumerate(spec["versions"]) if version.get("served")]
    return [_build(spec, index, version, storage) for index, version in served]


def rules_of_version(index: int, version: JsonObject) -> CustomRules:
    return CustomRules(_schema_of(version), f"spec.versions[{index}].schema.openAPIV3Schema")


def _schema_of(version: JsonObject) -> JsonSchema:
    return (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}


def _build(spec: JsonObject, index: int, version: JsonObject, storage: str) -> Resource:
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


def check_definition(crd: JsonObject) -> None:
    """What makes a CRD unusable; its schema as such is checked by its own kind's schema."""
    spec, name = crd["spec"], crd["metadata"].get("name", "")
    versions = spec["versions"] or []
    causes: list[Cause] = []
    expected = f"{spec['names']['plural']}.{spec['group']}"
    if name != expected:
        message = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        causes.append(Cause("FieldValueInvalid", message, "metadata.name"))
    stored = [version["name"] for version in versions if version.get("storage")]
    if len(stored) != 1:
        message = f"Invalid value: {len(stored)}: must have exactly one version marked as storage version"
        causes.append(Cause("FieldValueInvalid", message, "spec.versions"))
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            field = f"spec.versions[{index}].schema.openAPIV3Schema"
            causes.append(Cause("FieldValueRequired", "Required value: schemas are required", field))
        causes += rules_of_version(index, version).definition_causes()
    if causes:
        raise invalid("CustomResourceDefinition", "apiextensions.k8s.io", name, causes)


def fill_in_names(crd: JsonObject) -> None:
    names = crd["spec"]["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    crd["spec"].setdefault("conversion", {"strategy": "None"})


def established_status(crd: JsonObject, now: float) -> JsonObject:
    """The status of a CRD that is served at once."""
    before = {item["type"]: item for item in (crd.get("status") or {}).get("conditions") or []}
    moment = format_timestamp(now)
    stored = [version["name"] for version in crd["spec"]["versions"] if version.get("storage")]
    kept: list[Any] = (crd.get("status") or {}).get("storedVersions") or []
    return {
        "acceptedNames": dict(crd["spec"]["names"]),
        "conditions": [
            before.get("NamesAccepted") or _condition("NamesAccepted", "NoConflicts", "no conflicts found", moment),
            before.get("Established")
            or _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", moment),
        ],
        "storedVersions": [*kept, *(name for name in stored if name not in kept)],
    }


def _condition(kind: str, reason: str, message: str, moment: str) -> JsonObject:
    return {"type": kind, "status": "True", "lastTransitionTime": moment, "reason": reason, "message": message}
