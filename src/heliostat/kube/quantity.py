"""Resource quantities such as ``500m``, ``1.5Gi`` and ``2e3``: exact values and Kubernetes' canonical text.

Rules: a value is a whole number of nano units (finer digits round away from zero); binary ones are capped at 63 bits.
It remembers the family it was written in (binary, decimal, exponent), which decides its text; a sum has the family of
its first term that is not zero. Values compare by amount alone. Which resources exist is not known here.
"""

import re
from functools import lru_cache

from msgspec import Struct

from heliostat.kube.pattern_words import advise_quantity

BINARY, DECIMAL, EXPONENT = "BinarySI", "DecimalSI", "DecimalExponent"

_NANO = 10**9
_MAX = (2**63 - 1) * _NANO
_TEXT = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL_SUFFIXES.items()}
_LONGEST_TEXT = 300
_LARGEST_EXPONENT = 400
_TOO_LARGE = 10**_LARGEST_EXPONENT * _NANO

_SYNTAX = "write a number with an optional suffix: n, u, m, k, M, G, T, P, E, or Ki, Mi, Gi, Ti, Pi, Ei, or an exponent"


class QuantityError(ValueError):
    """Not a quantity, as (problem, fix)."""

    def __init__(self, problem: str, fix: str = _SYNTAX) -> None:
        super().__init__(problem, fix)
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.problem}; {self.fix}"


class Quantity(Struct, frozen=True, eq=False):
    """``nano`` is the exact value times 10^9."""

    nano: int
    family: str = DECIMAL

    @staticmethod
    def parse(value: str | int | float) -> "Quantity":
        """The quantity a manifest says; raises ``QuantityError``."""
        if isinstance(value, str):
            return _parse(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise QuantityError(f"{value!r} is not a quantity")
        if abs(value) >= 1e21:
            return _parse(repr(float(value)))  # hundreds of digits say no more than its exponent
        return _parse(str(int(value)) if value == int(value) else repr(value))

    @property
    def is_zero(self) -> bool:
        return self.nano == 0

    def ceil(self) -> int:
        """Whole units, rounded away from zero."""
        return -(-self.nano // _NANO) if self.nano >= 0 else self.nano // _NANO

    def as_float(self) -> float:
        return self.nano / _NANO

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, self.family if self.nano else other.family)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, self.family if self.nano else other.family)

    def __mul__(self, times: int) -> "Quantity":
        return Quantity(self.nano * times, self.family)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nano, self.family)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __ne__(self, other: object) -> bool:  # a Struct without eq brings its own, by identity
        return not self == other

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __le__(self, other: "Quantity") -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: "Quantity") -> bool:
        return self.nano > other.nano

    def __ge__(self, other: "Quantity") -> bool:
        return self.nano >= other.nano

    def __str__(self) -> str:
        """Kubernetes' canonical text: no fraction, the largest suffix of the family that leaves an integer."""
        if self.nano == 0:
            return "0"
        units, rest = divmod(self.nano, _NANO)
        if self.family == BINARY and not rest and abs(units) >= 1024:
            return _binary_text(units)
        return _exponent_text(self.nano) if self.family == EXPONENT else _decimal_text(self.nano)


ZERO = Quantity(0)


def _binary_text(units: int) -> str:
    suffix = ""
    for name, power in _BINARY_SUFFIXES.items():
        if units % (1 << power):
            break
        suffix = name
    return f"{units >> _BINARY_SUFFIXES[suffix] if suffix else units}{suffix}"


def _decimal_text(nano: int) -> str:
    power, mantissa = _thousands(nano, largest=18)
    return f"{mantissa}{_DECIMAL_NAMES[power]}"


def _exponent_text(nano: int) -> str:
    power, mantissa = _thousands(nano, largest=_LARGEST_EXPONENT)
    return f"{mantissa}e{power}" if power else str(mantissa)


def _thousands(nano: int, largest: int) -> tuple[int, int]:
    """(power, mantissa) with the largest power, a multiple of three, that leaves an integer."""
    power, mantissa = -9, nano
    while power < largest and mantissa % 1000 == 0:
        power, mantissa = power + 3, mantissa // 1000
    return power, mantissa


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    found = _TEXT.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if found is None or not (found[2] or found[3]):
        raise QuantityError(f"{text[:40]!r} is not a quantity")
    sign, whole, fraction, suffix = found[1], found[2], found[3] or "", found[4]
    family, base, power = _read_suffix(suffix, text)
    nano = _round_up(int(whole + fraction), base, power, len(fraction))
    if nano >= _TOO_LARGE:
        raise QuantityError(f"{text[:40]!r} is out of range", f"stay below 1e{_LARGEST_EXPONENT}")
    if family == BINARY:  # Kubernetes caps only these, and writes less than one unit in decimal
        nano, family = min(nano, _MAX), DECIMAL if 0 < nano < _NANO else BINARY
    return Quantity(-nano if sign == "-" else nano, family)


def _read_suffix(suffix: str, text: str) -> tuple[str, int, int]:
    """(family, base, power): the number is multiplied by base to the power."""
    if suffix in _DECIMAL_SUFFIXES:
        return DECIMAL, 10, _DECIMAL_SUFFIXES[suffix]
    if suffix in _BINARY_SUFFIXES:
        return BINARY, 2, _BINARY_SUFFIXES[suffix]
    if (found := _EXPONENT.fullmatch(suffix)) is not None:
        power = int(found[1])
        return EXPONENT, 10, max(-2 * _LARGEST_EXPONENT, min(power, _LARGEST_EXPONENT))
    raise QuantityError(f"{text!r} is not a quantity: the suffix {suffix!r} is unknown", advise_quantity(text))


def _round_up(digits: int, base: int, power: int, decimals: int) -> int:
    """digits × base^power ÷ 10^decimals in nano units, rounded up."""
    top, bottom = digits * _NANO, 10**decimals
    if power >= 0:
        top *= base**power
    else:
        bottom *= base**-power
    rounded: int = -(-top // bottom)
    return rounded
