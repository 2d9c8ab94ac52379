"""From a JSON value to the value a rule sees, by the type its schema gives it.

Most JSON values are seen as they are; texts with a format become durations, timestamps or bytes, whole numbers in a
``number`` field become floats. A value that is not what the schema says is an evaluation error, never a surprise: every
read compares the Python type first, so the common case costs one comparison.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.static_types import Type
from heliostat.embedded.cel.times import parse_date, parse_schema_time, parse_worded_duration
from heliostat.embedded.cel.values import Duration, Timestamp
from heliostat.kube.schema import JsonSchema

_PYTHON_TYPES: dict[str, type] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": float,
}
_EXPECTED = {
    "object": "a map for the provided schema with type=object",
    "array": "an array for the provided schema with type=array",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "string": "string",
}
_GO_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


class Reader(Struct, frozen=True, eq=False):
    """A value whose Python type is ``expected`` is taken as it is; any other goes through ``convert``."""

    expected: type | None
    convert: Callable[[Any], Any]


def reader_for(kind: Type) -> Reader | None:
    """None for values that do not come from a schema."""
    if kind.data is None:
        return None
    schema = kind.data.schema
    nullable = bool(schema.get("nullable"))
    convert = _converter(schema)

    def read(value: Any) -> Any:
        if value is None:
            if nullable:
                return None
            raise EvaluationError("invalid data, got null for schema with nullable=false")
        return convert(value)

    return Reader(_expected(schema), read)


def read(value: Any, reader: Reader | None) -> Any:
    return value if reader is None or type(value) is reader.expected else reader.convert(value)


def _expected(schema: JsonSchema) -> type | None:
    if schema.get("x-kubernetes-int-or-string"):
        return str
    kind = schema.get("type", "")
    return None if kind == "string" and schema.get("format") in _FORMATS else _PYTHON_TYPES.get(kind)


def _converter(schema: JsonSchema) -> Callable[[Any], Any]:
    if schema.get("x-kubernetes-int-or-string"):
        return _read_int_or_string
    kind = schema.get("type", "")
    if kind == "string" and schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]

    def refuse(value: Any) -> Any:
        if kind == "number" and type(value) is int:
            return float(value)
        if type(value) is _PYTHON_TYPES.get(kind):
            return value
        got = "" if kind in ("object", "array") else f", got {_GO_NAMES.get(type(value), 'nil')}"
        raise EvaluationError(f"invalid data, expected {_EXPECTED.get(kind, kind)}{got}")

    return refuse


def _read_int_or_string(value: Any) -> Any:
    if type(value) in (int, str):
        return value
    raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")


def _from_text(parse: Callable[[str], Any], problem: str, done: type) -> Callable[[Any], Any]:
    cached = lru_cache(maxsize=1024)(parse)

    def convert(value: Any) -> Any:
        if type(value) is done:
            return value
        if type(value) is not str:
            raise EvaluationError(f"invalid data, expected string, got {_GO_NAMES.get(type(value), 'nil')}")
        found = cached(value)
        if found is None:
            raise EvaluationError(problem.format(value))
        return found

    return convert


def _decode_base64(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        return None


_FORMATS: dict[str, Callable[[Any], Any]] = {
    "duration": _from_text(parse_worded_duration, "Invalid duration {0}: unable to parse {0} as duration", Duration),
    "date": _from_text(parse_date, "Invalid date formatted string {0}", Timestamp),
    "date-time": _from_text(parse_schema_time, "Invalid date-time formatted string {0}", Timestamp),
    "byte": _from_text(_decode_base64, "Invalid byte formatted string {0}", bytes),
}


def is_plain(schema: JsonSchema) -> bool:
    """JSON values of this schema are what rules see, all the way down, and compare as Python compares them."""
    kind = schema.get("type")
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-embedded-resource"):
        return False
    if schema.get("x-kubernetes-int-or-string"):
        return True
    if kind == "object":
        values = schema.get("additionalProperties")
        inner = [values] if isinstance(values, dict) else list(schema.get("properties", {}).values())
        return values is not True and all(map(is_plain, inner))
    if kind == "array":
        return schema.get("x-kubernetes-list-type", "atomic") == "atomic" and is_plain(schema.get("items", {}))
    return kind in ("boolean", "integer") or (kind == "string" and schema.get("format") not in _FORMATS)


def needs_lifting(kind: Type) -> bool:
    """Values of this type hold something that has to be converted before code that knows no types may see it."""
    if kind.data is not None and kind.data.schema.get("type") in ("object", "array"):
        return not is_plain(kind.data.schema)
    return any(needs_lifting(param) for param in kind.params)


def lift(value: Any, kind: Type) -> Any:
    """The value with everything in it converted."""
    value = read(value, reader_for(kind))
    if isinstance(value, list) and kind.name == "list":
        return [lift(item, kind.params[0]) for item in value]
    if isinstance(value, dict):
        if kind.name == "map":
            return {key: lift(item, kind.params[1]) for key, item in value.items()}
        if kind.data is not None:
            return _lift_object(value, kind)
    return value


def _lift_object(value: dict[str, Any], kind: Type) -> dict[str, Any]:
    """Fields under the names rules use; null and unknown fields do not exist."""
    lifted: dict[str, Any] = {}
    if kind.data is None:
        return value
    for name, key in kind.data.names.items():
        field = kind.data.field(name)
        if field is not None and value.get(key) is not None:
            lifted[name] = lift(value[key], field.kind)
    return lifted
