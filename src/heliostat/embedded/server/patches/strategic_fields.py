"""What the schema table says about a field for a strategic merge patch: what it holds, and how its list merges.

A list whose strategy is ``merge`` merges item by item, by the merge key or, without one, as a set of scalars; any other
list is replaced. Asking about a field that a type does not have is an error that kube-apiserver answers with a 500.
"""

from msgspec import Struct

from heliostat.embedded.server.patches.errors import unforeseen
from heliostat.kube.core_schema import definition
from heliostat.kube.go_text import go_quote
from heliostat.kube.schema_refs import JsonSchema, resolve

_GO_KINDS = {"array": "slice", "boolean": "bool", "integer": "int64", "number": "float64", "string": "string"}


class FieldType(Struct, frozen=True):
    """A type of the table; its name is empty where the schema stands inline."""

    schema: JsonSchema
    name: str = ""

    @property
    def is_struct(self) -> bool:
        return "properties" in self.schema

    @property
    def go_kind(self) -> str:
        if self.is_struct:
            return "struct"
        return _GO_KINDS.get(self.schema.get("type", ""), "map")


class Field(Struct, frozen=True):
    """One field: its type, whether its list merges, and by which key."""

    type: FieldType
    is_merged: bool
    merge_key: str


def root_type(definition_name: str) -> FieldType:
    return FieldType(definition(definition_name), definition_name)


def find_field(parent: FieldType, key: str) -> Field:
    if not parent.is_struct:
        raise unforeseen(f"merging an object in json but data type is not struct, instead is: {parent.go_kind}")
    schema = parent.schema["properties"].get(key)
    if schema is None:
        owner = parent.name.rpartition(".")[2]
        raise unforeseen(f"unable to find api field in struct {owner} for the json field {go_quote(key)}")
    strategies = schema.get("x-kubernetes-patch-strategy", "").split(",")
    return Field(_type_of(schema), "merge" in strategies, schema.get("x-kubernetes-patch-merge-key", ""))


def item_type(list_type: FieldType) -> FieldType:
    """What a list holds."""
    if list_type.schema.get("type") != "array":
        raise unforeseen("expected slice or array type, but got: struct")
    return _type_of(list_type.schema.get("items", {}))


def _type_of(schema: JsonSchema) -> FieldType:
    return FieldType(resolve(schema, definition), schema.get("$ref", ""))
