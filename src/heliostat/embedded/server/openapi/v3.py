"""OpenAPI v3, one document for each group and version: what ``kubectl explain``, ``apply`` and ``create`` read.

Rules: the index names each document with a hash of what it is made from, and clients keep a document as long as its
hash stays; a document is built when it is asked for. Descriptions are only those that CRDs bring.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from heliostat import __version__
from heliostat.embedded.server.describing.discovery import Group
from heliostat.embedded.server.openapi.paths import QUERY, QUERY_TYPES, Operation, Path, paths_of, spoken_schemas
from heliostat.embedded.server.openapi.schemas import Dialect, collect_schemas
from heliostat.embedded.server.resources import Resource
from heliostat.kube.core_schema import served_version
from heliostat.kube.jsontree import JsonObject, encode_json

_SHAPE = 1  # raise it when documents of the same resources come out differently

_REFERENCE = "#/components/schemas/"
DIALECT = Dialect(
    _REFERENCE,
    wraps_references=True,
    replaced={
        "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        "meta.v1.FieldsV1": {"type": "object"},
        "meta.v1.Patch": {"type": "object"},
    },
    shows_choices=True,
)
_ANSWERS = ("application/json", "application/yaml")
_TEXT: JsonObject = {"*/*": {"schema": {"type": "string"}}}


def build_index(groups: Iterable[Group]) -> JsonObject:
    """``/openapi/v3``: where each document is."""
    paths = {
        path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={document_hash(resources)}"}
        for group in groups
        for version, resources in group.versions.items()
        for path in (document_path(group.name, version),)
    }
    return {"paths": dict(sorted(paths.items()))}


def document_path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def document_hash(resources: Sequence[Resource]) -> str:
    """Of what the document is made from, which is much less than the document."""
    made_from = [[__version__, served_version(), _SHAPE], *(_traits(resource) for resource in resources)]
    return sha256(encode_json(made_from)).hexdigest().upper()


def _traits(resource: Resource) -> list[object]:
    names = [resource.group, resource.version, resource.plural, resource.kind, resource.is_namespaced]
    return [*names, sorted(resource.subresources), resource.verbs, resource.definition or resource.schema]


def build_document(resources: Sequence[Resource]) -> JsonObject:
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": served_version()},
        "paths": {path.path: _path_item(path) for path in paths_of(resources)},
        "components": {"schemas": collect_schemas(resources, spoken_schemas(resources), DIALECT)},
    }


def _path_item(path: Path) -> JsonObject:
    item: JsonObject = {operation.method: _operation(operation) for operation in path.operations}
    item["parameters"] = [*(_parameter(name, "path") for name in path.parameters), _parameter("pretty", "query")]
    return item


def _operation(operation: Operation) -> JsonObject:
    answer = {media: _content(operation.answer) for media in _ANSWERS} if operation.answer else _TEXT
    written: JsonObject = {
        "tags": [operation.tag],
        "operationId": operation.operation_id,
        "parameters": [_parameter(name, "query") for name in QUERY.get(operation.action, ())],
        "responses": {"200": {"description": "OK", "content": answer}, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    }
    if operation.body:
        written["requestBody"] = {"content": {media: _content(operation.body) for media in operation.consumes}}
    return written


def _content(name: str) -> JsonObject:
    return {"schema": {"$ref": _REFERENCE + name}}


def _parameter(name: str, place: str) -> JsonObject:
    schema = {"type": QUERY_TYPES.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": place, **({"required": True} if place == "path" else {}), "schema": schema}
