"""An object as the server has it after reading: the right types, no unknown fields, defaults filled in.

Rules: a built-in object is read as a typed server does, of a custom one the metadata is and the rest is pruned by its
schema; what cannot be read is refused, and so is what a strict reader minds if the request asks for it
(``fieldValidation``), else it is warned about. How a refusal is worded depends on whether the object came as a body or
out of a patch. Whether the object is right is not decided here.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from heliostat.embedded.kinds.registry import rules_of
from heliostat.embedded.kinds.typed.typed_form import TypedError, fit_type
from heliostat.embedded.server.changes.schema_causes import schema_causes
from heliostat.embedded.server.documents.bodies import strict_warnings
from heliostat.embedded.server.documents.conversions import to_stored
from heliostat.embedded.server.documents.object_bodies import FindKind, check_custom_type, kind_problem, missing_kind
from heliostat.embedded.server.errors import RefusedError, bad_request, invalid
from heliostat.embedded.server.limits import too_large_to_store
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import JsonSchema, apply_defaults, check, prune
from heliostat.kube.schema_defaults import TooManyDefaultsError
from heliostat.kube.schema_refs import field_schema, resolve

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"

# From the object as it stands and what is wrong with it to the refusal.
Refuse: TypeAlias = Callable[[JsonObject, TypedError | str], RefusedError]

_JUDGED_ELSEWHERE = ("customresourcedefinitions.apiextensions.k8s.io",)
_METADATA = "meta.v1.ObjectMeta"


class ObjectReader:
    def __init__(self, find_kind: FindKind) -> None:
        self._find_kind = find_kind

    def read_patched(
        self, tree: JsonObject, resource: Resource, validation: str, strict: tuple[str, ...], refuse: Refuse
    ) -> list[str]:
        """As ``read``, of an object that a patch has made: the patch may have changed its kind."""
        problem = self._kind_problem(tree, resource)
        if problem:
            raise refuse(tree, problem)
        if resource.is_custom:
            check_custom_type(tree, resource)
        elif not tree.get("apiVersion"):  # of no version at all, no field is known
            strict = (*strict, *(f'unknown field "{name}"' for name in tree if name not in ("kind", "apiVersion")))
            tree.clear()
        tree["kind"], tree["apiVersion"] = resource.kind, resource.api_version
        return self.read(tree, resource, validation, strict, refuse)

    def _kind_problem(self, tree: JsonObject, resource: Resource) -> str:
        if not resource.is_custom:
            return kind_problem(tree, resource, self._find_kind)
        return missing_kind(encode_json(tree)) if not tree.get("kind") else ""

    def read(
        self,
        tree: JsonObject,
        resource: Resource,
        validation: str = WARN,
        strict: tuple[str, ...] = (),
        refuse: Refuse | None = None,
    ) -> list[str]:
        """In place; gives the warnings. ``strict``: what a strict reader minds about the text of the object."""
        refuse = refuse or refusal_of_a_body(resource)
        missing = [] if resource.is_custom else _missing_fields(tree, resource)
        before = dict(tree) if validation == STRICT else tree  # a refused patch is told as it was
        try:
            unknown = _read_custom(tree, resource) if resource.is_custom else fit_type(tree, resource.definition)
        except TypedError as error:
            raise refuse(tree, error) from None
        minded = (*strict, *(f'unknown field "{path}"' for path in unknown))
        if minded and validation == STRICT:
            raise refuse(before, f"strict decoding error: {', '.join(minded)}")
        if not resource.is_custom:
            _complete(tree, resource, missing)
        return strict_warnings(minded) if validation != IGNORE else []


def refusal_of_a_body(resource: Resource) -> Refuse:
    def refuse(_tree: JsonObject, why: TypedError | str) -> RefusedError:
        return bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'
        )

    return refuse


def _read_custom(tree: JsonObject, resource: Resource) -> list[str]:
    """The paths of unknown fields, those of the metadata first."""
    unknown: list[str] = []
    metadata = tree.get("metadata")
    if metadata is not None:
        if not isinstance(metadata, dict):
            raise TypedError(_json_type(metadata), "v1.ObjectMeta")
        unknown += (f"metadata.{path}" for path in fit_type(metadata, _METADATA))
    try:
        apply_defaults(tree, resource.schema, resource.definitions)
    except TooManyDefaultsError:
        raise too_large_to_store() from None
    found = list(_unknown_fields(tree, resource))
    if found and not resource.preserves_unknown:
        prune(tree, resource.schema, resource.definitions)
    return [*unknown, *sorted(map(_plain_path, found))]


def _unknown_fields(tree: JsonObject, resource: Resource) -> Iterator[Path]:
    """Outside the metadata; an object where none should be has only unknown ones."""
    todo: list[tuple[Any, JsonSchema, Path]] = [(tree, resource.schema, ())]
    while todo:
        value, schema, path = todo.pop()
        node = resolve(schema, resource.definitions)
        if isinstance(value, dict):
            for name, child in value.items():
                below = field_schema(node, name)
                if below is None:
                    yield (*path, name)
                elif below and isinstance(child, (dict, list)) and (path or name != "metadata"):
                    todo.append((child, below, (*path, name)))
        elif isinstance(value, list) and node.get("items"):
            todo += [(item, node["items"], (*path, index)) for index, item in enumerate(value)]


def _json_type(value: Any) -> str:
    return {bool: "bool", int: "number", float: "number", str: "string"}.get(type(value), "array")


def _complete(tree: JsonObject, resource: Resource, missing: list[Problem]) -> None:
    missing = [problem for problem in missing if _is_empty_text(tree, problem.path)]
    if missing:
        causes = schema_causes(missing, tree, resource.schema, resource.definitions)
        raise invalid(resource.kind, resource.group, str(tree["metadata"].get("name", "")), causes)
    rules = rules_of(resource.storage_name)
    if rules.fill_in is not None:
        rules.fill_in(tree)
    to_stored(tree, resource)


def _missing_fields(tree: JsonObject, resource: Resource) -> list[Problem]:
    """A kind without rules of its own is at least asked for what its schema requires."""
    if rules_of(resource.storage_name).check_new is not None or resource.storage_name in _JUDGED_ELSEWHERE:
        return []
    problems = check(tree, resource.schema, (), resource.definitions)
    return [problem for problem in problems if problem.rule == "schema.required"]


def _is_empty_text(tree: JsonObject, path: Path) -> bool:
    """Where a text is missing; a typed server reads missing lists and objects as empty ones."""
    value: Any = tree
    for key in path:
        value = value[key]
    return bool(value == "")


def _plain_path(path: Path) -> str:
    """As kube-apiserver names unknown fields: whatever a key holds, it stands behind a dot."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
