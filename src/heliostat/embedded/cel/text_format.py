"""``'%s has %d'.format([name, count])``: the clauses and what values they take.

``%f`` groups thousands and ``%e`` writes powers of ten with raised digits, as the API server's library does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from math import isinf, isnan
from typing import Any

from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.library_conversions import float_text
from heliostat.embedded.cel.prices import check_size
from heliostat.embedded.cel.static_types import Type, is_dynamic
from heliostat.embedded.cel.times import format_duration, format_timestamp
from heliostat.embedded.cel.values import Duration, Timestamp, TypeValue, Uint, type_name

_CLAUSE = re.compile(r"%(?:(%)|(?:\.(\d{1,3}))?([a-zA-Z])?)", re.ASCII)
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_FLOATS = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_PRECISION = 6
_STRING_KINDS = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
_INTEGERS = (int, Uint)


def format_text(template: str, args: list[Any]) -> str:
    parts: list[str] = []
    end = used = size = 0
    for found in _CLAUSE.finditer(template):
        parts.append(template[end : found.start()])
        end = found.end()
        if found[1]:
            parts.append("%")
            continue
        parts.append(_format_clause(found, args, used))
        size += len(parts[-1])
        check_size(size)
        used += 1
    if used < len(args):
        raise EvaluationError(f"too many arguments supplied to string.format (expected {used}, got {len(args)})")
    return "".join(parts) + template[end:]


def _format_clause(found: re.Match[str], args: list[Any], index: int) -> str:
    precision, letter = found[2], found[3]
    if letter is None:
        raise EvaluationError("unexpected end of string")
    if letter not in _CLAUSES:
        raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
    if index >= len(args):
        raise EvaluationError(f"index {index} out of range")
    return _CLAUSES[letter](args[index], _PRECISION if precision is None else int(precision))


def _refuse(rule: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {rule}, was given {type_name(value)}")


def _string(value: Any, _precision: int = 0) -> str:
    write = _STRINGS.get(type(value))
    if write is None:
        raise _refuse(f"string clause can only be used on {_STRING_KINDS}", value)
    return write(value)


def _nested(value: Any) -> str:
    """Inside a list or a map: texts quoted, doubles with six decimals."""
    if isinstance(value, str):
        return f'"{value}"'
    return _fixed(value, _PRECISION) if isinstance(value, float) else _string(value)


def _map(value: dict[Any, Any]) -> str:
    entries = sorted((_nested(key), _nested(item)) for key, item in value.items())
    return "{" + ", ".join(f"{key}:{item}" for key, item in entries) + "}"


_STRINGS: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    bytes: lambda value: value.decode(errors="replace"),
    int: str,
    Uint: lambda value: str(int(value)),
    float: float_text,
    type(None): lambda _: "null",
    list: lambda value: "[" + ", ".join(map(_nested, value)) + "]",
    dict: _map,
    TypeValue: lambda value: value.name,
    Duration: format_duration,
    Timestamp: format_timestamp,
}


def _decimal(value: Any, _precision: int) -> str:
    if type(value) not in _INTEGERS:
        raise _refuse("decimal clause can only be used on integers", value)
    return str(int(value))


def _double(value: Any, clause: str) -> float:
    if isinstance(value, str) and value in _FLOATS:
        return _FLOATS[value]
    if not isinstance(value, float):
        raise _refuse(f"{clause} clause can only be used on doubles", value)
    return value


def _fixed(value: Any, precision: int) -> str:
    number = _double(value, "fixed-point")
    return _special(number) or f"{number:,.{precision}f}"


def _scientific(value: Any, _precision: int) -> str:
    number = _double(value, "scientific")
    special = _special(number)
    if special:
        return f"   {special}" if isnan(number) else special
    mantissa, _, exponent = f"{number:.{_PRECISION}e}".partition("e")
    power = f"{'-' if exponent[0] == '-' else ''}{exponent[1:]}".translate(_RAISED)
    return f"{mantissa}×10{power}"


def _special(number: float) -> str:
    if isnan(number):
        return "NaN"
    return ("∞" if number > 0 else "-∞") if isinf(number) else ""


def _based(name: str, base: str, extra: tuple[type, ...]) -> Callable[[Any, int], str]:
    def write(value: Any, _precision: int) -> str:
        if type(value) in _INTEGERS or (bool in extra and type(value) is bool):
            return format(int(value), base)
        if isinstance(value, (str, bytes)) and type(value) in extra:
            text = (value.encode() if isinstance(value, str) else value).hex()
            return text.upper() if base == "X" else text
        raise _refuse(name, value)

    return write


_HEX = "only integers, byte buffers, and strings can be formatted as hex"
_DOUBLES = ("double", "string")
_TYPES: dict[str, tuple[str, tuple[str, ...]]] = {  # what a clause takes, and what it says to anything else
    "s": (
        f"string clause can only be used on {_STRING_KINDS}",
        (
            *("string", "bool", "bytes", "int", "uint", "double", "null_type", "list", "map", "type"),
            *("google.protobuf.Duration", "google.protobuf.Timestamp"),
        ),
    ),
    "d": ("decimal clause can only be used on integers", ("int", "uint")),
    "f": ("fixed-point clause can only be used on doubles", _DOUBLES),
    "e": ("scientific clause can only be used on doubles", _DOUBLES),
    "b": ("only integers and bools can be formatted as binary", ("int", "uint", "bool")),
    "o": ("octal clause can only be used on integers", ("int", "uint")),
    "x": (_HEX, ("int", "uint", "string", "bytes")),
    "X": (_HEX, ("int", "uint", "string", "bytes")),
}


def format_issues(template: str, kinds: Sequence[Type]) -> Iterator[tuple[int | None, str]]:
    """What is wrong with a call whose template and types of arguments are known: (argument or None, problem)."""
    clauses = [found for found in _CLAUSE.finditer(template) if not found[1]]
    for index, found in enumerate(clauses):
        letter = found[3]
        if letter is None:
            yield None, "unexpected end of string"
        elif letter not in _CLAUSES:
            yield None, f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
        elif index >= len(kinds):
            yield None, f"index {index} out of range"
        elif not is_dynamic(kinds[index]) and kinds[index].name not in _TYPES[letter][1]:
            yield index, f"error during formatting: {_TYPES[letter][0]}, was given {kinds[index]}"
        else:
            continue
        return
    if len(clauses) < len(kinds):
        problem = f"too many arguments supplied to string.format (expected {len(clauses)}, got {len(kinds)})"
        yield None, problem


_CLAUSES: dict[str, Callable[[Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _based("only integers and bools can be formatted as binary", "b", (bool,)),
    "o": _based("octal clause can only be used on integers", "o", ()),
    "x": _based(_HEX, "x", (str, bytes)),
    "X": _based(_HEX, "X", (str, bytes)),
}
