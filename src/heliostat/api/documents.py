"""From a JSON tree to a ray.io object, as the API server would take it in: accepted or refused, with every problem.

In this order: kind and version are known; nulls go and defaults come (on a copy: the given tree is never changed); the
version's own schema, the CEL rules for new objects and the rules of ``metadata`` hold; an older version becomes v1,
without the fields that it does not have. An accepted document has both the tree that comes out, with fields that v1
does not know still in it, and the typed object that decisions read. What KubeRay itself checks afterwards is
``heliostat.api.validation``'s.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.api.creation_rules import creation_rule
from heliostat.api.kinds import GROUP, KINDS, KindVersion, RayKind, RayObject
from heliostat.api.metadata_rules import fill_in_name, metadata_problems
from heliostat.api.schema_from_types import definition, reference_to
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.nearest import nearest_name
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import MAX_PROBLEMS, JsonSchema, apply_defaults, check, prune


class Accepted(Struct, frozen=True):
    """``tree`` is the document with defaults; ``object`` is its typed view; ``warnings`` do not stand in its way."""

    tree: JsonObject
    object: RayObject
    warnings: tuple[Problem, ...] = ()


class Refused(Struct, frozen=True):
    """Errors and warnings, in the order in which they were found."""

    problems: tuple[Problem, ...]


def is_ray_document(tree: Any) -> bool:
    """Whether a document means to be one of ours, however broken."""
    if not isinstance(tree, dict):
        return False
    return str(tree.get("apiVersion")).startswith(f"{GROUP}/") or tree.get("kind") in list(KINDS)


def accept(tree: Any) -> Accepted | Refused:
    found = find_version(tree)
    if isinstance(found, Problem):
        return Refused((found,))
    kind, version = found
    try:
        document = copy_tree(tree)
    except RecursionError:
        return Refused((_refusal((), "is nested too deeply", "flatten it: no field of a ray.io kind lies this deep"),))
    problems = tuple(_take_in(document, kind, version))
    if any(problem.severity == "error" for problem in problems):
        return Refused(problems)
    convert_to_v1(document, kind, version)
    fill_in_name(document["metadata"])
    return Accepted(document, read_object(document, kind), problems)


def find_version(tree: Any) -> tuple[RayKind, KindVersion] | Problem:
    if not isinstance(tree, dict):
        return _refusal((), "is not a Kubernetes object", "write apiVersion, kind, metadata and spec")
    kind_name, api_version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind_name, str) or kind_name not in KINDS:
        return _unknown_kind(kind_name)
    kind = KINDS[kind_name]
    for version in kind.versions:
        if api_version == f"{GROUP}/{version.name}":
            return kind, version
    problem = f'"{api_version}" has no {kind_name}' if isinstance(api_version, str) and api_version else "is required"
    return _refusal(("apiVersion",), problem, f"write apiVersion: {GROUP}/{kind.versions[0].name}")


def _unknown_kind(kind: Any) -> Problem:
    choices = f"use one of {', '.join(KINDS)}"
    if not isinstance(kind, str) or not kind:
        return _refusal(("kind",), "is required", choices)
    near = nearest_name(kind, KINDS)
    return _refusal(("kind",), f'"{kind}" is not a kind of {GROUP}', f"did you mean {near}?" if near else choices)


def build_document_schema(version: KindVersion) -> JsonSchema:
    """As in the CRD, with the metadata that every object has."""
    return {
        "type": "object",
        "required": ["metadata"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": "meta.v1.ObjectMeta"},
            "spec": reference_to(version.spec),
            "status": reference_to(version.status),
        },
    }


def _take_in(document: JsonObject, kind: RayKind, version: KindVersion) -> Iterator[Problem]:
    """Change the document as the API server does before it looks, then say what is wrong with it."""
    schema = build_document_schema(version)
    apply_defaults(document, schema, definition)
    if version.deprecation:
        fix = f"write apiVersion: {GROUP}/{kind.versions[0].name}"
        problem = version.deprecation
        yield Problem(path=("apiVersion",), problem=problem, fix=fix, rule="document.deprecated", severity="warning")
    problems = list(check(document, schema, (), definition, creation_rule))
    yield from problems
    is_metadata_sound = not any(
        problem.severity == "error" and problem.path[:1] == ("metadata",) for problem in problems
    )
    if is_metadata_sound and len(problems) <= MAX_PROBLEMS:
        yield from islice(metadata_problems(document["metadata"]), MAX_PROBLEMS)


def convert_to_v1(document: JsonObject, kind: RayKind, version: KindVersion) -> None:
    """What is stored, and read back as v1: the old version's fields, and v1's defaults for the others."""
    v1 = kind.versions[0]
    if version is v1:
        return
    prune(document, build_document_schema(version), definition)
    document["apiVersion"] = f"{GROUP}/{v1.name}"
    apply_defaults(document, build_document_schema(v1), definition)


def _refusal(path: Path, problem: str, fix: str) -> Problem:
    return Problem(path=path, problem=problem, fix=fix, rule="document.version")


def read_object(document: JsonObject, kind: RayKind) -> RayObject:
    """The typed view of a document that fulfils its schema. What Go would read as a zero value, it reads so too."""
    spec = document.get("spec", {})
    for field, zero in kind.zero_fields.items():
        if field not in spec:
            spec = {**spec, field: zero}
    return msgspec.convert({**document, "spec": spec}, kind.struct)
