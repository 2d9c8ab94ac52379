"""What the API server changes in a document before it checks it: nulls, defaults, unknown fields.

Rules: a null in a field that is not nullable goes away; a default is filled in where the field is then absent and its
parent object exists; 1.0 in an integer field becomes 1; ``prune`` removes what the schema does not know. Defaults may
add so much and no more: a small document can have a million places for a large one. All of them change the tree they
are given, so hand in a copy. Values of the wrong type are stepped over: reporting them is ``schema.check``'s work.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from heliostat.kube.jsontree import JsonObject, copy_tree, encode_json
from heliostat.kube.schema_refs import Definitions, JsonSchema, field_schema, no_definitions, resolve
from heliostat.kube.schema_values import expected_type, is_of_type

MOST_ADDED = 16 * 1024 * 1024  # bytes that defaults may add to a document; no server stores a tenth of it


class TooManyDefaultsError(ValueError):
    """The defaults of this document would be larger than anybody can keep."""


Change: TypeAlias = Callable[[JsonObject, JsonSchema, Definitions], None]


def apply_defaults(tree: Any, schema: JsonSchema, definitions: Definitions = no_definitions) -> None:
    """Drop the nulls, fill in the defaults and mend the integers, everywhere in the tree."""
    _change_objects(tree, schema, definitions, _Filling().fill_in)


def prune(tree: Any, schema: JsonSchema, definitions: Definitions = no_definitions) -> None:
    """Remove every field that the schema does not know."""
    _change_objects(tree, schema, definitions, _remove_unknown)


def _change_objects(tree: Any, schema: JsonSchema, definitions: Definitions, change: Change) -> None:
    """Outer objects first, so that what a default adds gets its own defaults too."""
    stack: list[tuple[Any, JsonSchema]] = [(tree, schema)]
    while stack:
        value, node = stack.pop()
        node = resolve(node, definitions)
        if isinstance(value, dict):
            change(value, node, definitions)
            stack.extend(_children(value, node))
        elif isinstance(value, list) and "items" in node:
            items = node["items"]
            stack.extend((item, items) for item in value if isinstance(item, (dict, list)))


def _children(value: JsonObject, node: JsonSchema) -> Iterator[tuple[Any, JsonSchema]]:
    for name, child in value.items():
        if isinstance(child, (dict, list)):
            schema = field_schema(node, name)
            if schema:
                yield child, schema


class _Filling:
    """Counts what it adds."""

    def __init__(self) -> None:
        self._added = 0
        self._sizes: dict[int, int] = {}  # of defaults, by where they are kept

    def fill_in(self, value: JsonObject, node: JsonSchema, definitions: Definitions) -> None:
        for name in [name for name, child in value.items() if child is None or type(child) is float]:
            schema = field_schema(node, name)
            if schema:
                _mend(value, name, resolve(schema, definitions))
        for name, schema in node.get("properties", {}).items():
            if "default" in schema and name not in value:
                self._count(name, schema["default"])
                value[name] = copy_tree(schema["default"])

    def _count(self, name: str, default: Any) -> None:
        if id(default) not in self._sizes:
            self._sizes[id(default)] = len(encode_json(default))
        self._added += len(name) + self._sizes[id(default)]
        if self._added > MOST_ADDED:
            raise TooManyDefaultsError(f"defaults add more than {MOST_ADDED} bytes to this document")


def _mend(value: JsonObject, name: str, schema: JsonSchema) -> None:
    child = value[name]
    if child is None and not schema.get("nullable"):
        del value[name]
    elif expected_type(schema) in ("integer", "int-or-string") and is_of_type(child, "integer"):
        value[name] = int(child)


def _remove_unknown(value: JsonObject, node: JsonSchema, _definitions: Definitions) -> None:
    for name in [name for name in value if field_schema(node, name) is None]:
        del value[name]
