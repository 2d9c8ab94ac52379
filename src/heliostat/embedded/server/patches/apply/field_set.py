"""A set of fields, as a tree: which elements of a level belong to it, and which have members further down.

A field's membership says nothing about the fields inside it, and the other way round. The wire form (``FieldsV1``)
nests objects: an empty object is a member, ``.`` marks a member that has members inside as well.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from heliostat.embedded.server.patches.apply.elements import (
    Element,
    ElementError,
    ElementPath,
    element_order,
    read_element,
)
from heliostat.kube.jsontree import JsonObject

_SELF = "."


class FieldSet(Struct, frozen=True):
    """Sets are values: every operation gives a new one. A child is never empty."""

    members: frozenset[Element] = frozenset()
    children: dict[Element, "FieldSet"] = {}

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __or__(self, other: "FieldSet") -> "FieldSet":
        if not self or not other:
            return self or other
        children = {**self.children, **other.children}
        for element in self.children.keys() & other.children.keys():
            children[element] = self.children[element] | other.children[element]
        return FieldSet(self.members | other.members, children)

    def __and__(self, other: "FieldSet") -> "FieldSet":
        shared = [element for element in self.children if element in other.children]
        children = {element: self.children[element] & other.children[element] for element in shared}
        return FieldSet(self.members & other.members, _non_empty(children))

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        """Member by member: taking a field away leaves the fields inside it."""
        if not other:
            return self
        left = {e: child - other.children[e] if e in other.children else child for e, child in self.children.items()}
        return FieldSet(self.members - other.members, _non_empty(left))

    def without(self, other: "FieldSet") -> "FieldSet":
        """Like the difference, but a field goes with everything inside it."""
        kept = {e: child for e, child in self.children.items() if e not in other.members}
        left = {e: child.without(other.children[e]) if e in other.children else child for e, child in kept.items()}
        return FieldSet(self.members - other.members, _non_empty(left))

    def under(self, element: Element) -> "FieldSet":
        """What the set holds inside one element."""
        return self.children.get(element, NO_FIELDS)

    def has(self, path: ElementPath) -> bool:
        *parents, last = path
        node = self
        for element in parents:
            node = node.under(element)
        return last in node.members

    def paths(self) -> Iterator[ElementPath]:
        """Every member, in order: those of a level before those further down."""
        for element in sorted(self.members, key=element_order):
            yield (element,)
        for element in sorted(self.children, key=element_order):
            for path in self.children[element].paths():
                yield (element, *path)


NO_FIELDS = FieldSet()


def build_field_set(paths: Iterable[ElementPath]) -> FieldSet:
    """The set of these paths; the empty path (the whole object) is owned by nobody and left out."""
    tree: dict[Element, Any] = {}
    for path in paths:
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node[_SELF] = {}
    return _from_tree(tree)[0]


def read_field_set(fields: JsonObject) -> FieldSet:
    """From the wire form; raises ``ElementError``."""
    return _from_tree(_canonical(fields))[0]


def write_field_set(fields: FieldSet) -> JsonObject:
    """The wire form, in order."""
    written: JsonObject = {}
    for element in sorted(fields.members | fields.children.keys(), key=element_order):
        inner = write_field_set(fields.under(element))
        written[element] = {_SELF: {}, **inner} if inner and element in fields.members else inner
    return written


def _canonical(fields: Any) -> dict[Element, Any]:
    if not isinstance(fields, dict):
        raise ElementError("fields are objects inside objects")
    known = {read_element(text): _canonical(inner) for text, inner in fields.items() if text != _SELF}
    tree = {element: inner for element, inner in known.items() if element is not None}
    return {_SELF: {}, **tree} if _SELF in fields or not tree else tree


def _from_tree(tree: dict[Element, Any]) -> tuple[FieldSet, bool]:
    """The set inside a node, and whether the node itself is a member."""
    members, children = [], {}
    for element, inner in tree.items():
        if element != _SELF:
            child, is_member = _from_tree(inner)
            if is_member:
                members.append(element)
            if child:
                children[element] = child
    return FieldSet(frozenset(members), children), _SELF in tree


def _non_empty(children: dict[Element, FieldSet]) -> dict[Element, FieldSet]:
    return {element: child for element, child in children.items() if child}
