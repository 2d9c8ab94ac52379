"""What a typed server makes of the fields of a definition, from a table that ``tools/generate_typed_fields.py`` writes.

Three facts that OpenAPI does not tell: which scalars are pointers (an explicit zero stays), which fields are written
even when they are empty (and as what), and how error messages call a field's type.
"""

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.kube.schema_refs import JsonSchema

_TABLE = __file__.rpartition("/typed/")[0] + "/data/typed_fields.json"
_NUMBERS = {"int32": "int32", "int64": "int64", "double": "float64"}
_SPECIAL = {"Quantity": "resource.Quantity", "IntOrString": "intstr.IntOrString"}


class TypedFields(Struct, frozen=True):
    pointers: frozenset[str] = frozenset()
    always: dict[str, Any] = {}  # field -> its zero; {} stands for an empty object of the field's own definition
    types: dict[str, str] = {}  # only where ``type_name`` would tell something else


NONE_KNOWN = TypedFields()


def typed_fields(definition: str) -> TypedFields:
    return _read_table().get(definition, NONE_KNOWN)


def type_name(schema: JsonSchema) -> str:
    """``[]v1.Container``: the type that a field of this schema has, if the table does not name another."""
    if "$ref" in schema:
        reference: str = schema["$ref"]
        return _SPECIAL.get(reference) or ".".join(reference.split(".")[-2:])
    match schema.get("type"):
        case "array":
            return "[]" + type_name(schema["items"])
        case "object":
            return "map[string]" + type_name(schema.get("additionalProperties") or {})
        case "string":
            return "[]uint8" if schema.get("format") == "byte" else "string"
        case "boolean":
            return "bool"
        case "integer":
            return _NUMBERS.get(schema.get("format", ""), "int64")
    return "float64"


@cache
def _read_table() -> dict[str, TypedFields]:
    with open(_TABLE, "rb") as file:  # noqa: PTH123  pathlib costs 7 ms of every start
        return msgspec.json.decode(file.read(), type=dict[str, TypedFields])
