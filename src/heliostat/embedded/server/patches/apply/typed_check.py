"""Does an object fit its shape, so that its fields can be owned and merged? Types, unknown fields, repeated items.

An applied object may not mention the same item of a set or table twice; an object that is there already may.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from heliostat.embedded.server.patches.apply.elements import Element, field_element, show_path
from heliostat.embedded.server.patches.apply.shapes import LIST, SCALAR, ListShape, MapShape, Shape
from heliostat.embedded.server.patches.apply.values import NoElementError, item_element, kinds_of
from heliostat.embedded.server.patches.go_values import go_syntax, go_text, go_type

Finding: TypeAlias = tuple[str, str]  # where, and what


def misfits(value: Any, shape: Shape, *, allow_repeats: bool = False) -> list[Finding]:
    """Everything that does not fit, with its place inside the value."""
    kind = kinds_of(shape, value)[0]
    if value is None:
        return []
    if kind == SCALAR:
        problem = _scalar_problem(value, shape.scalar)
        return [("", problem)] if problem else []
    if kind == LIST and shape.list:
        return list(_misfits_in_list(value, shape.list, allow_repeats))
    return list(_misfits_in_map(value, shape.map, allow_repeats)) if shape.map else []


def describe_misfits(findings: list[Finding]) -> str:
    lines = [f"{where}: {what}" if where else what for where, what in findings]
    return lines[0] if len(lines) == 1 else "\n  ".join(["errors:", *lines])


def _misfits_in_list(value: Any, shape: ListShape, allow_repeats: bool) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield "", f"expected list, got &{{{go_text(value)}}}"
        return
    seen: set[Element] = set()
    for index, item in enumerate(value):
        element = f"i:{index}"
        if not shape.is_atomic:
            try:
                element = item_element(item, shape)
            except NoElementError as problem:
                yield "", f"element {index}: {problem}"
                return
        if element in seen and not allow_repeats:
            yield "", f"duplicate entries for key {show_path((element,))}"
        seen.add(element)
        yield from _at(element, misfits(item, shape.items, allow_repeats=allow_repeats))


def _misfits_in_map(value: Any, shape: MapShape, allow_repeats: bool) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield "", f"expected map, got &{{{go_text(value)}}}"
        return
    for name, child in value.items():
        child_shape = shape.child(name)
        if child_shape is None:
            yield from _at(field_element(name), [("", "field not declared in schema")])
            return
        yield from _at(field_element(name), misfits(child, child_shape, allow_repeats=allow_repeats))


def _at(element: Element, findings: list[Finding]) -> list[Finding]:
    return [(show_path((element,)) + where, what) for where, what in findings]


def _scalar_problem(value: Any, expected: str) -> str:
    if expected == "numeric" and (isinstance(value, bool) or not isinstance(value, (int, float))):
        return f"expected numeric (int or float), got {go_type(value)}"
    if expected == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    if expected == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{go_text(value)}}}"
    if expected == "untyped" and isinstance(value, (dict, list)):
        return f"expected any scalar, got &{{{go_text(value)}}}"
    return ""
