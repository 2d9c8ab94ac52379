"""Constants, and lists and maps that are made while a rule runs."""

from collections.abc import Sequence
from typing import Any

from heliostat.embedded.cel.checker import Checked
from heliostat.embedded.cel.closures_access import MISSING
from heliostat.embedded.cel.errors import EvaluationError, NoSuchOverloadError
from heliostat.embedded.cel.frames import COST, Closure, Frame
from heliostat.embedded.cel.library_conversions import FOLDABLE
from heliostat.embedded.cel.syntax import Call, ListLiteral, Literal, MapLiteral, Node
from heliostat.embedded.cel.values import Optional, TypeValue

_LIST_COST, _MAP_COST = 10, 30


def fold_constant(node: Node, checked: Checked) -> Any:
    """The value of an expression that depends on nothing; ``MISSING`` for any other."""
    if isinstance(node, Literal):
        return node.value
    if node in checked.type_names:
        return TypeValue(checked.type_names[node])
    if isinstance(node, ListLiteral) and not node.optional:
        items = [fold_constant(item, checked) for item in node.items]
        return MISSING if MISSING in items else items
    if isinstance(node, MapLiteral):
        return _fold_map(node, checked)
    if isinstance(node, Call) and node.target is None and node.function in FOLDABLE and len(node.args) == 1:
        value = fold_constant(node.args[0], checked)
        return MISSING if value is MISSING else _convert(node, value, checked)
    return MISSING


def _fold_map(node: MapLiteral, checked: Checked) -> Any:
    entries: dict[Any, Any] = {}
    for entry in node.entries:
        key, value = fold_constant(entry.key, checked), fold_constant(entry.value, checked)
        if entry.is_optional or key is MISSING or value is MISSING or isinstance(key, (list, dict)):
            return MISSING
        entries[key] = value
    return entries


def _convert(node: Call, value: Any, checked: Checked) -> Any:
    """A conversion of a constant: done once. Where several overloads fit, running it will tell."""
    overloads = checked.overloads[node]
    if len(overloads) > 1:
        return MISSING
    return overloads[0].run(value)


def build_list(items: Sequence[Closure], optional: frozenset[int]) -> Closure:
    if not optional:

        def make(frame: Frame) -> list[Any]:
            frame[COST] += _LIST_COST
            return [item(frame) for item in items]

        return make

    def make_with_optional(frame: Frame) -> list[Any]:
        frame[COST] += _LIST_COST
        made: list[Any] = []
        for index, item in enumerate(items):
            value = item(frame)
            if index not in optional:
                made.append(value)
            elif _is_present(value):
                made.append(value.value)
        return made

    return make_with_optional


def build_map(keys: Sequence[Closure], values: Sequence[Closure], optional: Sequence[bool]) -> Closure:
    entries = list(zip(keys, values, optional, strict=True))

    def make(frame: Frame) -> dict[Any, Any]:
        frame[COST] += _MAP_COST
        made: dict[Any, Any] = {}
        for key, value, is_optional in entries:
            name, item = key(frame), value(frame)
            try:
                if not is_optional:
                    made[name] = item
                elif _is_present(item):
                    made[name] = item.value
            except TypeError:
                raise EvaluationError("unsupported key type") from None
        return made

    return make


def _is_present(value: Any) -> bool:
    if not isinstance(value, Optional):
        raise NoSuchOverloadError
    return value.is_present
