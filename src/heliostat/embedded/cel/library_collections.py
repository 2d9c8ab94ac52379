"""Lists, sets and optional values: walking, searching, ordering, unwrapping."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.library_operators import checked_int, checked_uint, is_in_list
from heliostat.embedded.cel.prices import SETS, SETS_BOTH_WAYS, WALK
from heliostat.embedded.cel.times import checked_duration
from heliostat.embedded.cel.values import NONE, Duration, Optional, is_equal, is_zero_value

_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


def _is_sorted(items: list[Any]) -> bool:
    return all(items[i] <= items[i + 1] for i in range(len(items) - 1))


def _least(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("min called on empty list")
    return min(items)


def _greatest(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("max called on empty list")
    return max(items)


def _sum_durations(items: list[Duration]) -> Duration:
    return reduce(lambda total, item: checked_duration(total.nanos + item.nanos), items, Duration(0))


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if is_equal(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index in reversed(range(len(items))) if is_equal(items[index], wanted)), -1)


def _contains_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(is_in_list(item, items) for item in wanted)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(is_in_list(item, right) for item in left)


def present(value: Any) -> Optional:
    return Optional(is_present=True, value=value)


def _value(optional: Optional) -> Any:
    if not optional.is_present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _unwrap(items: list[Optional]) -> list[Any]:
    return [item.value for item in items if item.is_present]


def _end(index: int) -> Callable[[list[Any]], Optional]:
    return lambda items: present(items[index]) if items else NONE


LISTS: list[Declaration] = [
    method(*(f"list({kind}).isSorted() -> bool" for kind in _ORDERED), run=_is_sorted, price=WALK),
    method(*(f"list({kind}).min() -> {kind}" for kind in _ORDERED), run=_least, price=WALK),
    method(*(f"list({kind}).max() -> {kind}" for kind in _ORDERED), run=_greatest, price=WALK),
    method("list(int).sum() -> int", run=lambda items: checked_int(sum(items)), price=WALK),
    method("list(uint).sum() -> uint", run=lambda items: checked_uint(sum(items)), price=WALK),
    method("list(double).sum() -> double", run=lambda items: sum(items, 0.0), price=WALK),
    method("list(duration).sum() -> duration", run=_sum_durations, price=WALK),
    method("list(A).indexOf(A) -> int", run=_index_of, price=WALK),
    method("list(A).lastIndexOf(A) -> int", run=_last_index_of, price=WALK),
    function("sets.contains(list(T), list(T)) -> bool", run=_contains_all, price=SETS),
    function("sets.intersects(list(T), list(T)) -> bool", run=_intersects, price=SETS),
    function(
        "sets.equivalent(list(T), list(T)) -> bool",
        run=lambda left, right: _contains_all(left, right) and _contains_all(right, left),
        price=SETS_BOTH_WAYS,
    ),
]

OPTIONALS: list[Declaration] = [
    function("optional.of(V) -> optional(V)", run=present),
    function("optional.ofNonZeroValue(V) -> optional(V)", run=lambda v: NONE if is_zero_value(v) else present(v)),
    function("optional.none() -> optional(V)", run=lambda: NONE),
    function("optional.unwrap(list(optional(V))) -> list(V)", run=_unwrap),
    method("list(optional(V)).unwrapOpt() -> list(V)", run=_unwrap),
    method("optional(V).hasValue() -> bool", run=lambda optional: optional.is_present),
    method("optional(V).value() -> V", run=_value),
    method("optional(V).or(optional(V)) -> optional(V)", run=lambda left, right: left if left.is_present else right),
    method("optional(V).orValue(V) -> V", run=lambda left, right: left.value if left.is_present else right),
    method("list(V).first() -> optional(V)", run=_end(0)),
    method("list(V).last() -> optional(V)", run=_end(-1)),
]
