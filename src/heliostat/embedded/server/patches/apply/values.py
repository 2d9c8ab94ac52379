"""Values as the walks of this package see them: of which kind, when equal, which element of a list.

Null is a value of no kind: it takes the form of whatever stands against it. Numbers are equal by value (1 is 1.0).
"""

from collections.abc import Iterator
from typing import Any

from heliostat.embedded.server.patches.apply.elements import Element, key_element, value_element
from heliostat.embedded.server.patches.apply.shapes import LIST, MAP, SCALAR, ListShape, Shape
from heliostat.embedded.server.patches.go_values import go_list
from heliostat.kube.jsontree import encode_json


class _Absent:
    """No value at all, where null is one."""


ABSENT = _Absent()


class NoElementError(ValueError):
    """An item of a set or table that cannot be told apart from others."""


def kinds_of(shape: Shape, value: Any) -> tuple[str, ...]:
    """What the value may be taken for: its own kind if the shape allows it, or else whatever the shape allows."""
    kind = _kind(value)
    return (kind,) if kind in shape.kinds else shape.kinds


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def is_same_text(left: Any, right: Any) -> bool:
    """A quick look that finds most equal containers, and never calls different ones equal."""
    return type(left) is type(right) and left == right and encode_json(left) == encode_json(right)


def item_element(item: Any, shape: ListShape) -> Element:
    """Which item of a set or table this is."""
    return _row_element(item, shape) if shape.keys else _set_element(item)


def indexed(items: list[Any], shape: ListShape) -> Iterator[tuple[Element, Any]]:
    return ((item_element(item, shape), item) for item in items)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return MAP
    if isinstance(value, list):
        return LIST
    return SCALAR if isinstance(value, (str, bool, int, float)) else ""


def _row_element(item: Any, shape: ListShape) -> Element:
    if item is None:
        raise NoElementError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise NoElementError("associative list with keys may not have non-map elements")
    key = {name: item[name] if name in item else shape.key_defaults.get(name) for name in shape.keys}
    key = {name: value for name, value in key.items() if value is not None or name in item}
    if not key:
        raise NoElementError(
            f"associative list with keys has an element that omits all key fields {go_list(shape.keys)}"
            " (and doesn't have default values for any key fields)"
        )
    return key_element(key)


def _set_element(item: Any) -> Element:
    if isinstance(item, dict):
        raise NoElementError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise NoElementError("not supported: associative list with lists as elements")
    if item is None:
        raise NoElementError("associative list without keys has an element that's an explicit null")
    return value_element(item)
