"""Which fields differ between two objects of one shape: added, changed, removed.

A field that only holds others is added or removed together with them. Atoms differ as a whole. An item that a live set
or table has more than once is compared as one field with all its copies.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from heliostat.embedded.server.patches.apply.elements import Element, ElementPath, field_element
from heliostat.embedded.server.patches.apply.field_set import FieldSet, build_field_set
from heliostat.embedded.server.patches.apply.shapes import LIST, SCALAR, ListShape, MapShape, Shape
from heliostat.embedded.server.patches.apply.values import (
    ABSENT,
    as_list,
    as_map,
    indexed,
    is_equal,
    is_same_text,
    kinds_of,
)


class Comparison(Struct, frozen=True):
    added: FieldSet
    changed: FieldSet
    removed: FieldSet

    def filtered(self, keep: Callable[[FieldSet], FieldSet]) -> "Comparison":
        return Comparison(keep(self.added), keep(self.changed), keep(self.removed))


def compare_values(old: Any, new: Any, shape: Shape) -> Comparison:
    walk = _Walk()
    walk.compare(old, new, shape, ())
    return Comparison(*(build_field_set(filter(None, paths)) for paths in (walk.added, walk.changed, walk.removed)))


class _Walk:
    def __init__(self) -> None:
        self.added: list[ElementPath] = []
        self.changed: list[ElementPath] = []
        self.removed: list[ElementPath] = []

    def compare(self, old: Any, new: Any, shape: Shape, path: ElementPath) -> None:
        """At least one of the two is there."""
        if is_same_text(old, new):
            return
        old_kinds, new_kinds = kinds_of(shape, old), kinds_of(shape, new)
        if old is not ABSENT and new is not ABSENT and old_kinds != new_kinds:
            self._compare_as(old_kinds[0], old, new, shape, path)  # the value turned into another kind: both count
        kind = old_kinds[0] if new is ABSENT else new_kinds[0]
        is_leaf = self._compare_as(kind, old, new, shape, path)
        if not is_leaf and old is ABSENT:
            self.added.append(path)
        elif not is_leaf and new is ABSENT:
            self.removed.append(path)

    def _compare_as(self, kind: str, old: Any, new: Any, shape: Shape, path: ElementPath) -> bool:
        """Taken for one kind of value; true if they are leaves, with nothing inside to look at."""
        if kind == LIST and shape.list:
            is_leaf = shape.list.is_atomic or not (as_list(old) or as_list(new))
            if not is_leaf:
                self._compare_lists(as_list(old), as_list(new), shape.list, path)
        elif kind != SCALAR and shape.map:
            is_leaf = shape.map.is_atomic or not (as_map(old) or as_map(new))
            if not is_leaf:
                self._compare_maps(as_map(old), as_map(new), shape.map, path)
        else:
            is_leaf = True
        if is_leaf:
            self._compare_leaves(old, new, path)
        return is_leaf

    def _compare_leaves(self, old: Any, new: Any, path: ElementPath) -> None:
        if old is ABSENT:
            self.added.append(path)
        elif new is ABSENT:
            self.removed.append(path)
        elif not is_equal(old, new):
            self.changed.append(path)

    def _compare_maps(self, old: dict[str, Any], new: dict[str, Any], shape: MapShape, path: ElementPath) -> None:
        for name in {**old, **new}:
            child = shape.child(name)
            if child:
                self.compare(old.get(name, ABSENT), new.get(name, ABSENT), child, (*path, field_element(name)))

    def _compare_lists(self, old: list[Any], new: list[Any], shape: ListShape, path: ElementPath) -> None:
        before, after = _grouped(old, shape), _grouped(new, shape)
        for element in {**before, **after}:
            self._compare_items(before.get(element, []), after.get(element, []), shape, (*path, element))

    def _compare_items(self, old: list[Any], new: list[Any], shape: ListShape, path: ElementPath) -> None:
        """The copies of one item before and after; usually there is at most one each."""
        if len(old) > 1 and len(new) > 1:
            if not is_equal(old, new):
                self.changed.append(path)
            return
        if len(old) > 1:
            self.removed.append(path)
            old = []
        if len(new) > 1:
            self.added.append(path)
            new = []
        if old or new:
            self.compare(old[0] if old else ABSENT, new[0] if new else ABSENT, shape.items, path)


def _grouped(items: list[Any], shape: ListShape) -> dict[Element, list[Any]]:
    groups: dict[Element, list[Any]] = {}
    for element, item in indexed(items, shape):
        groups.setdefault(element, []).append(item)
    return groups
