"""Is a JSON tree what a structural schema (the dialect of CustomResourceDefinitions) says, and if not, where and why.

``check`` walks tree and schema side by side, without recursion, outer values before inner ones. As the API server
does, it takes a null in a field that is not nullable for an absent field, and a field that the schema does not know
for a mistake worth a warning. A ``$ref`` is looked up through ``definitions``, so large schemas are shared and only
the parts that a document uses are ever built. CEL rules are run by the predicates that ``rules`` has for them.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.nearest import nearest_name
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem
from heliostat.kube.schema_choices import COMBINATIONS, choice_findings
from heliostat.kube.schema_defaults import apply_defaults, prune
from heliostat.kube.schema_lists import duplicate_items
from heliostat.kube.schema_refs import Definitions, JsonSchema, field_schema, no_definitions, resolve
from heliostat.kube.schema_values import Finding, expected_type, is_of_type, quote, value_findings, wrong_type

__all__ = [
    "MAX_PROBLEMS",
    "Definitions",
    "JsonSchema",
    "apply_defaults",
    "check",
    "has_errors",
    "no_definitions",
    "prune",
]

Rules: TypeAlias = Callable[[str], Callable[[Any], bool] | None]

MAX_PROBLEMS = 1000  # nobody reads more, and every hint costs time

Trail: TypeAlias = tuple[Any, ...]  # () or (trail of the parent, key): growing a path costs nothing until it is shown


def no_rules(_rule: str) -> None:
    """No predicate for any CEL rule: they are all skipped."""


def check(
    tree: Any,
    schema: JsonSchema,
    path: Path = (),
    definitions: Definitions = no_definitions,
    rules: Rules = no_rules,
) -> Iterator[Problem]:
    """Every problem of the tree; after ``MAX_PROBLEMS`` one that says so."""
    for count, problem in enumerate(_Walk(path, definitions, rules).problems(tree, schema)):
        if count == MAX_PROBLEMS:
            yield Problem(path=path, problem="has more problems than are listed", fix="mend these first", rule="schema")
            return
        yield problem


def has_errors(tree: Any, schema: JsonSchema, definitions: Definitions = no_definitions) -> bool:
    return any(problem.severity == "error" for problem in check(tree, schema, (), definitions))


class _Walk:
    """The values still to be looked at, each with its schema and its place."""

    def __init__(self, path: Path, definitions: Definitions, rules: Rules) -> None:
        self._path = path
        self._definitions = definitions
        self._rules = rules
        self._todo: list[tuple[Any, JsonSchema, Trail]] = []

    def problems(self, tree: Any, schema: JsonSchema) -> Iterator[Problem]:
        self._todo.append((tree, schema, ()))
        while self._todo:
            value, schema, trail = self._todo.pop()
            if "$ref" in schema:
                schema = resolve(schema, self._definitions)
            expected = expected_type(schema)
            if expected and not is_of_type(value, expected):
                if value is not None or not schema.get("nullable"):
                    yield self._problem(trail, wrong_type(value, expected))
            elif len(schema) > 1 or not expected or expected == "object":
                yield from self._visit(value, schema, trail)

    def _visit(self, value: Any, schema: JsonSchema, trail: Trail) -> Iterator[Problem]:
        for finding in value_findings(value, schema):
            yield self._problem(trail, finding)
        if not schema.keys().isdisjoint(COMBINATIONS):
            for finding in choice_findings(value, schema, self._breaks):
                yield self._problem(trail, finding)
        for rule in schema.get("x-kubernetes-validations", ()):
            holds = self._rules(rule["rule"])
            if holds and not holds(value):
                yield self._problem(trail, _broken_rule(rule))
        if isinstance(value, dict):
            yield from self._visit_fields(value, schema, trail)
        elif isinstance(value, list):
            yield from self._visit_items(value, schema, trail)

    def _visit_fields(self, value: JsonObject, schema: JsonSchema, trail: Trail) -> Iterator[Problem]:
        for name in schema.get("required", ()):
            if value.get(name) is None and not self._is_deliberate_null(value, schema, name):
                yield self._problem((trail, name), _missing(name))
        inner = []
        for name, child in value.items():
            child_schema = field_schema(schema, name)
            if child_schema is None:
                yield self._problem((trail, name), _unknown(str(name), schema), severity="warning")
            elif child_schema and child is not None:
                inner.append((child, child_schema, (trail, name)))
        self._todo += reversed(inner)

    def _visit_items(self, value: list[Any], schema: JsonSchema, trail: Trail) -> Iterator[Problem]:
        for index, finding in duplicate_items(value, schema, self._definitions):
            yield self._problem((trail, index), finding)
        items = schema.get("items")
        if items:
            self._todo += [(item, items, (trail, index)) for index, item in enumerate(value)][::-1]

    def _is_deliberate_null(self, value: JsonObject, schema: JsonSchema, name: str) -> bool:
        return name in value and bool(resolve(field_schema(schema, name) or {}, self._definitions).get("nullable"))

    def _breaks(self, value: Any, schema: JsonSchema) -> bool:
        return has_errors(value, schema, self._definitions)

    def _problem(self, trail: Trail, finding: Finding, severity: Literal["error", "warning"] = "error") -> Problem:
        rule, problem, fix = finding
        keys: list[str | int] = []
        while trail:
            trail, key = trail
            keys.append(key)
        return Problem(path=(*self._path, *keys[::-1]), problem=problem, fix=fix, rule=rule, severity=severity)


def _missing(name: str) -> Finding:
    return "schema.required", "is required", f"add the field {name}"


def _broken_rule(rule: JsonObject) -> Finding:
    text = rule["rule"]
    return "schema.rule", rule.get("message") or f"breaks the rule {text}", f"make this hold: {text}"


def _unknown(name: str, schema: JsonSchema) -> Finding:
    known = schema.get("properties", {})
    near = nearest_name(name, known)
    fix = f"did you mean {near}?" if near else "remove it: Kubernetes ignores fields it does not know"
    return "schema.unknown-field", f"unknown field {quote(name)}", fix
