"""Kubernetes quantities in rules: ``quantity('1Gi')``, comparison and sums.

Whether one "is an integer" depends on how it is written, as in the API server: ``1000m`` is none, nor is a number too
long for its fast representation.
"""

import re

from msgspec import Struct

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.prices import READ
from heliostat.embedded.cel.values import MAX_INT, MIN_INT, register_type
from heliostat.kube.quantity import Quantity, QuantityError

_NUMBER = re.compile(r"[+-]?([0-9]*)(?:\.([0-9]*))?(.*)")
_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_DIGITS, _BINARY_DIGITS = 18, 15  # what the fast representation can hold
_UNREADABLE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class Amount(Struct, frozen=True, eq=False):
    quantity: Quantity
    is_integer: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.quantity == other.quantity

    def __hash__(self) -> int:
        return hash(self.quantity)


def _parse(text: str) -> Amount:
    try:
        quantity = Quantity.parse(text)
    except QuantityError:
        raise EvaluationError(_UNREADABLE) from None
    return Amount(quantity, _is_written_as_integer(text, quantity))


def _is_written_as_integer(text: str, quantity: Quantity) -> bool:
    found = _NUMBER.fullmatch(text)
    if found is None or not MIN_INT <= quantity.nano // 10**9 <= MAX_INT:
        return False
    whole, fraction, suffix = found[1].lstrip("0"), found[2] or "", found[3]
    if suffix in _BINARY:
        return not fraction and len(whole) + len(str(2 ** _BINARY[suffix])) <= _BINARY_DIGITS
    power = _POWERS[suffix] if suffix in _POWERS else int(suffix[1:])
    return power >= len(fraction) and len(whole + fraction) <= _DECIMAL_DIGITS


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


def _as_integer(amount: Amount) -> int:
    if not amount.is_integer:
        raise EvaluationError("cannot convert value to integer")
    return amount.quantity.nano // 10**9


def _sign(amount: Amount) -> int:
    return (amount.quantity.nano > 0) - (amount.quantity.nano < 0)


def _of(value: Amount | int) -> Amount:
    return value if isinstance(value, Amount) else Amount(Quantity.parse(value), is_integer=True)


def _add(left: Amount, right: Amount | int) -> Amount:
    other = _of(right)
    return Amount(left.quantity + other.quantity, left.is_integer and other.is_integer)


def _subtract(left: Amount, right: Amount | int) -> Amount:
    other = _of(right)
    return Amount(left.quantity - other.quantity, left.is_integer and other.is_integer)


def _compare(left: Amount, right: Amount) -> int:
    return (left.quantity > right.quantity) - (left.quantity < right.quantity)


register_type(Amount, "kubernetes.Quantity")

QUANTITIES: list[Declaration] = [
    function("quantity(string) -> quantity", run=_parse, price=READ),
    function("isQuantity(string) -> bool", run=_is_quantity, price=READ),
    function("sign(quantity) -> int", run=_sign),
    method("quantity.isInteger() -> bool", run=lambda amount: amount.is_integer),
    method("quantity.asInteger() -> int", run=_as_integer),
    method("quantity.asApproximateFloat() -> double", run=lambda amount: amount.quantity.as_float()),
    method("quantity.add(quantity) -> quantity", "quantity.add(int) -> quantity", run=_add),
    method("quantity.sub(quantity) -> quantity", "quantity.sub(int) -> quantity", run=_subtract),
    method("quantity.isLessThan(quantity) -> bool", run=lambda left, right: left.quantity < right.quantity),
    method("quantity.isGreaterThan(quantity) -> bool", run=lambda left, right: left.quantity > right.quantity),
    method("quantity.compareTo(quantity) -> int", run=_compare),
]
