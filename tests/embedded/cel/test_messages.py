"""What is reported when a rule does not hold: text, reason and place."""

from typing import Any

import pytest

from embedded.cel.objects import STRING, an_object, broken, compiled, rule, with_rules
from heliostat.embedded.cel import check_rules, compile_rules
from heliostat.kube.schema import JsonSchema

NUMBERS: JsonSchema = {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "spec: Invalid value: \"object\": failed rule: self.a == 'x'"),
        ({"message": "  a must be x "}, 'spec: Invalid value: "object": a must be x'),
        ({"messageExpression": "'a is ' + self.a"}, 'spec: Invalid value: "object": a is y'),
        (
            {"message": "m", "messageExpression": "' from the expression '"},
            'spec: Invalid value: "object": from the expression',
        ),
        ({"message": "m", "messageExpression": "self.b"}, 'spec: Invalid value: "object": m'),
        ({"message": "m", "messageExpression": "''"}, 'spec: Invalid value: "object": m'),
        ({"message": "m", "messageExpression": "'two\\nlines'"}, 'spec: Invalid value: "object": m'),
        ({"messageExpression": "self.b"}, "spec: Invalid value: \"object\": failed rule: self.a == 'x'"),
        ({"reason": "FieldValueForbidden"}, "spec: Forbidden: failed rule: self.a == 'x'"),
        ({"reason": "FieldValueRequired", "message": "m"}, "spec: Required value: m"),
        ({"reason": "FieldValueDuplicate", "message": "m"}, 'spec: Duplicate value: "object"'),
        ({"reason": "FieldValueInvalid", "message": "m"}, 'spec: Invalid value: "object": m'),
        ({"fieldPath": ".a", "message": "m"}, 'spec.a: Invalid value: "object": m'),
        ({"fieldPath": ".c['k']", "message": "m"}, 'spec.c[k]: Invalid value: "object": m'),
        ({"fieldPath": "['x.y']", "message": "m"}, 'spec.x.y: Invalid value: "object": m'),
    ],
)
def test_a_failed_rule_says_what_it_was_told_to(more: dict[str, Any], line: str) -> None:
    labels: JsonSchema = {"type": "object", "additionalProperties": STRING}
    spec = an_object(rule("self.a == 'x'", **more), a=STRING, b=STRING, c=labels, **{"x.y": STRING})
    assert broken(spec, {"a": "y"}) == [line]


def test_a_message_longer_than_5_kib_is_not_used() -> None:
    spec = an_object(rule("false", message="m", messageExpression="self.a"), a=STRING)
    assert broken(spec, {"a": "x" * 5120})[0].endswith("x" * 5120)
    assert broken(spec, {"a": "x" * 5121}) == ['spec: Invalid value: "object": m']


def test_reason_and_path_are_there_for_programs() -> None:
    spec = an_object(rule("false", reason="FieldValueForbidden", fieldPath=".a"), a=STRING)
    (problem,) = check_rules(compiled(spec), {"spec": {}})
    assert (problem.reason, problem.path, problem.field) == ("FieldValueForbidden", ("spec", "a"), "spec.a")


def test_the_message_sees_the_old_value() -> None:
    expression = "'it was ' + oldSelf.a"
    spec = an_object(rule("self.a == oldSelf.a", messageExpression=expression), a=STRING)
    assert broken(spec, {"a": "y"}, {"a": "x"}) == ['spec: Invalid value: "object": it was x']


def test_all_rules_of_all_places_are_checked() -> None:
    spec = an_object(
        rule("false", message="one"),
        rule("true", message="two"),
        rule("self.items.size() == 9", message="three"),
        items={"type": "array", "items": with_rules({"type": "integer"}, rule("self > 0", message="four"))},
    )
    assert broken(spec, {"items": [1, 0, -1]}) == [
        'spec: Invalid value: "object": one',
        'spec: Invalid value: "object": three',
        'spec.items[1]: Invalid value: "integer": four',
        'spec.items[2]: Invalid value: "integer": four',
    ]


def test_null_and_absent_values_are_not_judged() -> None:
    spec = an_object(
        a={**with_rules(STRING, rule("false")), "nullable": True},
        l={"type": "array", "items": {**with_rules(STRING, rule("false")), "nullable": True}},
    )
    assert broken(spec, {"a": None, "l": [None]}) == []
    assert broken(spec, {}) == []
    assert len(broken(spec, {"a": "", "l": [None, ""]})) == 2


def test_an_evaluation_error_names_the_rule_by_its_message() -> None:
    spec = an_object(rule("self.a[1] == 1"), rule("self.a[2] == 1", message="the third is one"), a=NUMBERS)
    assert broken(spec, {"a": []}) == [
        'spec: Invalid value: "object": index out of bounds: 1 evaluating rule: self.a[1] == 1',
        'spec: Invalid value: "object": index out of bounds: 2 evaluating rule: the third is one',
    ]


def test_a_value_of_the_wrong_type_is_explained() -> None:
    spec = an_object(a=with_rules({"x-kubernetes-int-or-string": True}, rule("self < 5")))
    assert broken(spec, {"a": 3}) == []
    assert broken(spec, {"a": "3"}) == [
        (
            "spec.a: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, "
            "function or macro signature for rule: self < 5"
        )
    ]


def test_a_rule_about_the_whole_resource_sees_its_name() -> None:
    schema = with_rules({"type": "object"}, rule("self.metadata.name.startsWith('a') && self.kind == 'Foo'"))
    compiled_rules = compile_rules(schema)
    assert compiled_rules.problems == ()
    assert list(check_rules(compiled_rules, {"kind": "Foo", "metadata": {"name": "abc"}})) == []
    (problem,) = check_rules(compiled_rules, {"kind": "Foo", "metadata": {"name": "xyz"}})
    assert problem.field == "<nil>"
    assert problem.path == ()


def test_a_schema_without_rules_finds_nothing() -> None:
    assert list(check_rules(compile_rules({"type": "object"}), {"anything": 1})) == []
