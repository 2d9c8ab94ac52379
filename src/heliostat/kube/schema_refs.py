"""How schemas name other schemas (``$ref``), and which schema a field of an object has.

A reference may have keywords beside it (``default``, ``nullable``, list types); they win over those of its target.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

JsonSchema: TypeAlias = dict[str, Any]
Definitions: TypeAlias = Callable[[str], JsonSchema]

ANYTHING: JsonSchema = {}
EMBEDDED_RESOURCE_FIELDS: dict[str, JsonSchema] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def no_definitions(name: str) -> JsonSchema:
    raise KeyError(f"the schema refers to {name!r}, and no definitions were given to look it up in")


def resolve(schema: JsonSchema, definitions: Definitions) -> JsonSchema:
    """The schema itself, or what its ``$ref`` names."""
    while "$ref" in schema:
        target = definitions(schema["$ref"])
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **beside} if beside else target
    return schema


def field_schema(schema: JsonSchema, name: str) -> JsonSchema | None:
    """The (unresolved) schema of one field of a resolved object schema; None for a field it does not know."""
    properties = schema.get("properties")
    if properties is not None and name in properties:
        known: JsonSchema = properties[name]
        return known
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    is_free = "type" not in schema and not schema.get("x-kubernetes-int-or-string")
    if extra or schema.get("x-kubernetes-preserve-unknown-fields") or is_free:
        return ANYTHING
    if schema.get("x-kubernetes-embedded-resource"):
        return EMBEDDED_RESOURCE_FIELDS.get(name)
    return None
