"""Texts: searching, cutting, joining, matching regular expressions.

Positions count characters. A position outside the text is an evaluation error; a pattern that needs too much work is
stopped like any other rule that costs too much.
"""

from typing import Any

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.errors import CostExceededError, EvaluationError
from heliostat.embedded.cel.prices import (
    CONTAINS,
    FIND,
    FORMAT,
    JOIN,
    MATCH,
    PREFIX,
    QUOTE,
    READ_KEEPING_SIZE,
    REPLACE,
    SPLIT,
    WALK,
    check_size,
)
from heliostat.embedded.cel.text_format import format_text
from heliostat.kube.regex import Pattern, RegexWorkError, compile_pattern
from heliostat.kube.regex_syntax import RegexError

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_BLANK = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def pattern_of(text: str) -> Pattern:
    try:
        return compile_pattern(text)
    except RegexError as error:
        raise EvaluationError(str(error)) from None


def match_pattern(pattern: Pattern, text: str) -> bool:
    try:
        return pattern.is_found_in(text)
    except RegexWorkError:
        raise CostExceededError from None


def _matches(text: str, pattern: str) -> bool:
    return match_pattern(pattern_of(pattern), text)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    try:
        return list(pattern_of(pattern).find_all(text, limit))
    except RegexWorkError:
        raise CostExceededError from None


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


def _check_index(index: int, length: int) -> None:
    if not 0 <= index <= length:
        raise EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    _check_index(index, len(text))
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        _check_index(start, len(text))
        return start
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0 or (not part and start > len(text)):
        raise EvaluationError(f"index out of range: {start}")
    if start >= len(text) and part:
        return -1
    return text.rfind(part, 0, start + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        _check_index(start, len(text))
        return text[start:]
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    _check_index(start, len(text))
    _check_index(end, len(text))
    return text[start:end]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if 0 < limit < len(text):
        return [*text[: limit - 1], text[limit - 1 :]]
    return list(text)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    check_size(len(text) + len(new) * text.count(old))
    return text.replace(old, new, limit)


def _join(parts: list[Any], separator: str = "") -> str:
    check_size(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


TEXTS: list[Declaration] = [
    method("string.contains(string) -> bool", run=lambda text, part: part in text, price=CONTAINS),
    method("string.startsWith(string) -> bool", run=str.startswith, price=PREFIX),
    method("string.endsWith(string) -> bool", run=str.endswith, price=PREFIX),
    method("string.matches(string) -> bool", run=_matches, price=MATCH),
    function("matches(string, string) -> bool", run=_matches),
    method("string.find(string) -> string", run=_find, price=FIND),
    method(
        "string.findAll(string) -> list(string)",
        "string.findAll(string, int) -> list(string)",
        run=_find_all,
        price=FIND,
    ),
    method("string.charAt(int) -> string", run=_char_at),
    method("string.indexOf(string) -> int", "string.indexOf(string, int) -> int", run=_index_of, price=WALK),
    method(
        "string.lastIndexOf(string) -> int", "string.lastIndexOf(string, int) -> int", run=_last_index_of, price=WALK
    ),
    method("string.lowerAscii() -> string", run=lambda text: text.translate(_LOWER), price=READ_KEEPING_SIZE),
    method("string.upperAscii() -> string", run=lambda text: text.translate(_UPPER), price=READ_KEEPING_SIZE),
    method("string.trim() -> string", run=lambda text: text.strip(_BLANK), price=READ_KEEPING_SIZE),
    method(
        "string.substring(int) -> string",
        "string.substring(int, int) -> string",
        run=_substring,
        price=READ_KEEPING_SIZE,
    ),
    method(
        "string.replace(string, string) -> string",
        "string.replace(string, string, int) -> string",
        run=_replace,
        price=REPLACE,
    ),
    method(
        "string.split(string) -> list(string)", "string.split(string, int) -> list(string)", run=_split, price=SPLIT
    ),
    method("list(string).join() -> string", "list(string).join(string) -> string", run=_join, price=JOIN),
    method("string.format(list(dyn)) -> string", run=format_text, price=FORMAT),
    function("strings.quote(string) -> string", run=lambda text: f'"{text.translate(_QUOTED)}"', price=QUOTE),
]
