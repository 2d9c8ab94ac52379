"""OpenAPI v2: everything in one document, for clients that do not know v3.

Rules: version 2 cannot say ``oneOf`` and its kin, ``nullable`` or "anything"; what it cannot say it leaves out, so
that a client which validates by it lets through what the server would accept.
"""

from collections.abc import Container, Sequence
from typing import Any

from heliostat.embedded.server.openapi.paths import QUERY, QUERY_TYPES, Operation, Path, paths_of, spoken_schemas
from heliostat.embedded.server.openapi.schemas import Dialect, collect_schemas
from heliostat.embedded.server.resources import Resource
from heliostat.kube.core_schema import served_version
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema

_REFERENCE = "#/definitions/"
DIALECT = Dialect(
    _REFERENCE,
    wraps_references=False,
    replaced={
        "Quantity": {"type": "string"},
        "IntOrString": {"type": "string", "format": "int-or-string"},
        "meta.v1.FieldsV1": {"type": "object"},
        "meta.v1.Patch": {"type": "object"},
    },
)
_ANSWERS = ("application/json", "application/yaml")
_UNSPEAKABLE = frozenset(("allOf", "anyOf", "oneOf", "not", "nullable", "x-kubernetes-validations"))
_NUMBER_OR_TEXT = {"type": "string", "format": "int-or-string"}


def build_document(resources: Sequence[Resource], known: Container[str] = ()) -> JsonObject:
    """What is ``known`` of the definitions is left out, so that a whole can be put together from parts."""
    definitions = collect_schemas(resources, spoken_schemas(resources), DIALECT, known)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": served_version()},
        "paths": {path.path: _path_item(path) for path in paths_of(resources)},
        "definitions": {name: reduce_schema(schema) for name, schema in definitions.items()},
    }


def reduce_schema(schema: JsonSchema) -> JsonSchema:
    """The part of a schema that version 2 can say."""
    if schema.get("x-kubernetes-int-or-string"):
        return {**_NUMBER_OR_TEXT, **{key: schema[key] for key in ("description",) if key in schema}}
    dropped = _UNSPEAKABLE
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        dropped = dropped | {"properties", "required", "additionalProperties"}
    return {keyword: _reduce_keyword(keyword, value) for keyword, value in schema.items() if keyword not in dropped}


def _reduce_keyword(keyword: str, value: Any) -> Any:
    if keyword == "properties":
        return {name: reduce_schema(child) for name, child in value.items()}
    if keyword in ("items", "additionalProperties") and isinstance(value, dict):
        return reduce_schema(value)
    return value


def _path_item(path: Path) -> JsonObject:
    item: JsonObject = {operation.method: _operation(operation) for operation in path.operations}
    item["parameters"] = [*(_parameter(name, "path") for name in path.parameters), _parameter("pretty", "query")]
    return item


def _operation(operation: Operation) -> JsonObject:
    answer = {"$ref": _REFERENCE + operation.answer} if operation.answer else {"type": "string"}
    parameters = [_parameter(name, "query") for name in QUERY.get(operation.action, ())]
    if operation.body:
        body = {"name": "body", "in": "body", "required": True, "schema": {"$ref": _REFERENCE + operation.body}}
        parameters.insert(0, body)
    return {
        "tags": [operation.tag],
        "operationId": operation.operation_id,
        "consumes": list(operation.consumes),
        "produces": list(_ANSWERS),
        "schemes": ["https"],
        "parameters": parameters,
        "responses": {
            "200": {"description": "OK", "schema": answer},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    }


def _parameter(name: str, place: str) -> JsonObject:
    required = {"required": True} if place == "path" else {}
    return {"uniqueItems": True, "type": QUERY_TYPES.get(name, "string"), "name": name, "in": place, **required}
