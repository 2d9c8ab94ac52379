"""Label selectors: the object form (``matchLabels``, ``matchExpressions``) and the text form (``a=b,c in (x,y),!d``).

Rules: every requirement must hold; ``!=`` and ``notin`` also hold when the label is missing; an absent selector matches
nothing and an empty one everything; ``Gt`` and ``Lt`` compare whole numbers, for node affinity.
Field selectors are another language: ``heliostat.kube.field_selectors``.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.names import label_key_problems, label_value_problems
from heliostat.kube.paths import Path, format_path


class SelectorError(ValueError):
    """What is wrong with a selector and how to fix it; ``path`` leads into its object form."""

    def __init__(self, problem: str, fix: str, path: Path = (), server_words: str = "") -> None:
        super().__init__(problem, fix, path)
        self.problem = problem
        self.fix = fix
        self.path = path
        self.server_words = server_words  # how kube-apiserver says it, where that is known

    def __str__(self) -> str:
        where = f"{format_path(self.path)}: " if self.path else ""
        return f"{where}{self.problem}; {self.fix}"


class Requirement(Struct, frozen=True):
    """One condition on one label. Operators: ``= != in notin exists ! gt lt``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return _OPERATORS[self.operator].holds(labels.get(self.key), self.values)

    def __str__(self) -> str:
        return _OPERATORS[self.operator].text.format(key=self.key, values=",".join(self.values))


class Selector(Struct, frozen=True):
    """Requirements sorted by key, so that equal selectors have equal text."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.matches_nothing:
            return False
        present = labels or {}
        return all(requirement.matches(present) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
NOTHING = Selector(matches_nothing=True)


class _Operator(Struct, frozen=True):
    text: str
    holds: Callable[[str | None, tuple[str, ...]], bool]


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


def _is_greater(label: str | None, values: tuple[str, ...]) -> bool:
    left, right = _whole(label), _whole(values[0])
    return left is not None and right is not None and left > right


def _is_less(label: str | None, values: tuple[str, ...]) -> bool:
    left, right = _whole(label), _whole(values[0])
    return left is not None and right is not None and left < right


_OPERATORS = {
    "=": _Operator("{key}={values}", lambda label, values: label in values),
    "!=": _Operator("{key}!={values}", lambda label, values: label not in values),
    "in": _Operator("{key} in ({values})", lambda label, values: label in values),
    "notin": _Operator("{key} notin ({values})", lambda label, values: label not in values),
    "exists": _Operator("{key}", lambda label, _: label is not None),
    "!": _Operator("!{key}", lambda label, _: label is None),
    "gt": _Operator("{key}>{values}", _is_greater),
    "lt": _Operator("{key}<{values}", _is_less),
}


def build_selector(requirements: list[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def build_requirement(key: str, operator: str, values: list[str], path: Path = ()) -> Requirement:
    """Checked as Kubernetes checks it; values come out sorted and single."""
    if problems := label_key_problems(key):
        words = _server_words("<nil>", key, "; ".join(problems))
        raise SelectorError(f"{key!r} is not a label key: {problems[0]}", "correct the key", path, words)
    for index, value in enumerate(values):
        if problems := label_value_problems(value):
            words = _server_words(f"values[{index}][{key}]", value, "; ".join(problems))
            raise SelectorError(f"{value!r} is not a label value: {problems[0]}", "correct the value", path, words)
    if operator in ("gt", "lt") and (len(values) != 1 or _whole(values[0]) is None):
        given = values[0] if values else ""
        words = _server_words("values[0]", given, "for 'Gt', 'Lt' operators, the value must be an integer")
        raise SelectorError(f"{key}: Gt and Lt compare with one whole number", "give one whole number", path, words)
    return Requirement(key, operator, tuple(sorted(set(values))))


# The object form.

_EXPRESSION_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}


def _server_words(field: str, value: str, why: str) -> str:
    return f"unable to parse requirement: {field}: Invalid value: {go_quote(value)}: {why}"


def selector_of(tree: JsonObject | None, path: Path = (), *, numeric: bool = False) -> Selector:
    """The selector of a ``LabelSelector``, or with ``numeric`` of a node selector term's ``matchExpressions``."""
    if tree is None:
        return NOTHING
    if not isinstance(tree, dict):
        raise SelectorError("a selector is an object", "write matchLabels: or matchExpressions: below it", path)
    labels = _typed(tree, "matchLabels", dict, path)
    requirements = [_equality(key, value, (*path, "matchLabels", key)) for key, value in labels.items()]
    for index, expression in enumerate(_typed(tree, "matchExpressions", list, path)):
        requirements.append(_expression(expression, (*path, "matchExpressions", index), numeric=numeric))
    return build_selector(requirements)


def _typed(tree: JsonObject, key: str, kind: type, path: Path) -> Any:
    value = tree.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        what = "an object" if kind is dict else "a list"
        raise SelectorError(f"{key} is {what}", f"write it as {what}", (*path, key))
    return value


def _equality(key: str, value: Any, path: Path) -> Requirement:
    if not isinstance(value, str):
        raise SelectorError("a label value is text", "quote it", path)
    return build_requirement(key, "=", [value], path)


def _expression(tree: Any, path: Path, *, numeric: bool) -> Requirement:
    if not isinstance(tree, dict) or not isinstance(tree.get("key"), str):
        raise SelectorError("an expression has a key, an operator and values", "add the key", path)
    known = [name for name in _EXPRESSION_OPERATORS if numeric or name not in ("Gt", "Lt")]
    name = tree.get("operator")
    if name not in known:
        raise SelectorError(f"{name!r} is not an operator", f"use one of {', '.join(known)}", (*path, "operator"))
    values = _typed(tree, "values", list, path)
    if not all(isinstance(value, str) for value in values):
        raise SelectorError("values are text", "quote them", (*path, "values"))
    if (name in ("In", "NotIn")) != bool(values) and name not in ("Gt", "Lt"):
        problem = f"{name} needs at least one value" if not values else f"{name} takes no values"
        raise SelectorError(problem, "add a value" if not values else "remove the values", (*path, "values"))
    return build_requirement(tree["key"], _EXPRESSION_OPERATORS[name], values, path)
