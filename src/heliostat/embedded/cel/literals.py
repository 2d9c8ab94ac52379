"""What a literal in the text stands for: numbers within their range, strings and bytes with their escapes."""

import re

from heliostat.embedded.cel.values import MAX_INT, MAX_UINT, Uint

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))"
)
_SIMPLE = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_SURROGATES = range(0xD800, 0xE000)


class LiteralError(ValueError):
    """The literal stands for nothing; the text says why."""


def read_int(text: str, negative: bool = False) -> int:
    value = int(text, 16) if text.startswith("0x") else int(text) if len(text) < 64 else MAX_INT + 2
    if value > MAX_INT + negative:
        raise LiteralError("invalid int literal")
    return -value if negative else value


def read_uint(text: str) -> Uint:
    digits = text[:-1]
    value = int(digits, 16) if digits.startswith("0x") else int(digits) if len(digits) < 64 else MAX_UINT + 1
    if value > MAX_UINT:
        raise LiteralError("invalid uint literal")
    return Uint(value)


def read_float(text: str) -> float:
    value = float(text)
    if value == float("inf"):
        raise LiteralError("invalid double literal")
    return value


def read_text(text: str) -> str | bytes:
    """A quoted text, raw or not, as a string, or as bytes when it starts with b."""
    is_bytes = text[0] in "bB"
    text = text[1:] if is_bytes else text
    is_raw = text[0] in "rR"
    text = text[1:] if is_raw else text
    quotes = 3 if text[:3] in ('"""', "'''") else 1
    body = text[quotes:-quotes].replace("\r\n", "\n").replace("\r", "\n")
    if is_bytes:
        return body.encode() if is_raw else _bytes(body)
    return body if is_raw else _ESCAPE.sub(_character, body)


def _character(found: re.Match[str]) -> str:
    simple, hexadecimal, short, long, octal, other = found.groups()
    if other is not None:
        raise LiteralError("unable to unescape string")
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    code = int(octal, 8) if octal is not None else int(hexadecimal or short or long, 16)
    if code in _SURROGATES or code > 0x10FFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _bytes(body: str) -> bytes:
    """Hexadecimal and octal escapes are bytes here, everything else is UTF-8."""
    parts: list[bytes] = []
    end = 0
    for found in _ESCAPE.finditer(body):
        parts.append(body[end : found.start()].encode())
        _, hexadecimal, short, long, octal, _ = found.groups()
        if short is not None or long is not None:
            raise LiteralError("unable to unescape string")
        if hexadecimal is not None or octal is not None:
            parts.append(bytes((int(hexadecimal, 16) if hexadecimal is not None else int(octal, 8),)))
        else:
            parts.append(_character(found).encode())
        end = found.end()
    parts.append(body[end:].encode())
    return b"".join(parts)
