"""Evaluation is bounded: per rule, per object, in memory, whatever rule and object say."""

from typing import Any

import pytest

from embedded.cel.evaluation import evaluate, noise
from embedded.cel.objects import STRING, an_object, compiled, rule, with_rules
from heliostat.embedded.cel import CompiledRules, check_rules, compile_rules
from heliostat.embedded.cel.budgets import OBJECT_BUDGET, RULE_LIMIT
from heliostat.embedded.cel.errors import CostExceededError
from heliostat.kube.schema import JsonSchema

pytestmark = pytest.mark.slow

NUMBERS: JsonSchema = {"type": "array", "items": {"type": "integer"}}
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


def lines(rules: CompiledRules, tree: Any, budget: int = OBJECT_BUDGET) -> list[str]:
    return [f"{problem.field}: {problem.problem}" for problem in check_rules(rules, tree, None, budget)]


def test_one_evaluation_stops_at_its_limit_and_ends_the_check() -> None:
    spec = an_object(
        numbers=with_rules(NUMBERS, rule("self.all(x, self.all(y, x == y))"), rule("false", message="never said"))
    )
    rules = compile_rules({"type": "object", "properties": {"spec": spec}})
    assert lines(rules, {"spec": {"numbers": [1] * 2000}}) == [
        (
            "spec.numbers: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further "
            "validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, x == y))"
        )
    ]


def test_an_object_has_a_budget_for_all_its_rules() -> None:
    spec = an_object(names={"type": "array", "maxItems": 9, "items": with_rules(STRING, rule("self == 'a'"))})
    rules = compiled(spec)
    tree = {"spec": {"names": ["a"] * 8}}
    assert lines(rules, tree, budget=16) == []
    assert lines(rules, tree, budget=15) == [f'spec.names[7]: Invalid value: "string": {OUT_OF_BUDGET}']
    assert lines(rules, tree, budget=8) == [f'spec.names[4]: Invalid value: "string": {OUT_OF_BUDGET}']


def test_what_was_found_before_the_budget_ran_out_is_kept() -> None:
    spec = an_object(rule("false", message="first"), rule("self.a == self.a"), a=STRING)
    rules = compiled(spec)
    assert lines(rules, {"spec": {"a": "x"}}, budget=3) == [
        'spec: Invalid value: "object": first',
        f'spec: Invalid value: "object": {OUT_OF_BUDGET}',
    ]


@pytest.mark.parametrize(
    ("expression", "end"),
    [
        ("self.a + self.a", "messageExpression evaluation failed due to running out of cost budget, "),
        (
            "self.a.split('').map(x, self.a.split('').map(y, x + y).join()).join()",
            "call cost exceeds limit for message",
        ),
    ],
)
def test_a_message_may_not_cost_more_than_is_left(expression: str, end: str) -> None:
    spec = an_object(rule("self.a == ''", messageExpression=expression), a={"type": "string", "maxLength": 30})
    rules = compile_rules({"type": "object", "properties": {"spec": spec}})
    (line,) = lines(rules, {"spec": {"a": "x" * 3000}}, budget=50 if "+ self" in expression else OBJECT_BUDGET)
    assert end in line


def test_a_rule_over_the_limit_is_stopped_inside_macros_of_every_kind() -> None:
    many = list(range(1100))
    for text in (
        "self.exists(x, self.exists(y, false))",
        "self.exists_one(x, self.exists_one(y, true))",
        "self.map(x, self.map(y, x)).size() > 0",
        "self.filter(x, self.filter(y, true).size() < 0).size() > 0",
        "self.transformMap(i, x, self.transformMap(j, y, x + y)).size() > 0",
        "self.transformMapEntry(i, x, {i: self.filter(y, true)}).size() > 0",
    ):
        with pytest.raises(CostExceededError):
            evaluate(text, many, NUMBERS)


def test_no_error_of_an_item_hides_that_the_limit_was_reached() -> None:
    with pytest.raises(CostExceededError):
        evaluate("self.exists(x, self.exists(y, 1 / 0 == 1)) || true", list(range(1000)), NUMBERS)


TEXT: JsonSchema = {"type": "string"}


@pytest.mark.parametrize(
    "text",
    [
        "self.replace('', self).size() > 0",
        "[self].map(x, self.split('').map(y, self)).size() > 0 && self.split('').map(y, self).join().size() > 0",
        f"'{'%s' * 20}'.format([{', '.join(['self'] * 20)}]).size() > 0",
    ],
)
def test_no_rule_builds_more_than_memory_can_bear(text: str) -> None:
    with pytest.raises(CostExceededError):
        evaluate(text, "x" * 1_000_000, TEXT)


def test_lists_do_not_double_without_end() -> None:
    text = "self"
    for depth in range(40):
        text = f"optional.of({text}).optMap(x{depth}, x{depth} + x{depth}).value()"
    with pytest.raises(CostExceededError):
        evaluate(f"{text}.size() > 0", [1] * 1000, NUMBERS)


def test_a_pattern_that_needs_too_much_work_ends_like_any_other_cost() -> None:
    with pytest.raises(CostExceededError):
        evaluate("self.matches('(a|b)*a(a|b){25}c')", noise(100_000), TEXT)


def test_the_limits_are_those_of_the_api_server() -> None:
    assert (RULE_LIMIT, OBJECT_BUDGET) == (1_000_000, 10_000_000)
