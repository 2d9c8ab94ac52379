"""The OpenAPI v2 document as protobuf, the only form in which kubectl reads it.

Each kind of part is a table from the keys of its JSON to field numbers and ways to write them; keys that begin with
``x-`` become extensions, whose values travel as text. What a table does not name is left out.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from heliostat.kube.jsontree import JsonObject, encode_json

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# What clients ask for; it cannot be answered under this name, which they themselves find malformed.
PROTOBUF_ALIASES = ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf",)

Write: TypeAlias = Callable[[Any], bytes]
Table: TypeAlias = dict[str, tuple[int, Write]]

_LENGTH, _VARINT = 2, 0
_SMALL = tuple(bytes((value,)) for value in range(128))  # most numbers and lengths are


def encode_document(document: JsonObject) -> bytes:
    return _message(_DOCUMENT, document)


# The wire.


def _varint(value: int) -> bytes:
    if value < len(_SMALL):
        return _SMALL[value]
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(body)) + body


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


# Ways to write one value; the caller's table says under which number it stands.


def _text(value: str) -> bytes:
    return value.encode()


def _any(value: Any) -> bytes:
    """JSON is YAML, which is what the reader expects here."""
    return _field(2, encode_json(value))


def _named(name: str, body: bytes) -> bytes:
    return _field(1, name.encode()) + _field(2, body)


def _message(table: Table, tree: JsonObject, extensions: int = 0) -> bytes:
    """``extensions`` is the number of the part's extensions; 0: it has none."""
    parts = []
    for key, value in tree.items():
        if key in table:
            number, write = table[key]
            parts.append(_write(number, write, value))
        elif extensions and key.startswith("x-"):
            parts.append(_field(extensions, _named(key, _any(value))))
    return b"".join(parts)


def _write(number: int, write: Write, value: Any) -> bytes:
    if isinstance(value, bool):
        return _number(number, int(value))
    if isinstance(value, list):
        return b"".join(_field(number, write(item)) for item in value)
    return _field(number, write(value))


def _each_named(number: int, write: Write, entries: Iterable[tuple[str, Any]]) -> bytes:
    return b"".join(_field(number, _named(name, write(value))) for name, value in entries)


# Schemas.


def _schema(schema: Any) -> bytes:
    return _message(_SCHEMA, schema, extensions=31)


def _properties(properties: JsonObject) -> bytes:
    return _each_named(1, _schema, properties.items())


def _one_schema(schema: Any) -> bytes:
    """Where several forms are allowed, the schema is the first of them."""
    return _field(1, _schema(schema))


def _type(kind: str) -> bytes:
    return _field(1, kind.encode())


_SCHEMA: Table = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "pattern": (13, _text),
    "required": (19, _text),
    "enum": (20, _any),
    "additionalProperties": (21, _one_schema),
    "type": (22, _type),
    "items": (23, _one_schema),
    "properties": (25, _properties),
}


# Paths and what can be done there.


def _parameter(parameter: JsonObject) -> bytes:
    place = parameter["in"]
    if place == "body":
        return _field(1, _field(1, _message(_BODY_PARAMETER, parameter)))
    number, table = (3, _QUERY_PARAMETER) if place == "query" else (4, _PATH_PARAMETER)
    return _field(1, _field(2, _field(number, _message(table, parameter))))


def _responses(responses: JsonObject) -> bytes:
    return _each_named(1, lambda response: _field(1, _message(_RESPONSE, response)), responses.items())


def _operation(operation: JsonObject) -> bytes:
    return _message(_OPERATION, operation, extensions=13)


def _paths(paths: JsonObject) -> bytes:
    return _each_named(2, lambda item: _message(_PATH_ITEM, item), paths.items())


_BODY_PARAMETER: Table = {"name": (2, _text), "in": (3, _text), "required": (4, _text), "schema": (5, _schema)}
_QUERY_PARAMETER: Table = {
    "required": (1, _text), "in": (2, _text), "name": (4, _text), "type": (6, _text), "uniqueItems": (20, _text),
}  # fmt: skip
_PATH_PARAMETER: Table = {
    "required": (1, _text), "in": (2, _text), "name": (4, _text), "type": (5, _text), "uniqueItems": (19, _text),
}  # fmt: skip
_RESPONSE: Table = {"description": (1, _text), "schema": (2, _one_schema)}
_OPERATION: Table = {
    "tags": (1, _text),
    "operationId": (5, _text),
    "produces": (6, _text),
    "consumes": (7, _text),
    "parameters": (8, _parameter),
    "responses": (9, _responses),
    "schemes": (10, _text),
}
_PATH_ITEM: Table = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameter),
}
_INFO: Table = {"title": (1, _text), "version": (2, _text)}
_DOCUMENT: Table = {
    "swagger": (1, _text),
    "info": (2, lambda info: _message(_INFO, info)),
    "paths": (8, _paths),
    "definitions": (9, _properties),
}
