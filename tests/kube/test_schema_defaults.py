"""What the API server changes before it checks: nulls, defaults, integers written as floats, unknown fields."""

from typing import Any

import pytest

from heliostat.kube.jsontree import copy_tree
from heliostat.kube.schema import apply_defaults, prune

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "default": "A"},
        "maybe": {"type": "string", "nullable": True, "default": "B"},
        "plain": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "port": {"x-kubernetes-int-or-string": True},
        "inner": {"$ref": "Inner"},
        "filled": {"$ref": "Inner", "default": {}},
        "rows": {"type": "array", "items": {"$ref": "Inner"}},
        "table": {"type": "object", "additionalProperties": {"$ref": "Inner"}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
INNER = {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}
FILLED = {"mode": "A", "maybe": "B", "filled": {"size": 1}}


def definitions(name: str) -> dict[str, Any]:
    return {"Inner": INNER}[name]


CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"mode": "Z"}, {"mode": "Z"}),
    ({"mode": None, "plain": None}, {}),
    ({"maybe": None}, {"maybe": None}),
    ({"inner": {}}, {"inner": {"size": 1}}),
    ({"inner": None}, {}),
    ({"rows": [{}, {"size": 2}]}, {"rows": [{"size": 1}, {"size": 2}]}),
    ({"table": {"a": {}, "b": None}}, {"table": {"a": {"size": 1}}}),
    ({"count": 2.0, "share": 2.0, "port": 2.0}, {"count": 2, "share": 2.0, "port": 2}),
    ({"count": 2.5}, {"count": 2.5}),
    ({"open": {"x": None}}, {"open": {"x": None}}),
    ({"unknown": None}, {"unknown": None}),
    ({"rows": "not a list", "inner": [1]}, {"rows": "not a list", "inner": [1]}),
]


@pytest.mark.parametrize(("tree", "change"), CASES)
def test_defaults_come_and_nulls_go(tree: dict[str, Any], change: dict[str, Any]) -> None:
    document = copy_tree(tree)
    apply_defaults(document, SCHEMA, definitions)
    assert document == FILLED | change
    assert all(type(document[key]) is type(value) for key, value in change.items())


def test_defaults_do_not_share_values_between_documents() -> None:
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    apply_defaults(first, SCHEMA, definitions)
    apply_defaults(second, SCHEMA, definitions)
    first["filled"]["size"] = 99
    assert second["filled"] == {"size": 1}
    assert SCHEMA["properties"]["filled"]["default"] == {}


def test_prune_removes_what_the_schema_does_not_know_at_every_level() -> None:
    tree = {"x": 1, "inner": {"y": 1, "size": 1}, "rows": [{"z": 1}], "table": {"any": {"q": 1}}, "open": {"kept": 1}}
    prune(tree, SCHEMA, definitions)
    assert tree == {"inner": {"size": 1}, "rows": [{}], "table": {"any": {}}, "open": {"kept": 1}}


def test_prune_keeps_the_fields_of_an_embedded_object() -> None:
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}, "more": 1}
    prune(tree, {"type": "object", "x-kubernetes-embedded-resource": True})
    assert tree == {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}
