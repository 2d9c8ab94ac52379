"""What a schema says against a custom resource, in the words that kube-apiserver has for it.

``kube.schema`` finds the problems and words them for people who write manifests; clients of the API compare words,
so here the same findings are told as causes of a 422. The value and the keyword are looked up again by their path.
"""

from collections.abc import Sequence
from typing import Any

from heliostat.embedded.server.errors import Cause
from heliostat.kube.go_text import go_float, go_json
from heliostat.kube.paths import Path, format_path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import JsonSchema
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
_STOPS_RULES = (
    "schema.type",
    "schema.required",
    "schema.enum",
    "schema.maxLength",
    "schema.maxItems",
    "schema.maxProperties",
)


def schema_causes(problems: Sequence[Problem], tree: Any, schema: JsonSchema, definitions: Definitions) -> list[Cause]:
    return [_cause(problem, tree, schema, definitions) for problem in problems]


def stops_rules(problems: Sequence[Problem]) -> bool:
    """After these findings no CEL rule is looked at."""
    return any(problem.rule in _STOPS_RULES for problem in problems)


def _cause(problem: Problem, tree: Any, schema: JsonSchema, definitions: Definitions) -> Cause:
    field = format_path(problem.path)
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
            said = f'{field} in body must be of type {wanted}: "{shown}"'
            return Cause(TYPE, f'Invalid value: "{shown}": {said}', field)
        case "schema.maxLength":
            return Cause(TOO_LONG, f"Too long: may not be more than {node.get('maxLength')} bytes", field)
        case "schema.maxItems":
            return Cause(TOO_MANY, f"Too many: {len(value)}: must have at most {node.get('maxItems')} items", field)
        case "schema.maxProperties":
            return Cause(
                TOO_MANY, f"Too many: {len(value)}: must have at most {node.get('maxProperties')} items", field
            )
        case "schema.duplicate":
            return Cause(DUPLICATE, f"Duplicate value: {go_json(value)}", field)
    words = _words(problem.rule, node)
    said = f"{field} in body {words}" if words else problem.problem
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
