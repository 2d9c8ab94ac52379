"""Which fields a value has, and how a set of fields relates to a schema.

Every leaf is a field, and so are the items of sets and tables, the entries of maps, and what is null or an empty map.
A named field that holds others is not a field of its own; for deciding what to remove it counts as one
(``with_named_fields``). When a schema made an atom of what had owners inside, they own the atom (``fit_to_schema``).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from heliostat.embedded.server.patches.apply.elements import (
    Element,
    ElementPath,
    field_element,
    field_name,
    is_field,
    is_key,
)
from heliostat.embedded.server.patches.apply.field_set import NO_FIELDS, FieldSet, build_field_set
from heliostat.embedded.server.patches.apply.shapes import LIST, MAP, SCALAR, ListShape, MapShape, Shape
from heliostat.embedded.server.patches.apply.values import indexed, kinds_of


def fields_of(value: Any, shape: Shape) -> FieldSet:
    return build_field_set(path for path in _fields(value, shape, ()) if path)


def _fields(value: Any, shape: Shape, path: ElementPath) -> Iterator[ElementPath]:
    kind = kinds_of(shape, value)[0]
    if kind == SCALAR:
        yield path
    elif kind == LIST and shape.list:
        yield from _fields_of_list(value, shape.list, path)
    elif shape.map:
        yield from _fields_of_map(value, shape.map, path)


def _fields_of_list(value: Any, shape: ListShape, path: ElementPath) -> Iterator[ElementPath]:
    if shape.is_atomic:
        yield path
    elif isinstance(value, list):
        items = list(indexed(value, shape))
        times = Counter(element for element, _ in items)
        for element, item in items:
            if times[element] == 1:  # of an item that is there twice nobody owns the inside
                yield from _fields(item, shape.items, (*path, element))
            yield (*path, element)


def _fields_of_map(value: Any, shape: MapShape, path: ElementPath) -> Iterator[ElementPath]:
    if shape.is_atomic:
        yield path
    elif isinstance(value, dict):
        for name, child in value.items():
            inner = (*path, field_element(name))
            child_shape = shape.child(name)
            if child_shape:
                yield from _fields(child, child_shape, inner)
            if child is None or child == {} or name not in shape.fields:
                yield inner


def with_named_fields(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set, and every named field on the way to its members."""
    named = shape.map.fields if shape and shape.map else {}
    passed = [element for element in fields.children if is_field(element) and field_name(element) in named]
    children = {e: with_named_fields(child, _shape_at(shape, e)) for e, child in fields.children.items()}
    return FieldSet(fields.members.union(passed), children)


def _shape_at(shape: Shape | None, element: Element) -> Shape | None:
    if shape and shape.map and is_field(element):
        return shape.map.child(field_name(element))
    return shape.list.items if shape and shape.list and is_key(element) else None


def fit_to_schema(fields: FieldSet, shape: Shape) -> FieldSet:
    """The set as an owner has it under the present schema."""
    atoms = build_field_set(path for path in _new_atoms(fields, shape, (), is_leaf=False) if path)
    return fields.without(atoms) | atoms if atoms else fields


def _new_atoms(fields: FieldSet, shape: Shape, path: ElementPath, *, is_leaf: bool) -> Iterator[ElementPath]:
    kind = shape.kinds[0]
    if kind == LIST and shape.list:
        if shape.list.is_atomic:
            if not is_leaf:
                yield path
            return
        shapes = dict.fromkeys(_elements(fields), shape.list.items)
    elif kind == MAP and shape.map and not shape.map.is_deduced:
        if shape.map.is_atomic:
            if not is_leaf and fields:
                yield path
            return
        found = {
            element: shape.map.child(field_name(element) if is_field(element) else "") for element in _elements(fields)
        }
        shapes = {element: child for element, child in found.items() if child}
    else:
        return
    for element, child in shapes.items():
        inner = fields.children.get(element)
        is_bare = element in fields.members and inner is None
        yield from _new_atoms(inner or NO_FIELDS, child, (*path, element), is_leaf=is_bare)


def _elements(fields: FieldSet) -> list[Element]:
    return [*fields.children, *(fields.members - fields.children.keys())]
