"""What a schema says about owning and merging: the shape of a value.

A value may be a scalar, a list or a map, whichever its shape allows. A list is an atom (owned and replaced as one), a
set of scalars, or a table of objects that are told apart by key fields; a map is an atom, or its fields have owners of
their own. A map knows its named fields; other fields have the shape of ``additionalProperties``, or one deduced from
the value where the schema leaves them open, or they are not allowed. Limits of values do not matter here.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from heliostat.kube import core_schema
from heliostat.kube.schema_refs import Definitions, JsonSchema, resolve

SCALAR, LIST, MAP = "scalar", "list", "map"

_SCALARS = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}
_UNTYPED = "untyped"
_ZEROES: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}
_METADATA: dict[str, JsonSchema] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": "meta.v1.ObjectMeta"},
}


class Shape:
    """What values of one schema may be; what is inside is worked out when it is asked for."""

    def __init__(self, scalar: str = "", list_shape: "ListShape | None" = None, map_shape: "MapShape | None" = None):
        self.scalar = scalar
        self.list = list_shape
        self.map = map_shape
        kinds = ((MAP, map_shape is not None), (SCALAR, bool(scalar)), (LIST, list_shape is not None))
        self.kinds = tuple(kind for kind, is_allowed in kinds if is_allowed)  # the first one is tried first


class ListShape:
    def __init__(self, types: "Types", schema: JsonSchema, *, is_open: bool) -> None:
        kind = schema.get("x-kubernetes-list-type") or _kind_by_patch_strategy(schema)
        self.is_atomic = kind not in ("set", "map")
        self.keys = tuple(schema.get("x-kubernetes-list-map-keys") or _merge_key(schema)) if kind == "map" else ()
        self._types, self._schema, self._is_open = types, schema, is_open

    @cached_property
    def items(self) -> Shape:
        items = self._schema.get("items")
        return ATOMS if items is None else self._types.shape(items, is_open=self._is_open)

    @cached_property
    def key_defaults(self) -> dict[str, Any]:
        """What a key field means that an item leaves out."""
        return dict(self._find_key_defaults())

    def _find_key_defaults(self) -> Iterable[tuple[str, Any]]:
        items = self._schema.get("items", {})
        row = resolve(items, self._types.definitions)
        for key in self.keys:
            column = row.get("properties", {}).get(key, {})
            if column.get("default") is not None:
                yield key, column["default"]
            elif "$ref" in items and key in row.get("required", ()):
                yield key, _ZEROES.get(column.get("type", ""))  # a field that Go always writes has its zero value


class MapShape:
    def __init__(self, types: "Types", schema: JsonSchema, *, is_open: bool) -> None:
        self.is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
        fields = schema.get("properties", {})
        self.fields: dict[str, JsonSchema] = (
            {**fields, **_METADATA} if schema.get("x-kubernetes-embedded-resource") else fields
        )
        self.other = _other_fields(schema, is_open=is_open or not self.fields)
        self._types, self._is_open = types, is_open
        self._children: dict[str, Shape] = {}

    @property
    def is_deduced(self) -> bool:
        """No field is named, and none is described further than that it may be any scalar."""
        if self.fields or self.other is None or "$ref" in self.other:
            return False
        return self.other is _ANYTHING or self._types.shape(self.other, is_open=self._is_open).scalar == _UNTYPED

    def child(self, name: str) -> Shape | None:
        """The shape of one field; None for a field that the map does not have."""
        known = self._children.get(name)
        if known is None and name in self.fields:
            known = self._children[name] = self._types.shape(self.fields[name], is_open=self._is_open)
        return known or self._other_child

    @cached_property
    def _other_child(self) -> Shape | None:
        if self.other is None:
            return None
        return DEDUCED if self.other is _ANYTHING else self._types.shape(self.other, is_open=self._is_open)


class Types:
    """The shapes of one kind in one version. Build it once and keep it: shapes are remembered."""

    def __init__(self, schema: JsonSchema, definitions: Definitions = core_schema.definition) -> None:
        self.definitions = definitions
        self._shapes: dict[tuple[int, bool], tuple[JsonSchema, Shape]] = {}
        self.root = self.shape(schema)

    def shape(self, schema: JsonSchema, *, is_open: bool = False) -> Shape:
        """``is_open``: a schema further out keeps unknown fields, so this one does."""
        known = self._shapes.get((id(schema), is_open))
        if known is None:
            # The schema is kept beside its shape so that its id stays its own.
            known = self._shapes[id(schema), is_open] = (schema, self._build(schema, is_open))
        return known[1]

    def _build(self, schema: JsonSchema, is_open: bool) -> Shape:
        if "$ref" in schema:
            if schema["$ref"] in _SPECIAL:
                return _SPECIAL[schema["$ref"]]
            schema, is_open = resolve(schema, self.definitions), False
        is_open = is_open or schema.get("x-kubernetes-preserve-unknown-fields") is True
        kind = schema.get("type")
        if kind == "object":
            return Shape(map_shape=MapShape(self, schema, is_open=is_open))
        if kind == "array":
            return Shape(list_shape=ListShape(self, schema, is_open=is_open))
        if kind is not None:
            return Shape(_scalar(schema))
        return Shape(_UNTYPED, ListShape(self, schema, is_open=is_open), MapShape(self, schema, is_open=is_open))


def custom_types(schema: JsonSchema) -> Types:
    """The shapes of a custom resource, whose own schema says nothing about ``metadata``."""
    return Types({**schema, "properties": {**schema.get("properties", {}), **_METADATA}})


def _scalar(schema: JsonSchema) -> str:
    if schema["type"] == "string":
        return "string" if schema.get("format", "") in ("", "byte") else _UNTYPED
    return _SCALARS.get(schema["type"], _UNTYPED)


def _other_fields(schema: JsonSchema, *, is_open: bool) -> JsonSchema | None:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    if extra is None:
        return _ANYTHING if is_open else None
    return _ANYTHING if extra else None


def _kind_by_patch_strategy(schema: JsonSchema) -> str:
    """Older built-in types have only a merge key."""
    if "merge" not in schema.get("x-kubernetes-patch-strategy", "").split(","):
        return "atomic"
    return "map" if _merge_key(schema) else "set"


def _merge_key(schema: JsonSchema) -> tuple[str, ...]:
    key = schema.get("x-kubernetes-patch-merge-key")
    return (key,) if key else ()


_ANYTHING: JsonSchema = {}
_nothing_known = Types({"type": "string"})
ATOMS = Shape(
    _UNTYPED,
    ListShape(_nothing_known, {}, is_open=False),
    MapShape(_nothing_known, {"x-kubernetes-map-type": "atomic"}, is_open=True),
)
DEDUCED = Shape(_UNTYPED, ListShape(_nothing_known, {}, is_open=False), MapShape(_nothing_known, {}, is_open=True))
_SPECIAL = {"Quantity": Shape(_UNTYPED), "runtime.RawExtension": ATOMS}
