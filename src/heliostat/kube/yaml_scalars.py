"""What an unquoted YAML scalar means to kubectl: the table of words and the forms of numbers.

Rules: YAML 1.1 booleans and nulls; integers in base 2, 8 (``0o17`` and ``017``), 10 and 16 with underscores; a float
without a fraction is an integer, because kubectl sends JSON; dates stay text; what JSON cannot say is refused.
Everything else is a string.
"""

import binascii
import re
from typing import Any, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
}
_NO_JSON_NUMBER = frozenset(
    f"{sign}.{word}"
    for sign, words in (("", ("nan", "NaN", "NAN", "inf", "Inf", "INF")), *((s, ("inf", "Inf", "INF")) for s in "+-"))
    for word in words
)
_NUMBER_STARTS = frozenset("+-.0123456789")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES = (16, 2, 8, 10)
_EXACT = 2**53  # a float below it has an exact integer value
_MAX_DIGITS = 400  # past the range of a float, so it is text anyway; keeps the arithmetic small
_MAX_KEY_DIGITS = 7  # kubectl rounds a float key to single precision

TAG = "tag:yaml.org,2002:"
MAPPING_TAGS = ("!", TAG + "map", TAG + "set")
SEQUENCE_TAGS = ("!", TAG + "seq", TAG + "omap", TAG + "pairs")


class ScalarError(ValueError):
    """A scalar that has no JSON value, as (problem, fix)."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem, fix)
        self.problem = problem
        self.fix = fix


def resolve_plain(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text[:1] not in _NUMBER_STARTS:
        return _WORDS.get(text, text)
    if text in _NO_JSON_NUMBER:
        raise ScalarError(f"{text} has no JSON form", "write a finite number, or quote it to get the text")
    return _resolve_number(text)


def _resolve_number(text: str) -> Scalar:
    plain = text.replace("_", "") if text[:2] != "._" else text
    if len(plain) > _MAX_DIGITS:
        return text
    if (found := _INTEGER.fullmatch(plain)) is not None:
        sign, *digits = found.groups()
        value = next(int(part, base) for part, base in zip(digits, _BASES, strict=True) if part)
        if sign == "-" and value <= 2**63:
            return -value
        if value < 2**63 or (not sign and value < 2**64):
            return value
    if _FLOAT.fullmatch(plain) is None:
        return text
    return _resolve_float(plain, text)


def _resolve_float(plain: str, text: str) -> Scalar:
    number = float(plain)
    if abs(number) < _EXACT and number == int(number):
        return int(number)
    return text if number in (float("inf"), float("-inf")) else number


def short_tag(tag: str) -> str:
    return "!!" + tag.removeprefix(TAG) if tag.startswith(TAG) else tag


def resolve_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag, quoted or not."""
    short = tag.removeprefix(TAG)
    if short in ("str", "!", "timestamp"):
        return text
    if short == "binary":
        return _decode_binary(text)
    if short not in _TAGGED_TYPES:
        raise ScalarError(f"the tag {short_tag(tag)} is not known", "remove the tag and write the value itself")
    value = resolve_plain(text)
    if type(value) not in _TAGGED_TYPES[short]:
        raise ScalarError(f"{text!r} is not a value of the tag !!{short}", "correct the value or remove the tag")
    return value


_TAGGED_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


def _decode_binary(text: str) -> str:
    try:
        return binascii.a2b_base64(text.replace("\n", "").replace("\r", ""), strict_mode=True).decode()
    except (binascii.Error, ValueError):
        raise ScalarError("a !!binary value must be the base64 form of UTF-8 text", "write the text itself") from None


def key_text(key: Any) -> str:
    """A mapping key as JSON has it: numbers and booleans become their text."""
    if type(key) is str:
        return key
    if type(key) is bool:
        return "true" if key else "false"
    if type(key) is int and -(2**63) <= key < 2**63:
        return str(key)
    if key is None:
        raise ScalarError("a key is empty or null", "write a key before the colon, quoted if it is meant as text")
    text = str(key)
    if type(key) is float and "e" not in text and len(text) <= _MAX_KEY_DIGITS:
        return text
    raise ScalarError(f"the number {key} cannot be a key", "quote it")
