"""Operators: arithmetic within 64 bits, comparison, membership.

Integer results beyond their range and divisions by zero are evaluation errors; floats follow IEEE. Division truncates
towards zero and a remainder has the dividend's sign, as in Go and C.
"""

import operator
from collections.abc import Callable
from math import copysign, inf, isnan, nan
from typing import Any

from heliostat.embedded.cel.declarations import Declaration, function
from heliostat.embedded.cel.errors import EvaluationError, NoSuchOverloadError
from heliostat.embedded.cel.prices import ADD_LIST, ADD_TEXT, EQUALITY, IN_LIST, check_size
from heliostat.embedded.cel.times import checked_duration, checked_timestamp
from heliostat.embedded.cel.values import MAX_INT, MAX_UINT, MIN_INT, Duration, Timestamp, Uint, is_equal


def checked_int(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        raise EvaluationError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    if not 0 <= value <= MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _on_ints(compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda left, right: checked_int(compute(left, right))


def _on_uints(compute: Callable[[int, int], int]) -> Callable[[int, int], Uint]:
    return lambda left, right: checked_uint(compute(left, right))


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


def _divide_floats(left: float, right: float) -> float:
    if right:
        return left / right
    return nan if left == 0 or isnan(left) else copysign(inf, left) * copysign(1, right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def apply(left: Any, right: Any) -> bool:
        if left != left or right != right:
            raise EvaluationError("NaN values cannot be ordered")
        return compare(left, right)

    return apply


def _add_times(left: Duration | Timestamp, right: Duration | Timestamp) -> Duration | Timestamp:
    total = left.nanos + right.nanos
    both_durations = type(left) is Duration and type(right) is Duration
    return checked_duration(total) if both_durations else checked_timestamp(total)


def _subtract_times(left: Duration | Timestamp, right: Duration | Timestamp) -> Duration | Timestamp:
    rest = left.nanos - right.nanos
    return checked_duration(rest) if type(left) is type(right) else checked_timestamp(rest)


def is_in_list(value: Any, items: list[Any]) -> bool:
    return any(is_equal(item, value) for item in items)


def _add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    check_size(len(left) + len(right))
    return left + right


def _is_in_map(value: Any, entries: dict[Any, Any]) -> bool:
    try:
        return value in entries
    except TypeError:
        raise NoSuchOverloadError from None


def _compare(sign: str, compare: Callable[[Any, Any], bool]) -> list[Declaration]:
    numbers = ("int", "uint", "double")
    exact = [f"_{sign}_({kind}, {kind}) -> bool" for kind in ("bool", "int", "uint", "timestamp", "duration")]
    crossed = [f"_{sign}_({a}, {b}) -> bool" for a in numbers for b in numbers if a != b or a == "double"]
    texts = [f"_{sign}_({kind}, {kind}) -> bool" for kind in ("string", "bytes")]
    return [
        function(*exact, run=compare),
        function(*crossed, run=_ordered(compare)),
        function(*texts, run=compare, price=EQUALITY),
    ]


# Where a type is not known yet the first overload that fits decides it, so their order is the API server's.
OPERATORS: list[Declaration] = [
    function("_==_(A, A) -> bool", run=is_equal, price=EQUALITY),
    function("_!=_(A, A) -> bool", run=lambda left, right: not is_equal(left, right), price=EQUALITY),
    *_compare("<", operator.lt),
    *_compare("<=", operator.le),
    *_compare(">", operator.gt),
    *_compare(">=", operator.ge),
    function("_+_(bytes, bytes) -> bytes", run=operator.add, price=ADD_TEXT),
    function("_+_(double, double) -> double", run=operator.add),
    function(
        "_+_(duration, duration) -> duration",
        "_+_(duration, timestamp) -> timestamp",
        "_+_(timestamp, duration) -> timestamp",
        run=_add_times,
    ),
    function("_+_(int, int) -> int", run=_on_ints(operator.add)),
    function("_+_(list(A), list(A)) -> list(A)", run=_add_lists, price=ADD_LIST),
    function("_+_(string, string) -> string", run=operator.add, price=ADD_TEXT),
    function("_+_(uint, uint) -> uint", run=_on_uints(operator.add)),
    function("_-_(double, double) -> double", run=operator.sub),
    function("_-_(duration, duration) -> duration", run=_subtract_times),
    function("_-_(int, int) -> int", run=_on_ints(operator.sub)),
    function("_-_(timestamp, duration) -> timestamp", run=_subtract_times),
    function("_-_(timestamp, timestamp) -> duration", run=_subtract_times),
    function("_-_(uint, uint) -> uint", run=_on_uints(operator.sub)),
    function("_*_(double, double) -> double", run=operator.mul),
    function("_*_(int, int) -> int", run=_on_ints(operator.mul)),
    function("_*_(uint, uint) -> uint", run=_on_uints(operator.mul)),
    function("_/_(double, double) -> double", run=_divide_floats),
    function("_/_(int, int) -> int", run=_on_ints(_divide)),
    function("_/_(uint, uint) -> uint", run=_on_uints(_divide)),
    function("_%_(int, int) -> int", run=_on_ints(_remainder)),
    function("_%_(uint, uint) -> uint", run=_on_uints(_remainder)),
    function("-_(double) -> double", run=operator.neg),
    function("-_(int) -> int", run=lambda value: checked_int(-value)),
    function("!_(bool) -> bool", run=operator.not_),
    function("@in(A, list(A)) -> bool", run=is_in_list, price=IN_LIST),
    function("@in(A, map(A, B)) -> bool", run=_is_in_map),
]
