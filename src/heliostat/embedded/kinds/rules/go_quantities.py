"""Quantities as a typed server reads and writes them: canonical text, and in resource lists whole thousandths.

``heliostat.kube.quantity`` knows the values; here are the refusals in kube-apiserver's words and the rounding that
its defaults do to every resource list.
"""

import re
from functools import lru_cache

from heliostat.kube.quantity import Quantity, QuantityError

_MILLI = 10**6  # in nano units
_FORM = re.compile(r"[+-]?[0-9]*\.?[0-9]*[eEinumkKMGTP]*[-+]?[0-9]*", re.ASCII)
_BARE = re.compile(r"[+-]?\.?", re.ASCII)
WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"


class QuantityTextError(ValueError):
    """Why a text is no quantity, in kube-apiserver's words."""


@lru_cache(maxsize=4096)
def canonical_text(text: str) -> str:
    return str(_read(text))


@lru_cache(maxsize=4096)
def rounded_text(text: str) -> str:
    """In a resource list: nothing finer than thousandths, rounded away from zero."""
    return str(_round_up(_read(text)))


def _read(text: str) -> Quantity:
    text = text.strip()
    if not text or _FORM.fullmatch(text) is None:
        raise QuantityTextError(WRONG_FORM)
    if _BARE.fullmatch(text) is not None:
        return Quantity(0)  # Kubernetes takes a lone sign or point for nothing
    try:
        return Quantity.parse(text)
    except QuantityError:
        raise QuantityTextError(WRONG_SUFFIX) from None


def _round_up(quantity: Quantity) -> Quantity:
    whole, rest = divmod(abs(quantity.nano), _MILLI)
    if not rest:
        return quantity
    nano = (whole + 1) * _MILLI
    return Quantity(nano if quantity.nano > 0 else -nano, quantity.family)


def number_text(value: float) -> str:
    """How a JSON number reads as a quantity."""
    return str(value) if isinstance(value, int) else repr(value)
