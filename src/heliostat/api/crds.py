"""The CustomResourceDefinitions of the ray.io kinds, generated from the types and the table of core schemas.

Two variants. The full one describes everything, equal to KubeRay's. The slim one, a tenth of its size, leaves core
Kubernetes objects inside our kinds (Pod templates, Services, env, resources, network policy rules) open. What is lost
with it: the API server neither checks those parts, nor fills in their defaults (a port's protocol, say), nor warns
about fields it does not know there; server-side apply takes their lists as one value; ``kubectl explain`` ends there.
The operator's own checks are the same with both.
"""

from typing import Any

from heliostat.api.kinds import GROUP, KINDS, Column, KindVersion, RayKind
from heliostat.api.schema_from_types import definition, reference_to
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.schema_refs import JsonSchema

VARIANT_ANNOTATION = "heliostat/crd-variant"
CORE_GROUPS = ("core.", "networking.")  # what the slim variant leaves open; meta's conditions stay, they are list keys
OPEN_OBJECT: JsonSchema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def all_crds(slim: bool = False) -> list[JsonObject]:
    """Installable in this order, or any other."""
    return [build_crd(kind, slim) for kind in KINDS]


def build_crd(kind: str, slim: bool = False) -> JsonObject:
    ray_kind = KINDS[kind]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "annotations": {VARIANT_ANNOTATION: "slim" if slim else "full"},
            "name": f"{ray_kind.plural}.{GROUP}",
        },
        "spec": {
            "group": GROUP,
            "names": _build_names(ray_kind),
            "scope": "Namespaced",
            "versions": [
                _build_version(version, version is ray_kind.versions[0], slim) for version in ray_kind.versions
            ],
        },
    }


def _build_names(kind: RayKind) -> JsonObject:
    return {
        "categories": ["all"],
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.singular,
    }


def _build_version(version: KindVersion, is_stored: bool, slim: bool) -> JsonObject:
    built: JsonObject = {"name": version.name, "served": True, "storage": is_stored, "subresources": {"status": {}}}
    if version.columns:
        built["additionalPrinterColumns"] = [_build_column(column) for column in version.columns]
    if version.deprecation:
        built |= {"deprecated": True, "deprecationWarning": version.deprecation}
    return built | {"schema": {"openAPIV3Schema": _build_schema(version, slim)}}


def _build_column(column: Column) -> JsonObject:
    built: JsonObject = {"jsonPath": column.path, "name": column.name, "type": column.type}
    return {**built, "priority": column.priority} if column.priority else built


def _build_schema(version: KindVersion, slim: bool) -> JsonSchema:
    return {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": write_out(reference_to(version.spec), slim),
            "status": write_out(reference_to(version.status), slim),
        },
    }


def write_out(schema: JsonSchema, slim: bool = False) -> JsonSchema:
    """The schema with every reference replaced by what it names: a CRD has no references."""
    if "$ref" in schema:
        name, beside = schema["$ref"], {key: value for key, value in schema.items() if key != "$ref"}
        target = OPEN_OBJECT if slim and name.startswith(CORE_GROUPS) else definition(name)
        return write_out({**target, **beside}, slim)
    return {keyword: _write_out_keyword(keyword, value, slim) for keyword, value in schema.items()}


def _write_out_keyword(keyword: str, value: Any, slim: bool) -> Any:
    if keyword == "properties":
        return {name: write_out(child, slim) for name, child in value.items()}
    if keyword in ("items", "additionalProperties") and isinstance(value, dict):
        return write_out(value, slim)
    return copy_tree(value)
