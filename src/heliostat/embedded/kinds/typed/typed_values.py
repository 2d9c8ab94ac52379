"""How single values are read: texts, numbers, booleans, quantities, times and bytes, each by a small plan.

``fit`` gives the value as a typed server would write it back, or raises ``TypedError`` with that server's words.
"""

import binascii
from abc import ABC, abstractmethod
from typing import Any

from heliostat.embedded.kinds.rules.go_quantities import QuantityTextError, canonical_text, number_text, rounded_text
from heliostat.embedded.kinds.rules.go_times import TimeTextError, read_micro_time, read_time
from heliostat.kube.jsontree import JsonObject

UnknownFields = list[tuple[JsonObject, str]]  # the object that has an unknown field, and the field

JSON_NAMES = {str: "string", int: "number", float: "number", bool: "bool", list: "array", dict: "object"}
_INTEGERS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class TypedError(ValueError):
    """A value that a typed server cannot decode. ``owner`` and ``fields`` are added on the way out."""

    def __init__(self, why: str, wanted: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.wanted = wanted
        self.owner = ""
        self.fields: list[str] = []
        self.is_from_text = False  # the type reads text by itself, wherever the value comes from

    def inside(self, owner: str, field: str) -> "TypedError":
        self.owner = self.owner or owner
        self.fields.insert(0, field)
        return self

    def __str__(self) -> str:
        if not self.wanted:
            return self.why
        where = f"struct field {self.owner}.{'.'.join(self.fields)}" if self.owner else "value"
        return f"json: cannot unmarshal {self.why} into Go {where} of type {self.wanted}"


class Plan(ABC):
    """How values of one type are read."""

    plain: type | None = None  # values of exactly this type need no ``fit``
    keeps_zero = True

    @abstractmethod
    def fit(self, value: Any, unknown: UnknownFields) -> Any:
        """The value as the type holds it; fields that it does not know go on the list."""


class Scalar(Plan):
    """A text or a boolean."""

    def __init__(self, python: type, wanted: str, *, keeps_zero: bool) -> None:
        self.plain = python
        self.keeps_zero = keeps_zero
        self._wanted = wanted

    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        if type(value) is self.plain:
            return value
        raise TypedError(JSON_NAMES[type(value)], self._wanted)


class Integer(Plan):
    def __init__(self, wanted: str, *, keeps_zero: bool) -> None:
        self.keeps_zero = keeps_zero
        self._wanted = wanted
        self._lowest, self._highest = _INTEGERS.get(wanted, _INTEGERS["int64"])

    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        if type(value) is int and self._lowest <= value <= self._highest:
            return value
        kind = JSON_NAMES[type(value)]
        raise TypedError(f"number {value}" if kind == "number" else kind, self._wanted)


class Number(Plan):
    def __init__(self, *, keeps_zero: bool) -> None:
        self.keeps_zero = keeps_zero

    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        if type(value) in (int, float):
            return value
        raise TypedError(JSON_NAMES[type(value)], "float64")


class Anything(Plan):
    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        return value


_INT32 = Integer("int32", keeps_zero=True)


class IntOrString(Plan):
    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        if type(value) is str:
            return value
        try:
            return _INT32.fit(value, _unknown)
        except TypedError as error:
            error.is_from_text = True
            raise


class QuantityText(Plan):
    def __init__(self, *, rounded: bool) -> None:
        self._text = rounded_text if rounded else canonical_text

    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        if type(value) is not str:
            value = number_text(value) if type(value) in (int, float) else "x"
        try:
            return self._text(value)
        except QuantityTextError as error:
            raise TypedError(str(error)) from None


class TimeText(Plan):
    def __init__(self, *, micro: bool) -> None:
        self._read = read_micro_time if micro else read_time

    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        if type(value) is not str:
            raise TypedError(JSON_NAMES[type(value)], "string")
        try:
            return self._read(value)
        except TimeTextError as error:
            raise TypedError(str(error)) from None


class Base64(Plan):
    def __init__(self, *, keeps_zero: bool) -> None:
        self.keeps_zero = keeps_zero

    def fit(self, value: Any, _unknown: UnknownFields) -> Any:
        if type(value) is list:
            return binascii.b2a_base64(bytes(map(_read_byte, value)), newline=False).decode()
        if type(value) is not str:
            raise TypedError(JSON_NAMES[type(value)], "[]uint8")
        text = value.replace("\r", "").replace("\n", "")
        try:
            return binascii.b2a_base64(binascii.a2b_base64(text, strict_mode=True), newline=False).decode()
        except (binascii.Error, ValueError):
            raise TypedError(f"illegal base64 data at input byte {_first_bad_byte(value)}") from None


def _read_byte(item: Any) -> int:
    """Bytes may also come as a list of numbers; null is none, and therefore zero."""
    if item is None:
        return 0
    if type(item) is int and 0 <= item <= 255:
        return item
    kind = JSON_NAMES[type(item)]
    raise TypedError(f"number {item}" if kind == "number" else kind, "uint8")


def _first_bad_byte(text: str) -> int:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n"
    bad = next((at for at, character in enumerate(text) if character not in alphabet), None)
    if bad is None:
        return len(text) - len(text) % 4
    return len(text[:bad].encode())
