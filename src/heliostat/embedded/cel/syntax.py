"""The tree of an expression, as the parser makes it and the checker, the compiler and the estimator read it.

``position`` is an offset into the text, for messages. Every node is its own identity: what the checker finds out about
a node it keeps beside the tree, keyed by the node. Macros are nodes of their own (``Fold``, ``OptionalMap``).
"""

from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.cel.values import Scalar


class Literal(Struct, frozen=True, eq=False):
    position: int
    value: Scalar


class Name(Struct, frozen=True, eq=False):
    position: int
    name: str


class Select(Struct, frozen=True, eq=False):
    """``operand.field``, ``operand.?field`` or, as a test, ``has(operand.field)``."""

    position: int
    operand: "Node"
    field: str
    is_optional: bool = False
    is_test: bool = False


class Call(Struct, frozen=True, eq=False):
    """A function, a method (with ``target``) or an operator such as ``_+_``."""

    position: int
    function: str
    target: "Node | None"
    args: "tuple[Node, ...]"


class ListLiteral(Struct, frozen=True, eq=False):
    position: int
    items: "tuple[Node, ...]"
    optional: frozenset[int] = frozenset()  # which items are written ?item


class Entry(Struct, frozen=True, eq=False):
    position: int
    key: "Node"
    value: "Node"
    is_optional: bool


class MapLiteral(Struct, frozen=True, eq=False):
    position: int
    entries: tuple[Entry, ...]


class Fold(Struct, frozen=True, eq=False):
    """A macro that walks a list or a map: ``range.macro(first[, second], [where,] body[, value])``."""

    position: int
    macro: str  # all, exists, exists_one, map, filter, transformList, transformMap, transformMapEntry
    range: "Node"
    first: str
    second: str | None
    where: "Node | None"
    body: "Node"


class OptionalMap(Struct, frozen=True, eq=False):
    """``target.optMap(variable, body)``; flat for ``optFlatMap``."""

    position: int
    target: "Node"
    variable: str
    body: "Node"
    is_flat: bool


Node: TypeAlias = Literal | Name | Select | Call | ListLiteral | MapLiteral | Fold | OptionalMap


def children_of(node: Node) -> list[Node]:
    """The parts of a node, from left to right."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return [*([node.target] if node.target is not None else []), *node.args]
        case ListLiteral():
            return list(node.items)
        case MapLiteral():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case Fold():
            return [node.range, *([node.where] if node.where is not None else []), node.body]
        case OptionalMap():
            return [node.target, node.body]
    return []


def is_mentioned(name: str, node: Node) -> bool:
    """Whether a variable is read anywhere in an expression."""
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, Name) and part.name == name:
            return True
        todo += children_of(part)
    return False
