"""Values while a rule runs: JSON's own Python values, and small types for what JSON does not have.

int, float, str, bool, None, list and dict stand for themselves; ``Uint`` is an unsigned integer. Equality is CEL's:
numbers compare across types, a boolean is never a number. Values with a type the rule's author cannot see into
(quantities, addresses, …) are compared by their own ``==``.
"""

from typing import Any, Final, TypeAlias

from msgspec import Struct

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
MAX_UINT = 2**64 - 1
NANOS = 1_000_000_000

Scalar: TypeAlias = "bool | int | float | str | bytes | None"


class Uint(int):
    """An unsigned 64 bit integer."""

    __slots__ = ()


class Duration(Struct, frozen=True, order=True):
    nanos: int


class Timestamp(Struct, frozen=True, order=True):
    """A moment in UTC: nanoseconds since 1970."""

    nanos: int


class Optional(Struct, frozen=True):
    """A value that may be absent, as ``self.?field`` gives it."""

    is_present: bool
    value: Any = None


class TypeValue(Struct, frozen=True):
    """What ``type(x)`` gives."""

    name: str


NONE: Final = Optional(is_present=False)

_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Optional: "optional_type",
    TypeValue: "type",
}


_OPAQUE: set[type] = set()


def register_type(python_type: type, name: str) -> None:
    """Give the values of a function library their CEL name."""
    _TYPE_NAMES[python_type] = name
    _OPAQUE.add(python_type)


def is_opaque(value: Any) -> bool:
    """Of a type that a function library has registered."""
    return type(value) in _OPAQUE


def type_name(value: Any) -> str:
    return _TYPE_NAMES[type(value)]


def is_equal(left: Any, right: Any) -> bool:
    """CEL equality of values whose types are not known to be the same."""
    if type(left) is bool or type(right) is bool:
        return left is right
    if isinstance(left, list):
        return isinstance(right, list) and _are_equal_lists(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and _are_equal_maps(left, right)
    if isinstance(left, Optional) and isinstance(right, Optional):
        return left.is_present == right.is_present and is_equal(left.value, right.value)
    return bool(left == right)


def _are_equal_lists(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(is_equal(a, b) for a, b in zip(left, right, strict=True))


def _are_equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    return all(key in right and is_equal(value, right[key]) for key, value in left.items())


def is_zero_value(value: Any) -> bool:
    """Empty, zero or false: what ``optional.ofNonZeroValue`` takes for absent."""
    if isinstance(value, (Duration, Timestamp)):
        return value.nanos == 0
    if isinstance(value, Optional):
        return not value.is_present
    return value is None or value in (0, "", b"") or value == [] or value == {}


def size_of(value: Any) -> int:
    """What a value counts for when work is priced: its length, or 1 for anything without one."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if isinstance(value, Optional) and value.is_present:
        return size_of(value.value)
    return len(value) if hasattr(value, "__len__") else 1
