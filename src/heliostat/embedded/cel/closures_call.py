"""Calling: functions by their overloads, operators with a meaning of their own, comparison and membership.

With known types the overload is fixed when the rule is compiled; where a part is ``dyn`` the values decide at run time.
"""

from collections.abc import Callable, Sequence
from math import ceil
from operator import eq
from typing import Any

from heliostat.embedded.cel.declarations import Implementation, Overload
from heliostat.embedded.cel.equality import build_equality
from heliostat.embedded.cel.errors import EvaluationError, NoSuchOverloadError
from heliostat.embedded.cel.frames import COST, Closure, Frame, charge
from heliostat.embedded.cel.library_text import match_pattern, pattern_of
from heliostat.embedded.cel.prices import PER_CHARACTER, Price, equality_cost
from heliostat.embedded.cel.static_types import NULL, Type, has_dynamic_part, is_dynamic
from heliostat.embedded.cel.values import Optional, Uint, is_equal, type_name

_FIXED_SIZE = ("bool", "int", "uint", "double", "google.protobuf.Duration", "google.protobuf.Timestamp")
_SET_TYPES = (str, int, Uint, float, bool)


def build_call(overloads: Sequence[Overload], args: Sequence[Closure], kinds: Sequence[Type]) -> Closure:
    """A call whose arguments are already converted."""
    if len(overloads) == 1 and not any(map(is_dynamic, kinds)):
        return _build_direct(_without_null(overloads[0]), overloads[0].price, args)
    price = overloads[0].price
    if len(overloads) > 1 and not price.by_function:
        price = Price(None, price.estimate)
    return _build_direct(_build_dispatch(overloads), price, args)


def _without_null(overload: Overload) -> Implementation:
    """Nullable values may be null whatever their type says; only functions for any type take that."""
    takes_any = any(param.is_variable or is_dynamic(param) for param in overload.params)
    if takes_any or overload.function.startswith("_"):  # operators refuse null by themselves
        return overload.run
    run = overload.run

    def call(*values: Any) -> Any:
        if None in values:
            raise NoSuchOverloadError
        return run(*values)

    return call


def _build_direct(run: Implementation, price: Price, args: Sequence[Closure]) -> Closure:
    if price.actual is None and len(args) == 1:
        return _build_unary(run, args[0])
    if price.actual is None and len(args) == 2:
        return _build_binary(run, args[0], args[1])
    actual = price.actual or (lambda *_: 1)

    def call(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        try:
            if price.needs_result:
                result = run(*values)
                charge(frame, actual(*values, result))
                return result
            charge(frame, actual(*values))
            return run(*values)
        except (TypeError, AttributeError):
            raise NoSuchOverloadError from None

    return call


def _build_unary(run: Implementation, arg: Closure) -> Closure:
    def call(frame: Frame) -> Any:
        value = arg(frame)
        frame[COST] += 1
        try:
            return run(value)
        except (TypeError, AttributeError):
            raise NoSuchOverloadError from None

    return call


def _build_binary(run: Implementation, left: Closure, right: Closure) -> Closure:
    def call(frame: Frame) -> Any:
        first, second = left(frame), right(frame)
        frame[COST] += 1
        try:
            return run(first, second)
        except (TypeError, AttributeError):
            raise NoSuchOverloadError from None

    return call


def _build_dispatch(overloads: Sequence[Overload]) -> Implementation:
    """The first overload that takes the values."""

    def dispatch(*values: Any) -> Any:
        for overload in overloads:
            if all(map(_takes, overload.params, values)):
                return overload.run(*values)
        raise NoSuchOverloadError

    return dispatch


def _takes(kind: Type, value: Any) -> bool:
    return kind.is_variable or is_dynamic(kind) or kind.name == type_name(value)


def build_equality_call(left: Closure, right: Closure, kinds: tuple[Type, Type], *, is_negated: bool) -> Closure:
    if all(kind.name == "string" for kind in kinds):
        return _build_text_equality(left, right, is_negated)
    equal = _equality(kinds)
    fixed = all(kind.name in _FIXED_SIZE for kind in kinds)

    def compare(frame: Frame) -> bool:
        first, second = left(frame), right(frame)
        frame[COST] += 1 if fixed else equality_cost(first, second)
        try:
            return equal(first, second) is not is_negated
        except (TypeError, AttributeError):
            return is_negated

    return compare


def _equality(kinds: tuple[Type, Type]) -> Callable[[Any, Any], bool]:
    if any(map(has_dynamic_part, kinds)) or NULL in kinds:
        return is_equal
    left, right = kinds
    if left.data is None and right.data is not None:  # the left side says how to compare, the right what is in it
        left = Type(left.name, right.params)
    return build_equality(left)


def _build_text_equality(left: Closure, right: Closure, is_negated: bool) -> Closure:
    def compare(frame: Frame) -> bool:
        first, second = left(frame), right(frame)
        try:
            frame[COST] += ceil(min(len(first), len(second)) * PER_CHARACTER)
        except TypeError:
            frame[COST] += 1
        return (first == second) is not is_negated

    return compare


def build_membership(item: Closure, items: list[Any]) -> Closure | None:
    """``item in [constants]``, which costs nothing; None when the constants cannot be looked up at once."""
    if not items:
        return lambda _: False
    if not all(type(constant) in _SET_TYPES for constant in items):
        return None
    known = frozenset((type(constant) is bool, constant) for constant in items)
    texts = frozenset(items) if all(type(constant) is str for constant in items) else None

    def is_member(frame: Frame) -> bool:
        value = item(frame)
        if texts is not None and type(value) is str:
            return value in texts
        try:
            return (type(value) is bool, value) in known
        except TypeError:
            return False

    return is_member


def build_search(item: Closure, items: Closure, kind: Type) -> Closure:
    """``item in list``; ``kind`` is the type of the list's items."""
    equal = is_equal if has_dynamic_part(kind) else build_equality(kind)

    def is_member(frame: Frame) -> bool:
        value, container = item(frame), items(frame)
        try:
            charge(frame, len(container))
            return value in container if equal is eq else any(equal(element, value) for element in container)
        except (TypeError, AttributeError):
            raise NoSuchOverloadError from None

    return is_member


def build_match(text: Closure, pattern: str, price: Price) -> Closure:
    """A regular expression known beforehand."""
    compiled = pattern_of(pattern)
    actual = price.actual or (lambda *_: 1)

    def is_match(frame: Frame) -> bool:
        value = text(frame)
        if type(value) is not str:
            raise NoSuchOverloadError
        charge(frame, actual(value, pattern))
        return match_pattern(compiled, value)

    return is_match


def build_logic(terms: Sequence[Closure], decisive: bool) -> Closure:
    """``&&`` ends at the first false, ``||`` at the first true; an error counts only if no term decides."""
    if len(terms) == 2:
        return _build_logic_of_two(terms[0], terms[1], decisive)

    def decide(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
                if value is decisive:
                    return bool(decisive)
                if value is not (not decisive):
                    raise NoSuchOverloadError
            except EvaluationError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not decisive

    return decide


def _build_logic_of_two(left: Closure, right: Closure, decisive: bool) -> Closure:
    def decide(frame: Frame) -> bool:
        try:
            value = left(frame)
            if value is decisive:
                return bool(decisive)
            if value is not (not decisive):
                raise NoSuchOverloadError
        except EvaluationError:
            if right(frame) is decisive:
                return bool(decisive)
            raise
        value = right(frame)
        if value is True or value is False:
            return value
        raise NoSuchOverloadError

    return decide


def build_choice(condition: Closure, then: Closure, otherwise: Closure) -> Closure:
    def choose(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            return then(frame)
        if value is False:
            return otherwise(frame)
        raise NoSuchOverloadError

    return choose


def build_fallback(optional: Closure, other: Closure, *, is_unwrapped: bool) -> Closure:
    """``or`` and ``orValue``: the other side is evaluated only when there is no value."""

    def choose(frame: Frame) -> Any:
        value = optional(frame)
        if not isinstance(value, Optional):
            raise NoSuchOverloadError
        if not value.is_present:
            return other(frame)
        return value.value if is_unwrapped else value

    return choose


def build_optional_map(target: Closure, slot: int, body: Closure, *, is_flat: bool, is_used: bool) -> Closure:
    """``optMap`` and ``optFlatMap``; the target counts twice when its value is used, because it is asked twice."""

    def apply(frame: Frame) -> Any:
        before = frame[COST]
        value = target(frame)
        if not isinstance(value, Optional):
            raise NoSuchOverloadError
        spent = frame[COST] - before
        frame[COST] += 1
        if not value.is_present:
            frame[COST] += 1
            return value
        charge(frame, spent + 1 if is_used else 0)
        frame[slot] = value.value
        result = body(frame)
        frame[COST] += 0 if is_flat else 1
        return result if is_flat else Optional(is_present=True, value=result)

    return apply
