"""What a call costs: after the fact, from the values, and beforehand, from how large the values may be.

The unit and every formula are the API server's, so that the same rules are admitted and the same evaluations stopped:
reading text costs a tenth per character, a regular expression a quarter per character of its pattern for each of those.
A price by ``function`` applies to all overloads, also when the overload is only known at run time.
"""

from collections.abc import Callable
from math import ceil
from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.cel.errors import CostExceededError
from heliostat.embedded.cel.ranges import ONE, Argument, Quote, Range, exactly
from heliostat.embedded.cel.values import is_opaque, size_of

LARGEST_VALUE = 16 * 1024 * 1024  # characters or items a rule may put together
PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25
_ADDRESS_BYTES = Range(4, 16)
_LONGEST_FORMAT_PATTERN = 128

Actual: TypeAlias = Callable[..., int]
Estimate: TypeAlias = Callable[..., Quote]


class Price(Struct, frozen=True):
    actual: Actual | None  # from the arguments; None when every call costs one
    estimate: Estimate
    by_function: bool = True
    needs_result: bool = False  # ``actual`` takes the result after the arguments


def check_size(size: int) -> None:
    """Refuse to build a value that no price would stop in time."""
    if size > LARGEST_VALUE:
        raise CostExceededError


def read_cost(size: int) -> int:
    """Reading so many characters once."""
    return ceil(size * PER_CHARACTER)


def equality_cost(left: Any, right: Any) -> int:
    if is_opaque(left):
        return 1
    return ceil(min(size_of(left), size_of(right)) * PER_CHARACTER)


def _pattern_cost(size: int, pattern: int) -> int:
    return ceil((1 + size) * PER_CHARACTER) * ceil(pattern * PER_PATTERN_CHARACTER)


def _walk_cost(value: Any) -> int:
    """Visiting everything in a value once."""
    if isinstance(value, (str, bytes)):
        return int(len(value) * PER_CHARACTER)
    if isinstance(value, list):
        return sum(map(_walk_cost, value))
    if isinstance(value, dict):
        return sum(_walk_cost(key) + _walk_cost(item) for key, item in value.items())
    return 1


def _read(times: int, *, keeps_size: bool = False) -> Price:
    factor = times * PER_CHARACTER

    def actual(text: Any, *_: Any) -> int:
        return ceil(size_of(text) * factor)

    def estimate(text: Argument, *_: Argument) -> Quote:
        return Quote(text.size.scale(factor), text.size if keeps_size else None)

    return Price(actual, estimate)


def _estimate_pattern(text: Argument, pattern: Argument, *_: Argument) -> Range:
    return (text.size + ONE).scale(PER_CHARACTER) * pattern.size.scale(PER_PATTERN_CHARACTER)


def _estimate_equality(left: Argument, right: Argument) -> Quote:
    most = min(left.size.most, right.size.most)
    return Quote(Range(1 if most else 0, most).scale(PER_CHARACTER))


def _estimate_replace(text: Argument, old: Argument, new: Argument, *_: Argument) -> Quote:
    longest = _replaced(text.size.most, old.size.least, new.size.most, grows=new.size.most > old.size.least)
    shortest = _replaced(text.size.least, old.size.most, new.size.least, grows=new.size.least < old.size.most)
    return Quote(text.size.scale(2 * PER_CHARACTER), exactly(shortest) + Range(0, max(0, longest - shortest)))


def _replaced(size: int, old: int, new: int, *, grows: bool) -> int:
    if old == 0:
        return (size + 1) * new + size
    return ceil(size / old) * new if grows else size


def _estimate_split(text: Argument, *rest: Argument) -> Quote:
    limit = rest[1].value if len(rest) > 1 else None
    parts = limit if isinstance(limit, int) and limit >= 0 else text.size.most
    return Quote(text.size.scale(2 * PER_CHARACTER), Range(0, parts))


def _estimate_join(parts: Argument, *rest: Argument) -> Quote:
    size = parts.size * parts.item_size
    if rest:
        size += rest[0].size * Range(max(0, parts.size.least - 1), max(0, parts.size.most - 1))
    return Quote(size.scale(PER_CHARACTER), size)


def _estimate_walk(value: Argument, *_: Argument) -> Quote:
    if value.kind.name != "list":
        return Quote(value.size.scale(PER_CHARACTER))
    each = ONE
    if value.kind.params[0].name in ("string", "bytes"):
        each += value.item_size.scale(PER_CHARACTER)
    return Quote(value.size * each)


def _contains_address(extra: int, *, from_text: bool) -> Price:
    """``extra`` is the further work for a whole network."""

    def actual(network: Any, other: Any) -> int:
        own = size_of(network)
        cost = read_cost(2 * own) + (read_cost(own) + 1 if extra else 0)
        return cost + (read_cost(size_of(other)) if from_text else 0)

    def estimate(_network: Argument, other: Argument) -> Quote:
        cost = (_ADDRESS_BYTES + _ADDRESS_BYTES).scale(PER_CHARACTER)
        if extra:
            cost += _ADDRESS_BYTES.scale(PER_CHARACTER) + ONE
        return Quote(cost + other.size.scale(PER_CHARACTER) if from_text else cost)

    return Price(actual, estimate)


def _sets(times: int) -> Price:
    return Price(
        lambda left, right: 1 + len(left) * len(right) * times,
        lambda left, right: Quote((left.size * right.size).scale(times) + ONE),
        by_function=False,
    )


UNIT = Price(None, lambda *_: Quote(ONE), by_function=False)
READ = _read(1)
READ_KEEPING_SIZE = _read(1, keeps_size=True)
READ_TWICE = _read(2)
REPLACE = Price(READ_TWICE.actual, _estimate_replace)
SPLIT = Price(READ_TWICE.actual, _estimate_split)
JOIN = Price(lambda *args: ceil(size_of(args[-1]) * 2 * PER_CHARACTER), _estimate_join, needs_result=True)
WALK = Price(lambda value, *_: _walk_cost(value), _estimate_walk)
FIND = Price(
    lambda text, pattern, *_: _pattern_cost(size_of(text), size_of(pattern)),
    lambda text, *rest: Quote(_estimate_pattern(text, *rest), Range(0, text.size.most)),
)
MATCH = Price(FIND.actual, lambda text, pattern: Quote(_estimate_pattern(text, pattern)), by_function=False)
CONTAINS = Price(
    lambda text, part: read_cost(size_of(text)) * read_cost(size_of(part)),
    lambda text, part: Quote(text.size.scale(PER_CHARACTER) * part.size.scale(PER_CHARACTER)),
    by_function=False,
)
PREFIX = Price(
    lambda text, _: read_cost(size_of(text)), lambda _, part: Quote(part.size.scale(PER_CHARACTER)), by_function=False
)
EQUALITY = Price(equality_cost, _estimate_equality, by_function=False)
IN_LIST = Price(lambda _, items: size_of(items), lambda _, items: Quote(items.size), by_function=False)
ADD_TEXT = Price(
    lambda left, right: read_cost(size_of(left) + size_of(right)),
    lambda left, right: Quote((left.size + right.size).scale(PER_CHARACTER), left.size + right.size),
    by_function=False,
)
ADD_LIST = Price(None, lambda left, right: Quote(ONE, left.size + right.size), by_function=False)
FORMAT = Price(READ.actual, READ.estimate, by_function=False)
QUOTE = Price(
    READ.actual,
    lambda text: Quote(text.size.scale(PER_CHARACTER), text.size * Range(1, 2) + exactly(2)),
    by_function=False,
)
TO_BYTES = Price(
    READ.actual,
    lambda text: Quote(text.size.scale(PER_CHARACTER), text.size * Range(1, 4)),
    by_function=False,
)
FROM_BYTES = Price(
    READ.actual,
    lambda data: Quote(data.size.scale(PER_CHARACTER), Range(data.size.least // 4, data.size.most)),
    by_function=False,
)
VALIDATE = Price(
    lambda form, text: _pattern_cost(len(text), form.pattern_size),
    lambda _, text: Quote(
        text.size.scale(PER_CHARACTER).scale(_LONGEST_FORMAT_PATTERN * PER_PATTERN_CHARACTER),
    ),
)
CONTAINS_IP = _contains_address(0, from_text=False)
CONTAINS_IP_TEXT = _contains_address(0, from_text=True)
CONTAINS_CIDR = _contains_address(1, from_text=False)
CONTAINS_CIDR_TEXT = _contains_address(1, from_text=True)
SETS, SETS_BOTH_WAYS = _sets(1), _sets(2)
