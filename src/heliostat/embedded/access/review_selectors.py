"""The selectors a review may carry: checked and read, though no rule of RBAC looks at them.

Rules: text or requirements, exactly one of them; an operator nobody knows is no error, it only leaves the question
broader than it was meant, which the answer says. The sentences are kube-apiserver's.
"""

from collections.abc import Iterator

from heliostat.embedded.refusals import Cause, invalid_value, required_value
from heliostat.kube.field_selectors import parse_field_selector
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.names import label_key_problems
from heliostat.kube.selector_text import parse_selector
from heliostat.kube.selectors import SelectorError, selector_of

_WHERE = "spec.resourceAttributes"
_SELECTORS = ("fieldSelector", "labelSelector")
_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")


def check_selectors(attributes: JsonObject) -> Iterator[Cause]:
    """What is wrong with the selectors of ``resourceAttributes``."""
    for which in _SELECTORS:
        selector = attributes.get(which)
        if selector is not None:
            yield from _check_selector(selector, f"{_WHERE}.{which}", is_label=which == "labelSelector")


def describe_ignored(attributes: JsonObject) -> str:
    """Which selectors the decision could not take into account, in words; empty when it could."""
    texts = []
    for which in _SELECTORS:
        unread, read = _count_unread(attributes.get(which) or {}, is_label=which == "labelSelector")
        if unread:
            texts.append(f"{_WHERE}.{which} {'partially ' if read else ''}ignored due to parse error")
    return "; ".join(texts)


def _check_selector(selector: JsonObject, where: str, *, is_label: bool) -> Iterator[Cause]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or []
    if raw and requirements:
        yield invalid_value(f"{where}.rawSelector", raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        problem = f"when {where} is specified, requirements or rawSelector is required"
        yield required_value(f"{where}.requirements", problem)
    for index, requirement in enumerate(requirements):
        yield from _check_requirement(requirement, f"{where}.requirements[{index}]", is_label=is_label)


def _check_requirement(requirement: JsonObject, where: str, *, is_label: bool) -> Iterator[Cause]:
    key, operator = requirement.get("key") or "", requirement.get("operator")
    if not is_label and not key:
        yield required_value(f"{where}.key", "must be specified")
    if operator in _WITH_VALUES and not requirement.get("values"):
        yield required_value(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in _WITHOUT_VALUES and requirement.get("values"):
        problem = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield Cause("FieldValueForbidden", problem, f"{where}.values")
    if is_label:
        for problem in label_key_problems(key):
            yield invalid_value(f"{where}.key", key, problem)


def _count_unread(selector: JsonObject, *, is_label: bool) -> tuple[int, int]:
    """How many parts of a selector cannot be read, and how many can."""
    if raw := selector.get("rawSelector"):
        return (0, 1) if _is_readable(raw, is_label=is_label) else (1, 0)
    requirements = selector.get("requirements") or []
    read = [_is_known_label(part) if is_label else _is_known_field(part) for part in requirements]
    return read.count(False), read.count(True)


def _is_readable(text: str, *, is_label: bool) -> bool:
    try:
        parse_selector(text) if is_label else parse_field_selector(text)
    except SelectorError:
        return False
    return True


def _is_known_label(requirement: JsonObject) -> bool:
    try:
        selector_of({"matchExpressions": [requirement]})
    except SelectorError:
        return False
    return True


def _is_known_field(requirement: JsonObject) -> bool:
    return requirement.get("operator") in _WITH_VALUES and len(requirement.get("values") or ()) == 1
