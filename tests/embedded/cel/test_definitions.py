"""Why a definition is refused: its rules' texts, expressions, old values and costs."""

from typing import Any

import pytest

from embedded.cel.objects import INTEGER, STRING, an_object, refusals, rule, with_rules
from heliostat.embedded.cel import compile_rules
from heliostat.kube.jsontree import encode_json
from heliostat.kube.schema import JsonSchema

NO_NUMBER = "int('a') == 1"
RULE = "x-kubernetes-validations[0]"
TEXTS: JsonSchema = {"type": "array", "items": STRING}
EXCESS = (
    "estimated rule cost exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, "
    "maxProperties, and maxLength where arrays, maps, and strings are declared)"
)


def shown(text: str, **more: Any) -> str:
    """A rule as messages show it."""
    fields = {"Message": "", "MessageExpression": "", "Reason": None, "FieldPath": "", "OptionalOldSelf": None}
    return encode_json({"Rule": text} | fields | more).decode()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (rule("self.a == 'x'"), []),
        (rule(" "), [f"{RULE}.rule: Required value: rule is not specified"]),
        (rule("true", message=" "), [f'{RULE}.message: Invalid value: " ": must be non-empty if specified']),
        (rule("true", message="a\nb"), [f'{RULE}.message: Invalid value: "a\\nb": must not contain line breaks']),
        (
            rule("true\n|| true"),
            [f"{RULE}.message: Required value: message must be specified if rule contains line breaks"],
        ),
        (rule("true\n|| true", message="m"), []),
        (
            rule("true", messageExpression=" "),
            [f"{RULE}.messageExpression: Required value: messageExpression must be non-empty if specified"],
        ),
        (
            rule("true", reason="Odd"),
            [
                (
                    f'{RULE}.reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", '
                    '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
                )
            ],
        ),
        (rule("true", fieldPath=".a"), []),
        (rule("true", fieldPath=".b"), [f'{RULE}.fieldPath: Invalid value: ".b": must be a valid path']),
        (rule("true", fieldPath="a"), [f'{RULE}.fieldPath: Invalid value: "a": must be a valid path']),
        (rule("true", fieldPath=".l[0]"), [f'{RULE}.fieldPath: Invalid value: ".l[0]": must be a valid path']),
        (
            rule("self.a"),
            [f"{RULE}.rule: Invalid value: {shown('self.a')}: cel expression must evaluate to a bool"],
        ),
        (
            rule("self.b == 1"),
            [
                (
                    f"{RULE}.rule: Invalid value: {shown('self.b == 1')}: compilation failed: "
                    "ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^"
                )
            ],
        ),
        (
            rule(NO_NUMBER),
            [
                (
                    f"{RULE}.rule: Invalid value: {shown(NO_NUMBER)}: "
                    "program instantiation failed: type conversion error from 'string' to 'int'"
                )
            ],
        ),
        (
            rule("true", messageExpression="1"),
            [
                (
                    f"{RULE}.messageExpression: Invalid value: {shown('true', MessageExpression='1')}: "
                    "messageExpression must evaluate to a string"
                )
            ],
        ),
        (
            rule("true", messageExpression="b"),
            [
                (
                    f"{RULE}.messageExpression: Invalid value: {shown('true', MessageExpression='b')}: "
                    "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'b' "
                    "(in container '')\n | b\n | ^"
                )
            ],
        ),
        (
            rule("true", optionalOldSelf=True),
            [f"{RULE}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"],
        ),
        (rule("oldSelf.?a.orValue('') == self.a", optionalOldSelf=True), []),
    ],
)
def test_a_rule_is_refused_for_what_is_wrong_with_it(written: JsonSchema, expected: list[str]) -> None:
    assert refusals(an_object(written, a=STRING, l=TEXTS)) == expected


def test_a_broken_text_below_keeps_the_rules_above_from_being_compiled() -> None:
    spec = an_object(rule("self.nope"), a=with_rules(STRING, rule("")))
    assert refusals(spec) == [f"properties[a].{RULE}.rule: Required value: rule is not specified"]


@pytest.mark.parametrize("list_type", [None, "atomic", "set"])
def test_old_items_exist_only_in_map_lists(list_type: str | None) -> None:
    items = with_rules({"type": "string", "maxLength": 10}, rule("self == oldSelf"))
    names = {"type": "array", "maxItems": 10, "items": items}
    spec = an_object(l=names | ({"x-kubernetes-list-type": list_type} if list_type else {}))
    assert refusals(spec) == [
        (
            f'properties[l].items.{RULE}.rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the '
            "uncorrelatable portion of the schema within schema.properties[spec].properties[l]"
        )
    ]


def test_old_items_exist_in_a_map_list_and_in_a_map() -> None:
    item = with_rules({"type": "object", "properties": {"k": STRING}, "required": ["k"]}, rule("self == oldSelf"))
    map_list = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item}
    assert refusals(an_object(l=map_list, m={"type": "object", "additionalProperties": item})) == []


def test_a_part_without_a_type_cannot_have_rules() -> None:
    spec = an_object(a=with_rules({"x-kubernetes-preserve-unknown-fields": True}, rule("true")))
    (line,) = refusals(spec)
    assert line.startswith(
        "properties[a].x-kubernetes-validations: Internal error: internal error: failed to construct"
    )


def test_a_rule_that_may_cost_too_much_is_refused_with_the_sum_of_all() -> None:
    assert refusals(an_object(l=with_rules(TEXTS, rule("self.all(x, self.all(y, x == y))")))) == [
        f"properties[l].{RULE}.rule: Forbidden: {EXCESS.format('more than 100x')}",
        (
            f"properties[l].{RULE}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for "
            "entire OpenAPIv3 schema"
        ),
        (
            "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds "
            f"budget by factor of more than 100x ({EXCESS.split(' (')[1]}"
        ),
    ]


def test_limits_in_the_schema_make_the_same_rule_acceptable() -> None:
    texts: JsonSchema = {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 20}}
    assert refusals(an_object(l=with_rules(texts, rule("self.all(x, self.all(y, x == y))")))) == []


@pytest.mark.parametrize(("items", "factor"), [(500, "1.125250x"), (700, "2.2x"), (3000, "40.5x")])
def test_the_excess_is_told_as_a_factor(items: int, factor: str) -> None:
    texts: JsonSchema = {"type": "array", "maxItems": items, "items": {"type": "string", "maxLength": 100}}
    found = refusals(an_object(l=with_rules(texts, rule("self.all(x, self.all(y, x == y))"))))
    assert found[0] == f"properties[l].{RULE}.rule: Forbidden: {EXCESS.format(factor)}"


def test_a_rule_counts_as_often_as_it_may_run() -> None:
    name = with_rules({"type": "string", "maxLength": 1000}, rule("self.matches('^[a-z]+(-[a-z]+)*$')"))
    items: JsonSchema = {"type": "array", "items": name}
    assert refusals(an_object(l={**items, "maxItems": 10})) == []
    assert "estimated rule cost exceeds budget" in refusals(an_object(l={**items, "maxItems": 100_000}))[0]
    assert "estimated rule cost exceeds budget" in refusals(an_object(l=items))[0]


def test_many_rules_add_up() -> None:
    texts: JsonSchema = {"type": "array", "maxItems": 200, "items": {"type": "string", "maxLength": 100}}
    rules = [rule(f"self.all(x, self.all(y, x == y || {n} == 0))") for n in range(60)]
    found = refusals(an_object(l=with_rules(texts, *rules)))
    assert len(found) == 5
    assert found[-1].startswith("schema: Forbidden: x-kubernetes-validations estimated rule cost total")


def test_the_place_of_the_schema_is_the_callers_to_say() -> None:
    at = "spec.versions[1].schema.openAPIV3Schema"
    (problem,) = compile_rules(with_rules({"type": "object"}, rule("1")), at).problems
    assert problem.field == f"{at}.{RULE}.rule"


def test_rules_about_numbers_need_no_limits() -> None:
    assert refusals(an_object(rule("self.a < self.b"), a=INTEGER, b=INTEGER)) == []
