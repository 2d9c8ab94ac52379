"""Labels and label selectors as they are judged wherever they stand in an object."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import each_invalid, forbidden, invalid, required
from heliostat.embedded.kinds.rules.name_rules import label_key_problems, label_value_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.selectors import Selector, SelectorError, selector_of


def label_causes(labels: JsonObject | None, path: str) -> Iterator[Cause]:
    for key, value in (labels or {}).items():
        yield from each_invalid(path, key, label_key_problems(key))
        yield from each_invalid(path, value, label_value_problems(value))


def selector_causes(selector: JsonObject | None, path: str) -> Iterator[Cause]:
    if not selector:
        return
    yield from label_causes(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        yield from _expression_causes(expression, f"{path}.matchExpressions[{index}]")


def _expression_causes(expression: JsonObject, path: str) -> Iterator[Cause]:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = expression.get("key", "")
    yield from each_invalid(f"{path}.key", key, label_key_problems(key))
    for index, value in enumerate(values):
        yield from each_invalid(f"{path}.values[{index}]", value, label_value_problems(value))


def read_selector(selector: JsonObject | None) -> Selector | None:
    """None for one that cannot be read, which ``selector_causes`` has told already."""
    try:
        return selector_of(selector)
    except SelectorError:
        return None


def is_empty_selector(selector: JsonObject) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")
