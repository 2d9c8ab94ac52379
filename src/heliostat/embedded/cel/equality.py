"""When two values of known types are equal, and what adding two lists gives.

The left operand's schema decides: items of a ``set`` and of a ``map`` list compare without order, the latter by their
keys; added, a set stays a set and a map list takes the right side's item for a key both have. Where JSON's own
comparison says the same, Python's ``==`` is used.
"""

from collections.abc import Callable, Hashable
from operator import eq
from typing import Any, TypeAlias

from heliostat.embedded.cel.readers import is_plain, read, reader_for
from heliostat.embedded.cel.static_types import Type, has_dynamic_part
from heliostat.embedded.cel.values import is_equal

Equality: TypeAlias = Callable[[Any, Any], bool]

_SIMPLE = ("bool", "int", "uint", "double", "string", "bytes")
_TIMES = ("google.protobuf.Duration", "google.protobuf.Timestamp")


def build_equality(kind: Type) -> Equality:
    """Equality of values of one type."""
    if has_dynamic_part(kind) or kind.name == "optional_type":
        return is_equal
    if kind.name in _SIMPLE or kind.name in _TIMES:
        return eq
    if kind.data is None:
        return _without_schema(kind)
    if is_plain(kind.data.schema):
        return eq
    if kind.name == "list":
        return _of_lists(kind)
    return _of_maps(kind) if kind.name == "map" else _of_objects(kind)


def _without_schema(kind: Type) -> Equality:
    """Made by an expression: only what comes from a schema inside needs care."""
    if kind.name not in ("list", "map"):
        return is_equal
    inner = _inner(kind.params[-1])
    return _in_order(inner) if kind.name == "list" else _by_key(inner)


def _inner(kind: Type) -> Equality:
    """Equality of parts, which are still as they stand in JSON."""
    equal, reader = build_equality(kind), reader_for(kind)
    if reader is None or (kind.data is not None and is_plain(kind.data.schema)):
        return equal
    return lambda left, right: equal(read(left, reader), read(right, reader))


def _in_order(inner: Equality) -> Equality:
    return lambda left, right: len(left) == len(right) and all(map(inner, left, right))


def _by_key(inner: Equality) -> Equality:
    def equal(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
        if len(left) != len(right):
            return False
        return all(key in right and inner(value, right[key]) for key, value in left.items())

    return equal


def _of_maps(kind: Type) -> Equality:
    return _by_key(_inner(kind.params[1]))


def _of_lists(kind: Type) -> Equality:
    inner = _inner(kind.params[0])
    keys = map_list_keys(kind)
    if is_set(kind):
        return lambda left, right: len(left) == len(right) and set(map(_identity, right)) <= set(map(_identity, left))
    if keys is None:
        return _in_order(inner)

    def equal(left: list[Any], right: list[Any]) -> bool:
        known = {map_list_key(item, keys): item for item in left}
        if len(left) != len(right):
            return False
        return all((key := map_list_key(item, keys)) in known and inner(known[key], item) for item in right)

    return equal


def _of_objects(kind: Type) -> Equality:
    fields: dict[str, Equality] = {}

    def of_field(key: str) -> Equality:
        if key not in fields:
            names = {} if kind.data is None else {known: name for name, known in kind.data.names.items()}
            field = kind.data.field(names[key]) if kind.data is not None and key in names else None
            fields[key] = is_equal if field is None else _inner(field.kind)
        return fields[key]

    def equal(left: Any, right: Any) -> bool:
        if not isinstance(left, dict) or not isinstance(right, dict):
            return left is right
        if len(left) != len(right):
            return False
        return all(key in right and _equal_or_null(of_field(key), value, right[key]) for key, value in left.items())

    return equal


def _equal_or_null(equal: Equality, left: Any, right: Any) -> bool:
    return left is right if left is None or right is None else equal(left, right)


def is_set(kind: Type) -> bool:
    return kind.data is not None and kind.data.schema.get("x-kubernetes-list-type") == "set"


def map_list_keys(kind: Type) -> tuple[str, ...] | None:
    """The fields that identify an item; None for other lists."""
    if kind.data is None or kind.data.schema.get("x-kubernetes-list-type") != "map":
        return None
    return tuple(kind.data.schema.get("x-kubernetes-list-map-keys", ()))


def map_list_key(item: Any, keys: tuple[str, ...]) -> Hashable:
    return tuple(_identity(item.get(key)) for key in keys) if isinstance(item, dict) else ()


def _identity(value: Any) -> Hashable:
    """Something to look a value up by that tells true from 1."""
    return (type(value) is bool, str(value) if isinstance(value, (dict, list)) else value)


def build_addition(kind: Type) -> Callable[[list[Any], list[Any]], list[Any]] | None:
    """``left + right`` for lists of this type; None when that is plain concatenation."""
    keys = map_list_keys(kind)
    if keys is not None:
        return lambda left, right: _merge(left, right, lambda item: map_list_key(item, keys), right_wins=True)
    if is_set(kind):
        return lambda left, right: _merge(left, right, _identity, right_wins=False)
    return None


def _merge(left: list[Any], right: list[Any], key: Callable[[Any], Hashable], *, right_wins: bool) -> list[Any]:
    merged = {key(item): item for item in left}
    for item in right:
        if right_wins or key(item) not in merged:
            merged[key(item)] = item
    return list(merged.values())
