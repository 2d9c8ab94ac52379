"""Types of expressions before any data is there, and how two of them fit together.

A type is a name with parameters; variables (``A``) stand for types in declarations. Two types are equal by name and
parameters; ``data`` (where the values come from in the schema) does not count. ``Bindings`` holds what variables stand
for while one expression is checked. ``dyn`` fits everything and defers the question to run time.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from heliostat.embedded.cel.schema_types import Data


_SHOWN = {
    "null_type": "null",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
}


class Type(Struct, frozen=True, eq=False):
    name: str
    params: "tuple[Type, ...]" = ()
    is_variable: bool = False
    data: "Data | None" = None

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Type) and self.name == other.name and self.params == other.params)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.params))

    def __str__(self) -> str:
        if not self.params:
            return "dyn" if self.is_variable else _SHOWN.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.params))})"


DYN = Type("dyn")
NULL = Type("null_type")
BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES = Type("string"), Type("bytes")
DURATION, TIMESTAMP = Type("google.protobuf.Duration"), Type("google.protobuf.Timestamp")
ERROR = Type("!error!")  # of an expression already reported: fits everything, so that one mistake is told once

SCALARS = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL)
_NOT_NULLABLE = {scalar.name for scalar in SCALARS} | {"list", "map", "type", "optional_type"}


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", (value,))


def is_dynamic(kind: Type) -> bool:
    return kind.name in ("dyn", "!error!")


def has_dynamic_part(kind: Type) -> bool:
    return is_dynamic(kind) or any(has_dynamic_part(param) for param in kind.params)


class Bindings:
    """What the type variables of one expression stand for; grows while it is checked."""

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._count = 0

    def fresh(self, kinds: tuple[Type, ...]) -> tuple[Type, ...]:
        """The same types with new variables, the same one where they had the same."""
        self._count += 1
        return tuple(_rename(kind, f"%{self._count}") for kind in kinds)

    def fresh_variable(self) -> Type:
        self._count += 1
        return Type(f"%{self._count}", is_variable=True)

    def try_fit(self, wanted: tuple[Type, ...], given: tuple[Type, ...]) -> bool:
        """Make every given type fit its wanted one; on failure nothing has changed."""
        before = dict(self._bound)
        if len(wanted) == len(given) and all(self._fits(w, g) for w, g in zip(wanted, given, strict=True)):
            return True
        self._bound = before
        return False

    def join(self, kinds: list[Type]) -> Type:
        """A type for all of them: their common one, or ``dyn``."""
        common = kinds[0]
        for kind in kinds[1:]:
            if not self.try_fit((common,), (kind,)):
                return DYN
            common = self._more_general(common, kind)
        return common

    def resolve(self, kind: Type, *, is_final: bool = False) -> Type:
        """The type with its variables replaced; variables nothing is known about become ``dyn`` at the end."""
        if kind.is_variable:
            if kind.name in self._bound:
                return self.resolve(self._bound[kind.name], is_final=is_final)
            return DYN if is_final else kind
        if not kind.params or kind.data is not None:
            return kind
        return Type(kind.name, tuple(self.resolve(param, is_final=is_final) for param in kind.params))

    def _fits(self, wanted: Type, given: Type) -> bool:
        if wanted.is_variable:
            return self._fits_variable(wanted, given)
        if given.is_variable:
            return self._fits_variable(given, wanted)
        if is_dynamic(wanted) or is_dynamic(given):
            return True
        if NULL in (wanted, given):
            other = given if wanted == NULL else wanted
            return other == NULL or other.name not in _NOT_NULLABLE
        if wanted.name != given.name or len(wanted.params) != len(given.params):
            return False
        return wanted.name == "type" or all(map(self._fits, wanted.params, given.params))

    def _fits_variable(self, variable: Type, other: Type) -> bool:
        """A bound variable takes the more general of both types; a free one stands for the other from now on."""
        bound = self._bound.get(variable.name)
        if bound is not None:
            if not self._fits(bound, other):
                return False
            self._bound[variable.name] = self._more_general(bound, other)
            return True
        resolved = self.resolve(other)
        if resolved.is_variable and resolved.name == variable.name:
            return True
        if _mentions(resolved, variable.name):
            return False
        self._bound[variable.name] = other
        return True

    def _more_general(self, left: Type, right: Type) -> Type:
        """Of two types that fit: the one that says less, and where they say the same, the one that knows its data."""
        left, right = self.resolve(left), self.resolve(right)
        if left == right:
            return right if left.data is None else left
        if is_dynamic(left) or is_dynamic(right):
            return DYN
        if left == NULL or left.is_variable:
            return right
        if right == NULL or right.is_variable or not left.params or left.name == "type":
            return left
        params = (self._more_general(a, b) for a, b in zip(left.params, right.params, strict=True))
        return Type(left.name, tuple(params))


def _rename(kind: Type, suffix: str) -> Type:
    if kind.is_variable:
        return Type(kind.name + suffix, is_variable=True)
    if not kind.params:
        return kind
    return Type(kind.name, tuple(_rename(param, suffix) for param in kind.params))


def _mentions(kind: Type, variable: str) -> bool:
    return kind.name == variable or any(_mentions(param, variable) for param in kind.params)
