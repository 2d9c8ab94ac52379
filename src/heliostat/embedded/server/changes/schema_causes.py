"""What a schema says against a custom resource, in the words that kube-apiserver has for it.

``kube.schema`` finds the problems and words them for people who write manifests; clients of the API compare words,
so here the same findings are told as causes of a 422. The value and the keyword are looked up again by their path.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from heliostat.embedded.server.errors import Cause
from heliostat.kube.go_text import go_float, go_json
from heliostat.kube.paths import Path, format_dotted, format_path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import JsonSchema
from heliostat.kube.schema_lists import duplicate_items
from heliostat.kube.schema_refs import Definitions, field_schema, resolve
from heliostat.kube.schema_values import json_type

INVALID, REQUIRED, UNSUPPORTED = "FieldValueInvalid", "FieldValueRequired", "FieldValueNotSupported"
TYPE = "FieldValueTypeInvalid"
TOO_LONG, TOO_MANY, DUPLICATE = "FieldValueTooLong", "FieldValueTooMany", "FieldValueDuplicate"

NOT_CHECKED = Cause(
    INVALID,
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation",
    "<nil>",
)
_BLOCKING = frozenset((UNSUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE))
# Of several things wrong with one text, kube-apiserver tells the first.
_ONE_OF = ("schema.maxLength", "schema.minLength", "schema.pattern")


def schema_causes(
    problems: Sequence[Problem], tree: Any, schema: JsonSchema, definitions: Definitions, start: str = ""
) -> list[Cause]:
    """``start``: where the tree stands in its object; sentences name fields from the tree on."""
    return [
        _cause(told, tree, schema, definitions, start)
        for problem in _told(problems)
        for told in _with_choices(problem, tree, schema, definitions)
    ]


def _with_choices(problem: Problem, tree: Any, schema: JsonSchema, definitions: Definitions) -> Iterator[Problem]:
    """A value of the wrong type is told again where there are choices that it is none of."""
    yield problem
    if problem.rule == "schema.type" and _look_up(tree, schema, problem.path, definitions)[1].get("enum"):
        yield structs.replace(problem, rule="schema.enum")


def _told(problems: Sequence[Problem]) -> Iterator[Problem]:
    places: set[Path] = set()
    for problem in sorted(problems, key=lambda problem: _ONE_OF.index(problem.rule) if problem.rule in _ONE_OF else -1):
        if problem.rule in _ONE_OF:
            if problem.path in places:
                continue
            places.add(problem.path)
        yield problem


def is_blocking(causes: Sequence[Cause]) -> bool:
    """After these no CEL rule is looked at."""
    return any(cause.reason in _BLOCKING for cause in causes)


def list_causes(tree: Any, schema: JsonSchema, definitions: Definitions) -> Iterator[Cause]:
    """Items that may be there only once, and rows of a table that are none."""
    todo: list[tuple[Any, JsonSchema, Path]] = [(tree, schema, ())]
    while todo:
        value, node, path = todo.pop(0)
        node = resolve(node, definitions)
        if isinstance(value, dict):
            found = ((child, field_schema(node, name), (*path, name)) for name, child in value.items())
            todo += [(child, below, at) for child, below, at in found if below and isinstance(child, (dict, list))]
        elif isinstance(value, list):
            yield from _item_causes(value, node, path, definitions)
            items = node.get("items")
            todo += [(item, items, (*path, index)) for index, item in enumerate(value) if items]


def _item_causes(items: list[Any], node: JsonSchema, path: Path, definitions: Definitions) -> Iterator[Cause]:
    keys = node.get("x-kubernetes-list-map-keys") or ()
    if node.get("x-kubernetes-list-type") == "map":
        for index, item in enumerate(items):
            if item is not None and not isinstance(item, dict):
                why = "must be an object for an array of list-type map"
                yield Cause(INVALID, f"Invalid value: {go_json(item)}: {why}", format_path((*path, index)))
    for index, _finding in duplicate_items(items, node, definitions):
        item = items[index]
        shown = {key: item[key] for key in keys if key in item} if keys and isinstance(item, dict) else item
        yield Cause(DUPLICATE, f"Duplicate value: {go_json(shown)}", format_path((*path, index)))


def _cause(problem: Problem, tree: Any, schema: JsonSchema, definitions: Definitions, start: str) -> Cause:
    name = format_dotted(problem.path)
    field = ".".join(part for part in (start, name) if part)
    value, node = _look_up(tree, schema, problem.path, definitions)
    match problem.rule:
        case "schema.required":
            return Cause(REQUIRED, "Required value", field)
        case "schema.enum":
            choices = ", ".join(go_json(choice) for choice in node.get("enum", []))
            return Cause(UNSUPPORTED, f"Unsupported value: {go_json(value)}: supported values: {choices}", field)
        case "schema.type":
            shown = json_type(value)
            wanted = "integer,string" if node.get("x-kubernetes-int-or-string") else node.get("type", "")
            said = f'{name} in body must be of type {wanted}: "{shown}"'
            return Cause(TYPE, f'Invalid value: "{shown}": {said}', field)
        case "schema.maxLength":
            return Cause(TOO_LONG, f"Too long: may not be more than {node.get('maxLength')} bytes", field)
        case "schema.maxItems":
            return Cause(TOO_MANY, f"Too many: {len(value)}: must have at most {node.get('maxItems')} items", field)
        case "schema.maxProperties":
            return Cause(
                TOO_MANY, f"Too many: {len(value)}: must have at most {node.get('maxProperties')} items", field
            )
        case "schema.whole-multiple":
            return Cause(INVALID, f"Invalid value: 0: factor MultipleOf declared for {name} must be positive: 0", field)
    words = _words(problem.rule, node)
    said = f"{name} in body {words}" if words else problem.problem
    return Cause(INVALID, f"Invalid value: {go_json(value)}: {said}", field)


def _words(rule: str, node: JsonSchema) -> str:
    match rule:
        case "schema.minimum":
            bound = "greater than" if node.get("exclusiveMinimum") else "greater than or equal to"
            return f"should be {bound} {_number(node['minimum'])}"
        case "schema.maximum":
            bound = "less than" if node.get("exclusiveMaximum") else "less than or equal to"
            return f"should be {bound} {_number(node['maximum'])}"
        case "schema.multipleOf":
            return f"should be a multiple of {_number(node['multipleOf'])}"
        case "schema.minLength":
            return f"should be at least {node['minLength']} chars long"
        case "schema.pattern":
            return f"should match '{node['pattern']}'"
        case "schema.minItems":
            return f"should have at least {node['minItems']} items"
        case "schema.minProperties":
            return f"should have at least {node['minProperties']} properties"
    return ""


def _number(value: Any) -> str:
    return go_float(value) if isinstance(value, float) else str(value)


def _look_up(tree: Any, schema: JsonSchema, path: Path, definitions: Definitions) -> tuple[Any, JsonSchema]:
    """The value and the schema at a path; what is not there is None and an empty schema."""
    node = resolve(schema, definitions)
    for key in path:
        below: JsonSchema | None
        if isinstance(key, int):
            tree = tree[key] if isinstance(tree, list) and key < len(tree) else None
            below = node.get("items")
        else:
            tree = tree.get(key) if isinstance(tree, dict) else None
            below = field_schema(node, key)
        node = {} if below is None else resolve(below, definitions)
    return tree, node
