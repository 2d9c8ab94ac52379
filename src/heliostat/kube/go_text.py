"""Text as Go programs write it, where users and other tools compare it byte for byte: JSON, numbers, quoted strings."""

import math
from decimal import Decimal
from typing import Any

import msgspec

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def go_json(value: Any) -> str:
    """Compact JSON with sorted keys, numbers in their shortest form, and the characters HTML minds escaped."""
    if isinstance(value, dict):
        pairs = (f"{go_json(str(key))}:{go_json(value[key])}" for key in sorted(value))
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(go_json(item) for item in value) + "]"
    if isinstance(value, float):
        return go_float(value)
    return msgspec.json.encode(value).decode().translate(_HTML)


def go_float(value: float) -> str:
    """The shortest text that reads back the same; exponents only below 1e-6 and from 1e21 on."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    if 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(repr(value)), "f")  # beyond the digits that tell it from its neighbours come zeros
        return text.removesuffix(".0")
    mantissa, exponent = repr(value).split("e") if "e" in repr(value) else (format(value, "e").split("e"))
    sign = "-" if exponent.startswith("-") else "+"
    digits = exponent.lstrip("+-").lstrip("0")
    return f"{mantissa.removesuffix('.0')}e{sign}{digits}"


def go_short_float(value: float) -> str:
    """Like ``strconv.FormatFloat(value, 'g', -1, 64)``: exponents, of two digits, below 1e-4 and from 1e6 on."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return go_float(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    point = "." if rest else ""
    return f"{'-' * sign}{first}{point}{''.join(rest)}e{len(rest) + int(exponent):+03d}"


def go_quote(text: str) -> str:
    """Like Go's strconv.Quote."""
    return '"' + "".join(_quote_character(character) for character in text) + '"'


def _quote_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
