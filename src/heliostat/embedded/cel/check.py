"""Does an object keep the rules of its schema, and if not, which and where.

A rule runs for every value at its place that is not null. Transition rules run only where there was a value before:
fields by name, values of maps by key, items of map lists by their keys. A failure of a rule that does not look at the
old value is only a warning when nothing at its place has changed. Work is counted against a budget; when that is used
up, the check ends with an error that says so.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, NoReturn, TypeAlias

from heliostat.embedded.cel.budgets import OBJECT_BUDGET, RULE_LIMIT
from heliostat.embedded.cel.changes import correlate_items, is_unchanged
from heliostat.embedded.cel.errors import CostExceededError, EvaluationError, NoSuchOverloadError
from heliostat.embedded.cel.frames import COST, OLD_SELF, SELF, Frame
from heliostat.embedded.cel.places import ROOT, Place, RuleProblem, at_field, at_key, at_path, build_problem, quoted
from heliostat.embedded.cel.program import Program
from heliostat.embedded.cel.readers import read
from heliostat.embedded.cel.rule_compiler import CompiledRule
from heliostat.embedded.cel.rules import CompiledRules, RuleNode
from heliostat.embedded.cel.values import NONE, Optional
from heliostat.kube.schema import JsonSchema

LONGEST_MESSAGE = 5 * 1024

Pair: TypeAlias = tuple[Any, Any, JsonSchema]  # a value, what it was, and their schema

_NO_PAIR: Pair = (None, None, {})
_SMALLER = "make the object smaller: its rules need more work than an object may cause"
_NO_MORE = "no further validation rules will be run"
_OUT_OF_BUDGET = f"validation failed due to running out of cost budget, {_NO_MORE}"
_OVER_LIMIT = f"'{CostExceededError()}': {_NO_MORE} due to call cost exceeds limit"
_MESSAGE_OUT_OF_BUDGET = f"messageExpression evaluation failed due to running out of cost budget, {_NO_MORE}"
_MESSAGE_OVER_LIMIT = f"{_NO_MORE} due to call cost exceeds limit for messageExpression"
_NO_OVERLOAD = "call arguments did not match a supported operator, function or macro signature"


def check_rules(
    compiled: CompiledRules, new_tree: Any, old_tree: Any = None, budget: int = OBJECT_BUDGET
) -> Iterator[RuleProblem]:
    """Every rule that does not hold; ``old_tree`` is None when the object is new. Severity "warning" lets it pass."""
    if compiled.root is None:
        return iter(())
    check = _Check(budget, has_old=old_tree is not None)
    with suppress(_StopError):
        check.visit(compiled.root, new_tree, old_tree, _NO_PAIR, ROOT)
    return iter(check.problems)


class _StopError(Exception):
    """The budget is used up."""


class _Check:
    def __init__(self, budget: int, *, has_old: bool) -> None:
        self.problems: list[RuleProblem] = []
        self._budget = budget
        self._has_old = has_old

    def visit(self, node: RuleNode, value: Any, old: Any, anchor: Pair, place: Place) -> None:
        """``anchor`` is the nearest value above whose old value is known."""
        if value is None:
            return
        if old is not None:
            anchor = (value, old, node.schema)
        if node.rules:
            self._run_all(node, value, old, anchor, place)
        if isinstance(value, list):
            self._visit_items(node, value, old, anchor, place)
        elif isinstance(value, dict):
            self._visit_map(node, value, old if isinstance(old, dict) else {}, anchor, place)

    def _visit_items(self, node: RuleNode, value: list[Any], old: Any, anchor: Pair, place: Place) -> None:
        if node.items is None:
            return
        olds = correlate_items(value, old, node.keys) if self._has_old else [None] * len(value)
        for index, (item, old_item) in enumerate(zip(value, olds, strict=True)):
            self.visit(node.items, item, old_item, anchor, at_key(place, index))

    def _visit_map(
        self, node: RuleNode, value: dict[str, Any], old: dict[str, Any], anchor: Pair, place: Place
    ) -> None:
        if node.values is not None:
            for key, item in value.items():
                self.visit(node.values, item, old.get(key), anchor, at_key(place, key))
        for name, field in node.fields.items():
            if name in value:
                self.visit(field, value[name], old.get(name), anchor, at_field(place, name))

    def _run_all(self, node: RuleNode, value: Any, old: Any, anchor: Pair, place: Place) -> None:
        if self._budget <= 0:
            self._stop(_problem(node, place, _OUT_OF_BUDGET, _SMALLER))
        for rule in node.rules:
            if old is not None or not rule.uses_old_self or rule.has_optional_old:
                self._run(rule, node, value, old, anchor, place)

    def _run(self, rule: CompiledRule, node: RuleNode, value: Any, old: Any, anchor: Pair, place: Place) -> None:
        frame = rule.program.frame(value, None, RULE_LIMIT)
        holds, failure = False, ""
        try:
            _bind(frame, rule, node, old)
            holds = rule.program.run(frame) is True
        except NoSuchOverloadError as error:
            failure = f"'{error}': {_NO_OVERLOAD} for rule: {rule.text}"
        except EvaluationError as error:
            failure = f"{error} evaluating rule: {rule.text}"
        except CostExceededError:
            frame[COST] = max(frame[COST], RULE_LIMIT + 1)
        self._spend(rule, node, frame[COST], place)
        if failure:
            self.problems.append(_problem(node, place, failure, _fix(rule)))
        elif not holds:
            self._report(rule, node, frame, anchor, place)

    def _spend(self, rule: CompiledRule, node: RuleNode, cost: int, place: Place) -> None:
        if cost > self._budget:
            self._stop(_problem(node, place, _OUT_OF_BUDGET, _SMALLER))
        self._budget -= cost
        if cost > RULE_LIMIT:
            self._stop(_problem(node, place, f"{_OVER_LIMIT} for rule: {rule.text}", _fix(rule)))

    def _report(self, rule: CompiledRule, node: RuleNode, frame: Frame, anchor: Pair, place: Place) -> None:
        if rule.field_path is not None:
            place = at_path(place, rule.field_path.keys, rule.field_path.text)
        detail = rule.failure if rule.message is None else self._message(rule, rule.message, node, frame, place)
        was_broken_before = not rule.uses_old_self and anchor[1] is not None and is_unchanged(*anchor)
        severity: Literal["error", "warning"] = "warning" if was_broken_before else "error"
        self.problems.append(_problem(node, place, detail, _fix(rule), reason=rule.reason, severity=severity))

    def _message(self, rule: CompiledRule, message: Program, node: RuleNode, frame: Frame, place: Place) -> str:
        """What ``messageExpression`` gives, or the rule's own message when that is no good."""
        frame = message.frame(frame[SELF], frame[OLD_SELF], RULE_LIMIT)
        text: Any = None
        try:
            text = message.run(frame)
        except EvaluationError:
            pass
        except CostExceededError:
            self._stop(_problem(node, place, _MESSAGE_OVER_LIMIT, _fix(rule)))
        if frame[COST] > self._budget:
            self._stop(_problem(node, place, _MESSAGE_OUT_OF_BUDGET, _SMALLER))
        self._budget -= frame[COST]
        return _usable(text) or rule.failure

    def _stop(self, problem: RuleProblem) -> NoReturn:
        self.problems.append(problem)
        raise _StopError


def _problem(
    node: RuleNode,
    place: Place,
    detail: str,
    fix: str,
    *,
    reason: str = "FieldValueInvalid",
    severity: Literal["error", "warning"] = "error",
) -> RuleProblem:
    """The API server shows the type where the value would stand."""
    kind = quoted(node.schema.get("type", ""))
    return build_problem(place, detail, fix, value=kind, reason=reason, severity=severity)


def _bind(frame: Frame, rule: CompiledRule, node: RuleNode, old: Any) -> None:
    """``self`` and ``oldSelf`` as the rule sees them."""
    frame[SELF] = read(frame[SELF], node.reader)
    if rule.uses_old_self:
        known = None if old is None else read(old, node.reader)
        if rule.has_optional_old:
            known = NONE if old is None else Optional(is_present=True, value=known)
        frame[OLD_SELF] = known


def _usable(text: Any) -> str:
    """A message of one line; empty when it is none."""
    text = text.strip() if isinstance(text, str) else ""
    return "" if "\n" in text or len(text.encode()) > LONGEST_MESSAGE else text


def _fix(rule: CompiledRule) -> str:
    return f"make this hold: {rule.expression}"
