"""Everything that is wrong with a custom resource beyond its metadata: its schema, its scale, its lists, its CEL rules.

Rules: what an update leaves as it was is no reason to refuse it; through the status door only the status is judged, and
named from there; rules in CEL are looked at only when the object is sound enough for them.
"""

from collections.abc import Iterator
from typing import Any

from heliostat.embedded.server.changes.schema_causes import (
    INVALID,
    NOT_CHECKED,
    is_blocking,
    list_causes,
    schema_causes,
)
from heliostat.embedded.server.errors import Cause
from heliostat.embedded.server.patches.go_values import go_text, go_type
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import JsonSchema, check
from heliostat.kube.schema_refs import Definitions, field_schema, resolve

_LISTS = "schema.duplicate"
_MOST_REPLICAS = 2**31 - 1


def custom_causes(
    tree: JsonObject, old: JsonObject | None, resource: Resource, subresource: str, earlier: list[Cause]
) -> list[Cause]:
    """``earlier``: what is wrong with the metadata."""
    is_status = subresource == "status"
    causes = _schema_causes(tree, old, resource, is_status=is_status)
    if resource.scale_paths is not None:
        paths = resource.scale_paths
        causes += [] if is_status else _replica_causes(tree, paths["specReplicasPath"])
        causes += _replica_causes(tree, paths["statusReplicasPath"])
        causes += _selector_causes(tree, paths.get("labelSelectorPath"))
    if old is None or not _list_causes(old, resource):
        causes += _list_causes(tree, resource)
    if resource.rules is not None and resource.rules.compiled.root is not None:
        causes += [NOT_CHECKED] if is_blocking([*earlier, *causes]) else resource.rules.object_causes(tree, old)
    return causes


def _list_causes(tree: JsonObject, resource: Resource) -> list[Cause]:
    """Not of the metadata: a finalizer may be there twice, though the schema of metadata calls them a set."""
    return list(list_causes({**tree, "metadata": {}}, resource.schema, resource.definitions))


def _schema_causes(tree: JsonObject, old: JsonObject | None, resource: Resource, *, is_status: bool) -> list[Cause]:
    schema, definitions, start = resource.schema, resource.definitions, ""
    part: Any = tree
    before: Any = old
    if is_status:
        if "status" not in tree:
            return []
        schema = resolve(field_schema(schema, "status") or {}, definitions)
        part, before, start = tree["status"], (old or {}).get("status"), "status"
    problems = [
        problem
        for problem in check(part, schema, (), definitions)
        if problem.severity == "error" and problem.rule != _LISTS
    ]
    if old is not None:
        problems = [problem for problem in problems if not _was_there(problem, part, before, schema, definitions)]
    return schema_causes(problems, part, schema, definitions, start)


def _was_there(problem: Problem, new: Any, old: Any, schema: JsonSchema, definitions: Definitions) -> bool:
    """Whether the value, or one that it is part of, is the same as before. Rows of a table are found by their keys."""
    node = resolve(schema, definitions)
    for key in problem.path[:-1] if problem.rule == "schema.required" else problem.path:
        if new == old:
            return True
        if isinstance(key, int):
            row = new[key] if isinstance(new, list) else None
            new, old = row, _same_row(row, old, node)
            node = resolve(node.get("items") or {}, definitions)
        else:
            new, old = _field(new, key), _field(old, key)
            node = resolve(field_schema(node, key) or {}, definitions)
        if old is None:
            return False
    return bool(new == old)


def _field(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _same_row(row: Any, before: Any, node: JsonSchema) -> Any:
    keys = node.get("x-kubernetes-list-map-keys") or ()
    if not keys or not isinstance(row, dict) or not isinstance(before, list):
        return None
    wanted = [row.get(key) for key in keys]
    rows = (item for item in before if isinstance(item, dict))
    return next((item for item in rows if [item.get(key) for key in keys] == wanted), None)


def _replica_causes(tree: JsonObject, path: str) -> Iterator[Cause]:
    try:
        replicas = _nested(tree, path, int, "int64")
    except _AccessError as error:
        yield Cause(INVALID, f"Invalid value: 0: {error}", path)
        return
    if replicas is not None and replicas < 0:
        yield Cause(INVALID, f"Invalid value: {replicas}: should be a non-negative integer", path)
    elif replicas is not None and replicas > _MOST_REPLICAS:
        why = f"should be less than or equal to {_MOST_REPLICAS}"
        yield Cause(INVALID, f"Invalid value: {replicas}: {why}", path)


def _selector_causes(tree: JsonObject, path: str | None) -> Iterator[Cause]:
    try:
        if path:
            _nested(tree, path, str, "string")
    except _AccessError as error:
        yield Cause(INVALID, f'Invalid value: "": {error}', path or "")


class _AccessError(ValueError):
    """A path leads through something that is no object, or to something of another type."""


def _nested(tree: JsonObject, path: str, wanted: type, wanted_name: str) -> Any:
    value: Any = tree
    done: Path = ()
    for key in path.removeprefix(".").split("."):
        done = (*done, key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _AccessError(_access_words(done, value, "map[string]interface{}"))
        if key not in value:
            return None
        value = value[key]
    if type(value) is not wanted:
        raise _AccessError(_access_words(done, value, wanted_name))
    return value


def _access_words(path: Path, value: Any, wanted: str) -> str:
    shown = f".{'.'.join(map(str, path))}"
    return f"{shown} accessor error: {go_text(value)} is of the type {go_type(value)}, expected {wanted}"
