"""The schemas that OpenAPI documents publish: names as Kubernetes has them, and everything a document refers to.

The core table keeps its definitions under short names (``core.v1.Pod``), undecoded. A document decodes those it needs,
rewrites their references for its dialect and lets go of them again, so that nothing of this stays in memory.
"""

from collections.abc import Container, Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.embedded.server.openapi.enums import add_choices
from heliostat.embedded.server.resources import Resource
from heliostat.kube.core_schema import kinds, raw_definitions
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema

# Where Kubernetes' own packages lie; everything else is under io.k8s.api.
_PLACES = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "runtime": "io.k8s.apimachinery.pkg.runtime",
    "version": "io.k8s.apimachinery.pkg.version",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}
_FULL_NAMES = {
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}
# Kinds that only subresources speak, and those of the machinery itself.
_OTHER_KINDS = {
    "autoscaling.v1.Scale": ("autoscaling", "v1", "Scale"),
    "policy.v1.Eviction": ("policy", "v1", "Eviction"),
    "authentication.v1.TokenRequest": ("authentication.k8s.io", "v1", "TokenRequest"),
    "core.v1.Binding": ("", "v1", "Binding"),
    "meta.v1.DeleteOptions": ("", "v1", "DeleteOptions"),
    "meta.v1.Status": ("", "v1", "Status"),
}
GVK = "x-kubernetes-group-version-kind"


class Dialect(Struct, frozen=True):
    """How a document refers to its schemas, and what it says differently."""

    prefix: str
    wraps_references: bool  # a reference with keywords beside it stands in allOf
    replaced: dict[str, JsonSchema]  # by short name
    shows_choices: bool = False  # the values that fields are documented to take


def full_name(short: str) -> str:
    package, _, rest = short.partition(".")
    return _FULL_NAMES.get(short) or f"{_PLACES.get(package, f'io.k8s.api.{package}')}.{rest}"


def name_of(resource: Resource) -> str:
    """The name of a resource's schema; ``v1`` of ``things.demo.io`` is ``io.demo.v1.Thing``."""
    if resource.definition:
        return full_name(resource.definition)
    reversed_group = ".".join(reversed(resource.group.split(".")))
    return f"{reversed_group}.{resource.version}.{resource.kind}"


def collect_schemas(
    resources: Iterable[Resource], extra: Iterable[str], dialect: Dialect, known: Container[str] = ()
) -> dict[str, JsonSchema]:
    """The schemas of resources and their lists, ``extra`` ones (short names), and all they refer to, by full name.

    What is ``known`` (full names) is left out, with what only that refers to.
    """
    custom: dict[str, JsonSchema] = {}
    wanted = {"meta.v1.DeleteOptions", "meta.v1.ListMeta", "meta.v1.Patch", "meta.v1.Status", *extra}
    for resource in resources:
        if resource.definition:
            wanted |= {resource.definition, f"{resource.definition}List"}
        else:
            wanted.add("meta.v1.ObjectMeta")
            custom |= _custom_schemas(resource, dialect)
    found = {full_name(short): schema for short, schema in _closure(wanted, dialect, known).items()}
    return dict(sorted({**found, **custom}.items()))


def _closure(wanted: set[str], dialect: Dialect, known: Container[str]) -> dict[str, JsonSchema]:
    """Definitions reached from those wanted, converted; each is decoded once and kept by nobody else."""
    raw, gvks = raw_definitions(), _gvks()
    found: dict[str, JsonSchema] = {}
    while wanted:
        name = wanted.pop()
        if name in found or name not in raw or full_name(name) in known:
            continue
        schema: JsonSchema = dialect.replaced.get(name) or msgspec.json.decode(raw[name])
        if dialect.shows_choices:
            add_choices(name, schema)
        wanted |= references_in(schema)
        found[name] = convert(schema, dialect)
        if name in gvks:
            found[name][GVK] = [gvks[name]]
    return found


@cache
def _gvks() -> dict[str, JsonObject]:
    found = {name: gvk(*parts) for name, parts in _OTHER_KINDS.items()}
    for row in kinds():
        group, _, version = row.api_version.rpartition("/")
        found[row.definition] = gvk(group, version, row.kind)
        found[f"{row.definition}List"] = gvk(group, version, f"{row.kind}List")
    return found


def gvk(group: str, version: str, kind: str) -> JsonObject:
    return {"group": group, "kind": kind, "version": version}


def references_in(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for part in schema for name in references_in(part)}
    if not isinstance(schema, dict):
        return set()
    found = {name for part in schema.values() for name in references_in(part)}
    reference = schema.get("$ref")
    return found | {reference} if isinstance(reference, str) else found


def convert(schema: JsonSchema, dialect: Dialect) -> JsonSchema:
    """The schema in the dialect; the one given stays as it is."""
    converted = {keyword: _convert_keyword(keyword, value, dialect) for keyword, value in schema.items()}
    reference = converted.pop("$ref", None)
    if not isinstance(reference, str):
        return converted
    target = {"$ref": dialect.prefix + full_name(reference)}
    return {**converted, "allOf": [target]} if converted and dialect.wraps_references else {**converted, **target}


def _convert_keyword(keyword: str, value: Any, dialect: Dialect) -> Any:
    if keyword == "properties":
        return {name: convert(child, dialect) for name, child in value.items()}
    if keyword in ("items", "additionalProperties", "not") and isinstance(value, dict):
        return convert(value, dialect)
    if keyword in ("allOf", "anyOf", "oneOf"):
        return [convert(child, dialect) for child in value]
    return value


def _custom_schemas(resource: Resource, dialect: Dialect) -> dict[str, JsonSchema]:
    """A CRD's schema has no references but the one that the server itself laid over it, to the metadata."""
    name = name_of(resource)
    item: JsonSchema = {"$ref": dialect.prefix + name}
    metadata = {"$ref": dialect.prefix + full_name("meta.v1.ObjectMeta")}
    schema = {
        **resource.schema,
        "properties": {**resource.schema.get("properties", {}), "metadata": metadata},
        GVK: [gvk(resource.group, resource.version, resource.kind)],
    }
    listed: JsonSchema = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": item},
            "kind": {"type": "string"},
            "metadata": {"$ref": dialect.prefix + full_name("meta.v1.ListMeta")},
        },
        GVK: [gvk(resource.group, resource.version, resource.list_kind)],
    }
    return {name: schema, f"{name}List": listed}
