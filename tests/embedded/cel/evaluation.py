"""Evaluate one expression as a rule would be: with ``self`` and ``oldSelf`` of a schema."""

from hashlib import sha256
from typing import Any

from heliostat.embedded.cel.budgets import RULE_LIMIT
from heliostat.embedded.cel.estimate import estimate_cost
from heliostat.embedded.cel.frames import COST
from heliostat.embedded.cel.language import Expression, compile_expression
from heliostat.embedded.cel.readers import read, reader_for
from heliostat.embedded.cel.schema_types import build_type
from heliostat.embedded.cel.static_types import Type
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema

NOTHING: JsonSchema = {"type": "object"}

# One field of every kind that a rule may see.
CLUSTER: JsonSchema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 64},
        "replicas": {"type": "integer"},
        "ratio": {"type": "number"},
        "paused": {"type": "boolean"},
        "labels": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 32}},
        "ports": {
            "type": "array",
            "maxItems": 8,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {"port": {"type": "integer"}, "name": {"type": "string", "maxLength": 15}},
            },
        },
        "tags": {
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "set",
            "items": {"type": "string", "maxLength": 16},
        },
        "numbers": {"type": "array", "maxItems": 20, "items": {"type": "integer"}},
        "target": {"x-kubernetes-int-or-string": True},
        "ttl": {"type": "string", "format": "duration"},
        "since": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "blob": {"type": "string", "format": "byte"},
        "shares": {"type": "array", "items": {"type": "number"}},
        "delays": {"type": "array", "items": {"type": "string", "format": "duration"}},
        "aliases": {"type": "array", "items": {"type": "string", "nullable": True}},
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "x-dash.y": {"type": "string"},
        "a/b__c": {"type": "string"},
        "namespace": {"type": "string"},
        "in": {"type": "string"},
        "ä": {"type": "string"},
        "missing": {"type": "string"},
    },
}

HEAD: JsonObject = {
    "name": "ray-head",
    "replicas": 3,
    "ratio": 0.5,
    "paused": True,
    "labels": {"app": "ray", "x/y": "1"},
    "ports": [{"port": 80, "name": "http"}, {"port": 443}],
    "tags": ["b", "a"],
    "numbers": [1, 2, 3],
    "target": "50%",
    "ttl": "90s",
    "since": "2024-05-01T10:00:00Z",
    "day": "2024-05-01",
    "blob": "aGk=",
    "shares": [1, 2.5],
    "delays": ["1s", "2 min"],
    "aliases": ["a", None],
    "spec": {},
    "open": {"x": 1},
    "x-dash.y": "dashed",
    "a/b__c": "slashed",
    "namespace": "ns",
    "in": "inside",
    "ä": "unseen",
}


def noise(length: int) -> str:
    """The letters a and b, in no order a pattern could make use of."""
    blocks = (sha256(str(number).encode()).digest() for number in range(length // 32))
    return "".join("ab"[byte & 1] for block in blocks for byte in block)


def type_of_schema(schema: JsonSchema) -> Type:
    kind = build_type(schema)
    assert kind is not None
    return kind


def compile_for(text: str, schema: JsonSchema) -> Expression:
    kind = type_of_schema(schema)
    return compile_expression(text, {"self": kind, "oldSelf": kind})


def evaluate_with_cost(text: str, value: Any = None, schema: JsonSchema = NOTHING, old: Any = None) -> tuple[Any, int]:
    expression = compile_for(text, schema)
    reader = reader_for(type_of_schema(schema))
    old_value = None if old is None else read(old, reader)
    frame = expression.program.frame(read({} if value is None else value, reader), old_value, RULE_LIMIT)
    return expression.program.run(frame), frame[COST]


def evaluate(text: str, value: Any = None, schema: JsonSchema = NOTHING, old: Any = None) -> Any:
    return evaluate_with_cost(text, value, schema, old)[0]


def evaluate_head(text: str) -> Any:
    """About the cluster above."""
    return evaluate(text, HEAD, CLUSTER, HEAD)


def cost_of(text: str) -> int:
    return evaluate_with_cost(text, HEAD, CLUSTER, HEAD)[1]


def estimate_of(text: str) -> int:
    """The most that evaluating an expression about a cluster can cost."""
    return estimate_cost(compile_for(text, CLUSTER).checked, type_of_schema(CLUSTER)).most
