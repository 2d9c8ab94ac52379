"""The types of a schema: what ``self`` is, and what each of its fields.

An object is a type of its own, known by its place in the schema; its fields are looked at only when a rule names them,
because a schema may have thousands. A part without a type (preserved unknown fields) is not visible to rules.
"""

from msgspec import Struct

from heliostat.embedded.cel.field_names import KEYWORDS, escape_field
from heliostat.embedded.cel.static_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
)
from heliostat.kube.schema import JsonSchema

ROOT = "selfType"
_STRING: JsonSchema = {"type": "string"}
_TEXTS = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_SCALARS = {"boolean": BOOL, "number": DOUBLE, "integer": INT}


class Field(Struct, frozen=True, eq=False):
    key: str  # in the data
    kind: Type


class Data:
    """Where the values of a type come from: their schema."""

    __slots__ = ("_fields", "_names", "name", "schema")

    def __init__(self, schema: JsonSchema, name: str) -> None:
        self.schema = schema
        self.name = name
        self._fields: dict[str, Field | None] = {}
        self._names: dict[str, str] | None = None

    @property
    def is_object(self) -> bool:
        schema = self.schema
        return schema.get("type") == "object" and not isinstance(schema.get("additionalProperties"), dict)

    def field(self, name: str) -> Field | None:
        """The field with this name in rules."""
        if name not in self._fields:
            key = self.names.get(name) or self.names.get(f"__{name}__" if name in KEYWORDS else "")
            self._fields[name] = None if key is None else self._build_field(key)
        return self._fields[name]

    @property
    def names(self) -> dict[str, str]:
        """Key in the data by name in rules."""
        if self._names is None:
            named = ((escape_field(key), key) for key in self.schema.get("properties", ()))
            self._names = {name: key for name, key in named if name is not None}
        return self._names

    def _build_field(self, key: str) -> Field | None:
        schema = self.schema["properties"][key]
        kind = build_type(schema, f"{self.name}.{key}", is_resource=is_embedded(schema))
        return None if kind is None else Field(key, kind)


def is_embedded(schema: JsonSchema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def build_type(schema: JsonSchema, name: str = ROOT, *, is_resource: bool = False) -> Type | None:
    """The type of a schema's values; None for one that rules cannot see."""
    if schema.get("x-kubernetes-int-or-string"):
        return Type(DYN.name, data=Data(schema, name))
    if is_resource:
        schema = with_metadata(schema)
    kind = schema.get("type")
    if kind == "object":
        return _object_type(schema, name)
    if kind == "array":
        items = schema.get("items")
        item = build_type(items, f"{name}.@idx", is_resource=is_embedded(items)) if isinstance(items, dict) else None
        return None if item is None else Type("list", (item,), data=Data(schema, name))
    plain = _TEXTS.get(schema.get("format", ""), STRING) if kind == "string" else _SCALARS.get(kind or "")
    return None if plain is None else Type(plain.name, data=Data(schema, name))


def _object_type(schema: JsonSchema, name: str) -> Type | None:
    values = schema.get("additionalProperties")
    if not isinstance(values, dict):
        return Type(name, data=Data(schema, name))
    value = build_type(values, f"{name}.@elem", is_resource=is_embedded(values))
    return None if value is None else Type("map", (STRING, value), data=Data(schema, name))


def with_metadata(schema: JsonSchema) -> JsonSchema:
    """The root of a resource always has these fields for rules, and no others of its metadata."""
    metadata: JsonSchema = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}
    properties = {**schema.get("properties", {})}
    known = properties.get("metadata", {}).get("properties", {})
    if known.get("name", {}).get("type") != "string" or known.get("generateName", {}).get("type") != "string":
        properties["metadata"] = metadata
    return {**schema, "properties": {**properties, "apiVersion": _STRING, "kind": _STRING}}
