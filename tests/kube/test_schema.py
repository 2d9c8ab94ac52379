"""What ``check`` finds in a value, keyword by keyword, and how it says it."""

from typing import Any

import pytest

from heliostat.kube.paths import format_path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import MAX_PROBLEMS, check, has_errors

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
INT_OR_STRING = {"anyOf": [INTEGER, STRING], "x-kubernetes-int-or-string": True}


def only_problem(tree: Any, schema: dict[str, Any]) -> Problem:
    problems = list(check(tree, schema))
    assert len(problems) == 1, problems
    return problems[0]


FITTING: list[tuple[Any, dict[str, Any]]] = [
    ("text", STRING),
    (1, INTEGER),
    (1.0, INTEGER),
    (1, {"type": "number"}),
    (1.5, {"type": "number"}),
    (True, {"type": "boolean"}),
    ({}, {"type": "object"}),
    ([], {"type": "array"}),
    ([None], {"type": "array", "items": {"type": "string", "nullable": True}}),
    (None, {"type": "string", "nullable": True}),
    (8080, INT_OR_STRING),
    ("http", INT_OR_STRING),
    (1.0, INT_OR_STRING),
    ({"anything": [1]}, {}),
    ({"a": 1}, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    ({"a": "1"}, {"type": "object", "additionalProperties": STRING}),
    ({"a": 1}, {"type": "object", "additionalProperties": True}),
    ({"a": None}, {"type": "object", "properties": {"a": STRING}}),
    ({"a": None}, {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}, "required": ["a"]}),
    ("b", {"type": "string", "enum": ["a", "b"]}),
    ("ab", {"type": "string", "pattern": "^a"}),
    ("a$", {"type": "string", "pattern": r"^[a$]+\z"}),
    ("a$b", {"type": "string", "pattern": r"\$b$"}),
    (2**31 - 1, {"type": "integer", "format": "int32"}),
    (-(2**63), {"type": "integer", "format": "int64"}),
    ("2030-01-31T08:00:00.123+02:00", {"type": "string", "format": "date-time"}),
    ("c2VjcmV0", {"type": "string", "format": "byte"}),
    (3, {"type": "integer", "minimum": 3, "maximum": 3, "multipleOf": 3}),
    ("abc", {"type": "string", "minLength": 3, "maxLength": 3}),
    ([1, 2], {"type": "array", "minItems": 2, "maxItems": 2, "items": INTEGER}),
    ({"a": 1}, {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": INTEGER}),
    (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},
        {"type": "object", "x-kubernetes-embedded-resource": True},
    ),
]


@pytest.mark.parametrize(("tree", "schema"), FITTING)
def test_a_value_that_fits_has_no_problem(tree: Any, schema: dict[str, Any]) -> None:
    assert list(check(tree, schema)) == []


WRONG_TYPES: list[tuple[Any, dict[str, Any], str, str]] = [
    (1, STRING, "must be a string, not the integer 1", 'put it in quotes: "1"'),
    (True, STRING, "must be a string, not the boolean true", 'put it in quotes: "true"'),
    ("1", INTEGER, 'must be an integer, not the string "1"', "remove the quotes: 1"),
    (1.5, INTEGER, "must be an integer, not the number 1.5", "give it an integer"),
    (True, INTEGER, "must be an integer, not the boolean true", "give it an integer"),
    ("x", {"type": "number"}, 'must be a number, not the string "x"', "give it a number"),
    ("True", {"type": "boolean"}, 'must be true or false, not the string "True"', "remove the quotes: true"),
    (1.5, INT_OR_STRING, "must be an integer or a string, not the number 1.5", 'put it in quotes: "1.5"'),
    ({}, {"type": "array"}, "must be a list, not an object", "write a list: one '- ' item per line"),
    ([], {"type": "object"}, "must be an object, not a list", "write fields below it, one 'name: value' per line"),
    (None, STRING, "must be a string, not null", "give it a string"),
]


@pytest.mark.parametrize(("tree", "schema", "problem", "fix"), WRONG_TYPES)
def test_a_wrong_type_is_told_with_how_to_write_it(tree: Any, schema: dict[str, Any], problem: str, fix: str) -> None:
    found = only_problem(tree, schema)
    assert (found.rule, found.problem, found.fix) == ("schema.type", problem, fix)
    assert found.severity == "error"


BROKEN: list[tuple[Any, dict[str, Any], str, str]] = [
    ("Defualt", {"type": "string", "enum": ["Default", "Other"]}, "schema.enum", 'write "Default"'),
    ("zzz", {"type": "string", "enum": ["a", "b"]}, "schema.enum", 'use one of "a", "b"'),
    (True, {"enum": [1]}, "schema.enum", "use one of 1"),
    ("ba", {"type": "string", "pattern": "^a"}, "schema.pattern", "it must match ^a"),
    ("a\n", {"type": "string", "pattern": "a$"}, "schema.pattern", "it must match a$"),
    ("", {"type": "string", "minLength": 1}, "schema.minLength", "give it a value, or leave the field out"),
    ("a", {"type": "string", "minLength": 2}, "schema.minLength", "it has 1; write a longer text"),
    ("abc", {"type": "string", "maxLength": 2}, "schema.maxLength", "it has 3; shorten it"),
    (0, {"type": "integer", "minimum": 1}, "schema.minimum", "use a number that is 1 or more"),
    (
        1,
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        "schema.minimum",
        "use a number that is greater than 1",
    ),
    (2, {"type": "integer", "maximum": 1}, "schema.maximum", "use a number that is 1 or less"),
    (
        1,
        {"type": "integer", "maximum": 1, "exclusiveMaximum": True},
        "schema.maximum",
        "use a number that is less than 1",
    ),
    (3, {"type": "integer", "multipleOf": 2}, "schema.multipleOf", "use a multiple of 2"),
    (
        2**31,
        {"type": "integer", "format": "int32"},
        "schema.format",
        "use a number from -2147483648 to 2147483647",
    ),
    (1e30, {"type": "integer", "format": "int64"}, "schema.format", f"use a number from {-(2**63)} to {2**63 - 1}"),
    ("now", {"type": "string", "format": "date-time"}, "schema.format", 'write it like "2030-01-31T08:00:00Z"'),
    (
        "2030-13-01T00:00:00Z",
        {"type": "string", "format": "date-time"},
        "schema.format",
        'write it like "2030-01-31T08:00:00Z"',
    ),
    ([], {"type": "array", "minItems": 1}, "schema.minItems", "it has 0; add 1"),
    ([1, 2], {"type": "array", "maxItems": 1}, "schema.maxItems", "it has 2; remove 1"),
    ({}, {"type": "object", "minProperties": 1}, "schema.minProperties", "it has 0; add more"),
    (
        {"a": 1, "b": 1},
        {"type": "object", "maxProperties": 1, "additionalProperties": True},
        "schema.maxProperties",
        "it has 2; remove some",
    ),
    ({}, {"type": "object", "required": ["spec"]}, "schema.required", "add the field spec"),
    (
        {"a": None},
        {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
        "schema.required",
        "add the field a",
    ),
    (5, {"allOf": [{"minimum": 6}]}, "schema.allOf", "compare it with the kind's schema"),
    ({}, {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "schema.anyOf", "look at the fields a, b"),
    (
        {"a": 1, "b": 1},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "schema.oneOf",
        "look at the fields a, b",
    ),
    ({"a": 1}, {"not": {"required": ["a"]}}, "schema.not", "look at the fields a"),
]


@pytest.mark.parametrize(("tree", "schema", "rule", "fix"), BROKEN)
def test_a_broken_keyword_is_told_with_a_fix(tree: Any, schema: dict[str, Any], rule: str, fix: str) -> None:
    found = only_problem(tree, schema)
    assert (found.rule, found.fix, found.severity) == (rule, fix, "error")


KNOWN = {"type": "object", "properties": {"replicas": INTEGER, "minReplicas": INTEGER, "template": {"type": "object"}}}


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("replica", "did you mean replicas?"),
        ("Replicas", "did you mean replicas?"),
        ("minRelpicas", "did you mean minReplicas?"),
        ("somethingElse", "remove it: Kubernetes ignores fields it does not know"),
    ],
)
def test_an_unknown_field_is_a_warning_with_the_nearest_name(written: str, fix: str) -> None:
    found = only_problem({written: 1}, KNOWN)
    assert (found.rule, found.severity, found.fix) == ("schema.unknown-field", "warning", fix)
    assert found.problem == f'unknown field "{written}"'


def test_an_object_without_declared_fields_knows_none() -> None:
    assert only_problem({"a": 1}, {"type": "object"}).rule == "schema.unknown-field"


def test_a_map_list_refuses_rows_with_the_same_keys_counting_defaults() -> None:
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
        "items": {
            "type": "object",
            "properties": {"containerPort": INTEGER, "protocol": {"type": "string", "default": "TCP"}},
        },
    }
    rows = [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}, {"containerPort": 1, "protocol": "TCP"}]
    found = only_problem(rows, ports)
    assert (found.path, found.rule) == ((2,), "schema.duplicate")
    assert found.problem == 'another item of this list has containerPort 1 and protocol "TCP" already'


def test_a_set_refuses_equal_items_only() -> None:
    schema = {"type": "array", "x-kubernetes-list-type": "set", "items": {}}
    assert list(check([1, "1", True, 1.5, None], schema)) == []
    assert only_problem([{"a": 1, "b": 2}, {"b": 2, "a": 1}], schema).path == (1,)


def test_problems_carry_the_path_to_the_value() -> None:
    schema = {"type": "object", "properties": {"groups": {"type": "array", "items": KNOWN}}}
    found = list(check({"groups": [{}, {"replicas": "3"}]}, schema, ("spec",)))
    assert [format_path(problem.path) for problem in found] == ["spec.groups[1].replicas"]


def test_outer_problems_come_before_inner_ones_and_siblings_in_document_order() -> None:
    schema = {"type": "object", "properties": {"b": KNOWN, "a": STRING}, "required": ["c"]}
    paths = [format_path(p.path) for p in check({"b": {"replicas": "x"}, "a": 1, "z": 1}, schema)]
    assert paths == ["c", "z", "b.replicas", "a"]


def test_references_are_looked_up_and_keywords_beside_them_win() -> None:
    definitions = {"Name": {"type": "string", "minLength": 5}}
    schema = {"type": "object", "properties": {"a": {"$ref": "Name"}, "b": {"$ref": "Name", "minLength": 1}}}
    found = list(check({"a": "x", "b": "x"}, schema, (), definitions.__getitem__))
    assert [problem.path for problem in found] == [("a",)]


def test_a_reference_without_definitions_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError, match="no definitions were given"):
        list(check({}, {"$ref": "Name"}))


def test_rules_are_run_by_their_predicates_and_skipped_without_one() -> None:
    schema = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "message": "too small"}]}
    assert list(check(1, schema)) == []
    found = list(check(1, schema, (), rules=lambda rule: (lambda value: value > 1) if rule == "self > 1" else None))
    assert [(p.rule, p.problem, p.fix) for p in found] == [("schema.rule", "too small", "make this hold: self > 1")]


def test_a_huge_value_is_quoted_short() -> None:
    assert len(only_problem("x" * 1_000_000, INTEGER).problem) < 150


def test_a_text_that_is_no_unicode_is_told_and_not_a_crash() -> None:
    assert only_problem("\ud800", INTEGER).rule == "schema.type"


def test_the_number_of_problems_is_bounded_and_the_bound_is_told() -> None:
    problems = list(check(["x"] * (MAX_PROBLEMS * 3), {"type": "array", "items": INTEGER}))
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].problem == "has more problems than are listed"


def test_nesting_far_beyond_the_recursion_limit_is_walked() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    tree: list[Any] = []
    for _ in range(50_000):
        tree = [tree]
    assert list(check(tree, schema)) == []


def test_a_pattern_that_nobody_understands_matches_everything() -> None:
    assert list(check("x", {"type": "string", "pattern": r"^(?=a)b$"})) == []


def test_warnings_alone_are_no_errors() -> None:
    assert not has_errors({"x": 1}, KNOWN)
    assert has_errors({"replicas": "1"}, KNOWN)
