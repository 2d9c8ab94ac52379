"""Bodies of typed Kubernetes clients (``application/vnd.kubernetes.protobuf``) into the trees that JSON would give.

Rules: the envelope names apiVersion and kind, the table names the fields. Go clients write every field that is no
pointer, so a zero is dropped where their JSON leaves it out. Unknown fields are skipped, as newer clients have them;
anything that cannot be read is a ``ProtobufError`` with its path. Nothing is written in protobuf.
"""

from binascii import b2a_base64
from collections.abc import Callable
from typing import Any, TypeAlias

from heliostat.kube.document_error import DocumentError
from heliostat.kube.jsontree import MAX_DEPTH, JsonObject, decode_json
from heliostat.kube.protobuf_table import Field, find_message, message_fields
from heliostat.kube.protobuf_wire import (
    BYTES,
    FIXED64,
    FORM_NAMES,
    VARINT,
    ProtobufError,
    as_double,
    as_signed,
    as_text,
    read_fields,
    read_packed,
)
from heliostat.kube.timestamps import format_micro_timestamp, format_timestamp

__all__ = ["MOST_FIELDS", "ProtobufError", "decode_protobuf"]

MOST_FIELDS = 500_000  # of one body; a megabyte of CustomResourceDefinition has some 50 000
_PREFIX = b"k8s\x00"

_INTEGERS: dict[str, Callable[[int], int | bool]] = {
    "bool": lambda value: value != 0,
    "int32": lambda value: as_signed(value, 32),
    "int64": lambda value: as_signed(value, 64),
}
_TEXTS: dict[str, Callable[[bytes], str]] = {
    "string": as_text,
    "bytes": lambda content: b2a_base64(content, newline=False).decode(),
}


def decode_protobuf(body: bytes) -> JsonObject:
    """The object of a request body, with its apiVersion and kind; raises only ``ProtobufError``."""
    return _Reader().read_envelope(body, 0)


class _Reader:
    """One body being read. Its state is how many more fields it may have."""

    def __init__(self) -> None:
        self._left = MOST_FIELDS

    def read_envelope(self, data: bytes, depth: int) -> JsonObject:
        if not data.startswith(_PREFIX):
            raise ProtobufError("the body is no protobuf of Kubernetes, which begins with the bytes 6b 38 73 00")
        parts = _contents(data[len(_PREFIX) :])
        names = _contents(parts.get(1, b""))
        api_version, kind = as_text(names.get(1, b"")), as_text(names.get(2, b""))
        if parts.get(3):
            raise ProtobufError(f"the content encoding {as_text(parts[3])!r} is not supported; send it without one")
        if not kind or not api_version:
            raise ProtobufError("the envelope names no apiVersion and kind; set its typeMeta")
        message = find_message(api_version, kind)
        if message is None:
            raise ProtobufError(f'no kind "{kind}" is known for version "{api_version}" in protobuf; send it as JSON')
        tree: JsonObject = {"kind": kind, "apiVersion": api_version}
        return self.read_message(message, parts.get(2, b""), depth, tree)

    def read_message(self, message: str, data: bytes, depth: int, tree: JsonObject) -> JsonObject:
        """The fields into ``tree``: a message that comes in two parts is one, the later part wins."""
        if depth >= MAX_DEPTH:
            raise ProtobufError(f"nested deeper than {MAX_DEPTH} levels; flatten the object")
        self._count_one()
        fields = message_fields(message)
        for number, form, value in read_fields(data):
            self._count_one()
            field = fields.get(number)
            if field is not None:
                try:
                    self._read_field(field, form, value, depth, tree)
                except ProtobufError as error:
                    raise error.inside(field.name) from None
        return tree

    def _count_one(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ProtobufError(f"more than {MOST_FIELDS} fields in one object; send less at once")

    def _read_field(self, field: Field, form: int, value: int | bytes, depth: int, tree: JsonObject) -> None:
        name = field.name
        if not name:
            self.read_message(field.type, _content(form, value), depth + 1, tree)
        elif field.shape == "list":
            items = tree.setdefault(name, [])
            if form == BYTES and field.type in _INTEGERS:
                items += [_INTEGERS[field.type](item) for item in read_packed(_content(form, value))]
            else:
                items.append(self._read_value(field.type, form, value, depth, None))
        elif field.shape == "map":
            key, item = self._read_entry(field.type, _content(form, value), depth)
            tree.setdefault(name, {})[key] = item
        else:
            found = self._read_value(field.type, form, value, depth, tree.get(name))
            if found is None or (not found and field.shape == "optional"):
                tree.pop(name, None)
            else:
                tree[name] = found

    def _read_entry(self, kind: str, data: bytes, depth: int) -> tuple[str, Any]:
        """Key and value of a map, no number in any kind. What an entry leaves out is the zero of its type."""
        parts = _contents(data)
        key = as_text(parts.get(1, b""))
        try:
            return key, self._read_value(kind, BYTES, parts.get(2, b""), depth, None)
        except ProtobufError as error:
            raise error.inside(key) from None

    def _read_value(self, kind: str, form: int, value: int | bytes, depth: int, before: Any) -> Any:
        if kind in _INTEGERS:
            return _INTEGERS[kind](_number(form, value))
        if kind in _TEXTS:
            return _TEXTS[kind](_content(form, value))
        if kind == "double":
            return as_double(_content(form, value, FIXED64))
        content = _content(form, value)
        if kind in _SPECIAL:
            return _SPECIAL[kind](self, content, depth + 1)
        return self.read_message(kind, content, depth + 1, {} if before is None else before)


def _number(form: int, value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ProtobufError(f"the field is {FORM_NAMES[form]}, but its type is {FORM_NAMES[VARINT]}")
    return value


def _content(form: int, value: int | bytes, wanted: int = BYTES) -> bytes:
    if isinstance(value, int) or form != wanted:
        raise ProtobufError(f"the field is {FORM_NAMES[form]}, but its type is {FORM_NAMES[wanted]}")
    return value


def _contents(data: bytes) -> dict[int, bytes]:
    """The last of each field that is bytes with a length."""
    return {number: value for number, form, value in read_fields(data) if form == BYTES and isinstance(value, bytes)}


def _numbers(data: bytes) -> dict[int, int]:
    return {number: value for number, _, value in read_fields(data) if isinstance(value, int)}


def _read_quantity(_: _Reader, data: bytes, __: int) -> str:
    return as_text(_contents(data).get(1, b"")) or "0"


def _read_int_or_string(_: _Reader, data: bytes, __: int) -> int | str:
    numbers = _numbers(data)
    if numbers.get(1, 0) == 1:
        return as_text(_contents(data).get(3, b""))
    return as_signed(numbers.get(2, 0), 32)


def _read_time(_: _Reader, data: bytes, __: int) -> str | None:
    """No bytes at all are the time that was never set."""
    return _write_time(format_timestamp, as_signed(_numbers(data).get(1, 0), 64)) if data else None


def _read_micro_time(_: _Reader, data: bytes, __: int) -> str | None:
    numbers = _numbers(data)
    seconds, nanoseconds = as_signed(numbers.get(1, 0), 64), as_signed(numbers.get(2, 0), 32)
    return _write_time(format_micro_timestamp, seconds + nanoseconds // 1000 / 1_000_000) if data else None


def _write_time(write: Callable[[float], str], epoch: float) -> str:
    try:
        return write(epoch)
    except OverflowError:
        raise ProtobufError(f"{epoch} seconds after 1970 is no time between the years 1 and 9999") from None


def _read_json(_: _Reader, data: bytes, __: int) -> Any:
    """JSON text inside a message of one field."""
    text = _contents(data).get(1, b"")
    try:
        return decode_json(text) if text else None
    except DocumentError as error:
        raise ProtobufError(f"the JSON inside is invalid: line {error.line}: {error.problem}") from None


def _read_extension(reader: _Reader, data: bytes, depth: int) -> Any:
    """Any object: as JSON, or as another envelope."""
    raw = _contents(data).get(1, b"")
    if not raw.startswith(_PREFIX):
        return _read_json(reader, data, depth)
    return reader.read_envelope(raw, depth)


_SCHEMA = "apiextensions.v1.JSONSchemaProps"


def _read_schema_or_list(reader: _Reader, data: bytes, depth: int) -> Any:
    several = [value for number, form, value in read_fields(data) if number == 2 and form == BYTES]
    if several:
        return [reader.read_message(_SCHEMA, _content(BYTES, item), depth, {}) for item in several]
    return _read_schema(reader, _contents(data).get(1), depth)


def _read_schema_or_bool(reader: _Reader, data: bytes, depth: int) -> Any:
    schema = _read_schema(reader, _contents(data).get(2), depth)
    return _numbers(data).get(1, 0) != 0 if schema is None else schema


def _read_schema_or_names(reader: _Reader, data: bytes, depth: int) -> Any:
    names = [as_text(_content(form, value)) for number, form, value in read_fields(data) if number == 2]
    return names or _read_schema(reader, _contents(data).get(1), depth)


def _read_schema(reader: _Reader, data: bytes | None, depth: int) -> JsonObject | None:
    return None if data is None else reader.read_message(_SCHEMA, data, depth, {})


def _read_strings(_: _Reader, data: bytes, __: int) -> list[str]:
    return [as_text(_content(form, value)) for number, form, value in read_fields(data) if number == 1]


_ReadSpecial: TypeAlias = Callable[[_Reader, bytes, int], Any]
# Messages that JSON shows as something else than an object of their fields.
_SPECIAL: dict[str, _ReadSpecial] = {
    "Quantity": _read_quantity,
    "IntOrString": _read_int_or_string,
    "meta.v1.Time": _read_time,
    "meta.v1.MicroTime": _read_micro_time,
    "meta.v1.FieldsV1": _read_json,
    "runtime.RawExtension": _read_extension,
    "apiextensions.v1.JSON": _read_json,
    "apiextensions.v1.JSONSchemaPropsOrArray": _read_schema_or_list,
    "apiextensions.v1.JSONSchemaPropsOrBool": _read_schema_or_bool,
    "apiextensions.v1.JSONSchemaPropsOrStringArray": _read_schema_or_names,
    "strings": _read_strings,
}
