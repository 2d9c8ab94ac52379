"""An object without some of its fields. What is left empty by that becomes null, and atoms go as a whole."""

from typing import Any

from heliostat.embedded.server.patches.apply.elements import field_element
from heliostat.embedded.server.patches.apply.field_set import FieldSet
from heliostat.embedded.server.patches.apply.shapes import LIST, SCALAR, ListShape, MapShape, Shape
from heliostat.embedded.server.patches.apply.values import as_list, as_map, indexed, kinds_of


def remove_fields(value: Any, fields: FieldSet, shape: Shape) -> Any:
    kind = kinds_of(shape, value)[0]
    if kind == SCALAR:
        return value
    if kind == LIST and shape.list:
        return None if shape.list.is_atomic else _remove_items(as_list(value), fields, shape.list)
    if shape.map:
        return None if shape.map.is_atomic else _remove_entries(as_map(value), fields, shape.map)
    return value


def _remove_items(items: list[Any], fields: FieldSet, shape: ListShape) -> list[Any] | None:
    kept = [(element, item) for element, item in indexed(items, shape) if element not in fields.members]
    left = [
        remove_fields(item, fields.under(element), shape.items) if element in fields.children else item
        for element, item in kept
    ]
    return left or None


def _remove_entries(value: dict[str, Any], fields: FieldSet, shape: MapShape) -> dict[str, Any] | None:
    left = {}
    for name, child in value.items():
        element = field_element(name)
        inner = shape.child(name)
        if element in fields.children and inner:
            child = remove_fields(child, fields.under(element), inner)
        if element not in fields.members:
            left[name] = child
    return left or None
