"""Conversions between types, and the size of things.

A text that does not read as the wanted type is an evaluation error with the API server's words.
"""

import re
from decimal import Decimal
from math import isinf, isnan
from typing import Any, NoReturn

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.library_operators import checked_int, checked_uint
from heliostat.embedded.cel.prices import FROM_BYTES, TO_BYTES
from heliostat.embedded.cel.times import (
    checked_duration,
    checked_timestamp,
    format_duration,
    format_timestamp,
    parse_duration,
    parse_timestamp,
)
from heliostat.embedded.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    NANOS,
    Duration,
    Timestamp,
    TypeValue,
    Uint,
    type_name,
)

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_UNSIGNED = re.compile(r"[0-9]{1,40}")
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII)
_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_LEAST_EXPONENT = 6  # from a million on, a double is written with an exponent
_FALSE = ("0", "f", "F", "false", "FALSE", "False")


def _refuse(target: str) -> NoReturn:
    raise EvaluationError(f"type conversion error from 'string' to '{target}'")


def _bool(text: str) -> bool:
    if text not in _TRUE and text not in _FALSE:
        _refuse("bool")
    return text in _TRUE


def _int_from_text(text: str) -> int:
    if _INTEGER.fullmatch(text) is None or not MIN_INT <= int(text) <= MAX_INT:
        _refuse("int")
    return int(text)


def _int_from_float(value: float) -> int:
    if not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


def _uint_from_text(text: str) -> Uint:
    if _UNSIGNED.fullmatch(text) is None or int(text) > MAX_UINT:
        _refuse("uint")
    return Uint(text)


def _uint_from_float(value: float) -> Uint:
    if not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(value))


def _double(text: str) -> float:
    if _FLOAT.fullmatch(text) is None:
        _refuse("double")
    return float(text)


def _duration(text: str) -> Duration:
    found = parse_duration(text)
    if found is None:
        _refuse("google.protobuf.Duration")
    return found


def _timestamp(text: str) -> Timestamp:
    found = parse_timestamp(text)
    if found is None:
        _refuse("google.protobuf.Timestamp")
    return found


def _text_from_bytes(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def float_text(value: float) -> str:
    """The shortest text that reads back the same, with an exponent where Go writes one."""
    if isnan(value) or isinf(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    power = int(exponent) + len(text) - 1
    minus = "-" if sign else ""
    if value == 0:
        return f"{minus}0"
    if -4 <= power < _LEAST_EXPONENT:
        return minus + format(Decimal((0, digits, int(exponent))), "f")
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{minus}{text[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _same(value: Any) -> Any:
    return value


def _type(value: Any) -> TypeValue:
    return TypeValue(type_name(value))


FOLDABLE = frozenset(["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"])

CONVERSIONS: list[Declaration] = [
    *(function(f"{kind}({kind}) -> {kind}", run=_same) for kind in ("bool", "bytes", "double", "duration", "int")),
    *(function(f"{kind}({kind}) -> {kind}", run=_same) for kind in ("string", "timestamp", "uint")),
    function("dyn(A) -> dyn", run=_same),
    function("type(A) -> type(A)", run=_type),
    function("bool(string) -> bool", run=_bool),
    function("bytes(string) -> bytes", run=str.encode, price=TO_BYTES),
    function("double(int) -> double", "double(uint) -> double", run=float),
    function("double(string) -> double", run=_double),
    function("duration(int) -> duration", run=checked_duration),
    function("duration(string) -> duration", run=_duration),
    function("int(double) -> int", run=_int_from_float),
    function("int(duration) -> int", run=lambda duration: duration.nanos),
    function("int(string) -> int", run=_int_from_text),
    function("int(timestamp) -> int", run=lambda timestamp: timestamp.nanos // NANOS),
    function("int(uint) -> int", run=lambda value: checked_int(int(value))),
    function("string(bool) -> string", run=lambda value: "true" if value else "false"),
    function("string(bytes) -> string", run=_text_from_bytes, price=FROM_BYTES),
    function("string(double) -> string", run=float_text),
    function("string(duration) -> string", run=format_duration),
    function("string(int) -> string", "string(uint) -> string", run=lambda value: str(int(value))),
    function("string(timestamp) -> string", run=format_timestamp),
    function("timestamp(int) -> timestamp", run=lambda seconds: checked_timestamp(seconds * NANOS)),
    function("timestamp(string) -> timestamp", run=_timestamp),
    function("uint(double) -> uint", run=_uint_from_float),
    function("uint(int) -> uint", run=checked_uint),
    function("uint(string) -> uint", run=_uint_from_text),
    function(*(f"size({kind}) -> int" for kind in ("string", "bytes", "list(A)", "map(A, B)")), run=len),
    method(*(f"{kind}.size() -> int" for kind in ("string", "bytes", "list(A)", "map(A, B)")), run=len),
]
