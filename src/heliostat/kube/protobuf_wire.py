"""The wire format of protobuf: a message's bytes into its fields, and a field's bytes into a scalar.

Rules: a field is a number, a form and a value; whatever does not end where it says, or says what cannot be, is a
``ProtobufError``. Groups, an abandoned form that Kubernetes never wrote, are refused. No field has a name here.
"""

import struct
from collections.abc import Iterator
from typing import TypeAlias

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FORM_NAMES = {VARINT: "a varint", FIXED64: "eight bytes", BYTES: "bytes with a length", FIXED32: "four bytes"}

WireField: TypeAlias = tuple[int, int, int | bytes]  # number, form, and an int for a varint, else the bytes

_WIDTHS = {FIXED64: 8, FIXED32: 4}
_LONGEST_VARINT = 10
_SIXTY_FOUR_BITS = (1 << 64) - 1
_HIGHEST_NUMBER = (1 << 29) - 1
_EXACT = 1 << 53  # whole numbers up to here have one double each


class ProtobufError(ValueError):
    """Bytes that are no message of the kind they claim to be; ``inside`` tells the way to them, from within."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem, *path)
        self.problem = problem
        self.path = path

    def inside(self, name: str) -> "ProtobufError":
        return ProtobufError(self.problem, name, *self.path) if name else self

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {self.problem}" if self.path else self.problem


def read_fields(data: bytes) -> Iterator[WireField]:
    """Every field in the order of the bytes, known or not."""
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        number, form = tag >> 3, tag & 7
        if not 0 < number <= _HIGHEST_NUMBER:
            raise ProtobufError(f"{number} is no field number; the message is damaged")
        if form == VARINT:
            value, at = read_varint(data, at)
            yield number, form, value
            continue
        length, at = _read_length(data, at, number, form)
        if length > end - at:
            raise ProtobufError(f"field {number} ends after {end - at} of its {length} bytes; the message is cut short")
        yield number, form, data[at : at + length]
        at += length


def _read_length(data: bytes, at: int, number: int, form: int) -> tuple[int, int]:
    if form == BYTES:
        return read_varint(data, at)
    if form not in _WIDTHS:
        raise ProtobufError(f"field {number} has the wire type {form}, which no field of Kubernetes has")
    return _WIDTHS[form], at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at ``at``, without a sign, and the offset behind it."""
    if at < len(data) and data[at] < 0x80:  # most are this short
        return data[at], at + 1
    value = 0
    for step, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return value & _SIXTY_FOUR_BITS, at + step + 1
    if len(data) - at < _LONGEST_VARINT:
        raise ProtobufError("the message is cut short within a number")
    raise ProtobufError(f"a number is longer than {_LONGEST_VARINT} bytes; the message is damaged")


def read_packed(data: bytes) -> Iterator[int]:
    """The numbers of a list in its short form: one behind the other."""
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value


def as_signed(value: int, bits: int) -> int:
    """Two's complement of the lowest bits, which is how negative numbers travel."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def as_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ProtobufError(f"the byte 0x{data[error.start]:02x} at {error.start} is not valid UTF-8") from None


def as_double(data: bytes) -> float | int:
    """A whole number is an int, as JSON texts have it."""
    value: float = struct.unpack("<d", data)[0]
    if value - value != 0:
        raise ProtobufError(f"{value} is a number that JSON does not have")
    return int(value) if abs(value) <= _EXACT and value == int(value) else value
