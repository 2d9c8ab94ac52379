"""How large a value can be and how much work a step can do, before any data is there.

A ``Range`` is from the least to the most; sums and products stop at the largest number (2^64 - 1) instead of growing
on. ``Argument`` is what the price of a function may depend on.
"""

from math import ceil

from msgspec import Struct

from heliostat.embedded.cel.static_types import Type
from heliostat.embedded.cel.values import MAX_UINT, Scalar


class Range(Struct, frozen=True):
    least: int
    most: int

    def __add__(self, other: "Range") -> "Range":
        return Range(_cap(self.least + other.least), _cap(self.most + other.most))

    def __mul__(self, other: "Range") -> "Range":
        return Range(_cap(self.least * other.least), _cap(self.most * other.most))

    def __or__(self, other: "Range") -> "Range":
        """Everything in either of them."""
        return Range(min(self.least, other.least), max(self.most, other.most))

    def scale(self, factor: float) -> "Range":
        """Rounded up: the price of something per character or per item."""
        return Range(_scale(self.least, factor), _scale(self.most, factor))


ZERO, ONE = Range(0, 0), Range(1, 1)
UNKNOWN = Range(0, MAX_UINT)


def exactly(number: int) -> Range:
    return Range(number, number)


def _cap(number: int) -> int:
    return min(number, MAX_UINT)


def _scale(number: int, factor: float) -> int:
    return MAX_UINT if (scaled := number * factor) >= 2.0**64 else ceil(scaled)


class Argument(Struct, frozen=True):
    """One argument of a call: its type, its size, the size of a list's items, its value when it is fixed."""

    kind: Type
    size: Range
    item_size: Range = UNKNOWN
    value: Scalar = None


class Quote(Struct, frozen=True):
    """What a call may cost, and how large its result may be when that follows from its arguments."""

    cost: Range
    size: Range | None = None
