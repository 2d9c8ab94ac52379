"""Macros: calls that are not functions but new syntax (``has``, ``all``, ``map``, ``optMap``, …).

Found by name, number of arguments and whether there is a target; anything else stays a call. Variables must be plain
names. ``FOLDS`` says which argument of a walking macro is what.
"""

from collections.abc import Sequence

from msgspec import Struct

from heliostat.embedded.cel.errors import Issue
from heliostat.embedded.cel.syntax import Fold, Name, Node, OptionalMap, Select


class MacroError(Exception):
    """The arguments do not suit the macro."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.issue = Issue(position, message)


class _Shape(Struct, frozen=True):
    macro: str
    variables: int
    has_condition: bool = False
    not_a_name: str = "argument must be a simple name"


_NOT_AN_IDENTIFIER = "argument is not an identifier"
FOLDS: dict[tuple[str, int], _Shape] = {
    ("all", 2): _Shape("all", 1),
    ("exists", 2): _Shape("exists", 1),
    ("exists_one", 2): _Shape("exists_one", 1),
    ("map", 2): _Shape("map", 1, not_a_name=_NOT_AN_IDENTIFIER),
    ("map", 3): _Shape("map", 1, has_condition=True, not_a_name=_NOT_AN_IDENTIFIER),
    ("filter", 2): _Shape("filter", 1, not_a_name=_NOT_AN_IDENTIFIER),
    ("all", 3): _Shape("all", 2),
    ("exists", 3): _Shape("exists", 2),
    ("exists_one", 3): _Shape("exists_one", 2),
    ("existsOne", 3): _Shape("exists_one", 2),
    ("transformList", 3): _Shape("transformList", 2),
    ("transformList", 4): _Shape("transformList", 2, has_condition=True),
    ("transformMap", 3): _Shape("transformMap", 2),
    ("transformMap", 4): _Shape("transformMap", 2, has_condition=True),
    ("transformMapEntry", 3): _Shape("transformMapEntry", 2),
    ("transformMapEntry", 4): _Shape("transformMapEntry", 2, has_condition=True),
}
_OPTIONAL_MAPS = {"optMap": False, "optFlatMap": True}
_ACCUMULATORS = ("__result__", "@result")


def expand_macro(position: int, function: str, target: Node | None, args: Sequence[Node]) -> Node | None:
    """The node a macro stands for; None for a plain call. Raises ``MacroError``."""
    if target is None:
        return _expand_has(position, args[0]) if function == "has" and len(args) == 1 else None
    if function in _OPTIONAL_MAPS and len(args) == 2:
        variable = _variable(args[0], f"{function}() variable name must be a simple identifier")
        return OptionalMap(position, target, variable, args[1], _OPTIONAL_MAPS[function])
    shape = FOLDS.get((function, len(args)))
    return None if shape is None else _expand_fold(position, shape, target, args)


def _expand_has(position: int, arg: Node) -> Node:
    if not isinstance(arg, Select) or arg.is_test:
        raise MacroError(arg.position, "invalid argument to has() macro")
    return Select(position, arg.operand, arg.field, arg.is_optional, is_test=True)


def _expand_fold(position: int, shape: _Shape, target: Node, args: Sequence[Node]) -> Node:
    names = [_variable(arg, shape.not_a_name) for arg in args[: shape.variables]]
    if len(set(names)) != len(names):
        raise MacroError(args[1].position, f"duplicate variable name: {names[0]}")
    rest = list(args[shape.variables :])
    where = rest.pop(0) if shape.has_condition else None
    return Fold(position, shape.macro, target, names[0], names[1] if len(names) == 2 else None, where, rest[0])


def _variable(arg: Node, problem: str) -> str:
    if not isinstance(arg, Name):
        raise MacroError(arg.position, problem)
    if arg.name in _ACCUMULATORS:
        raise MacroError(arg.position, "iteration variable overwrites accumulator variable")
    return arg.name
