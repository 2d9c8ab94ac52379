"""Request bodies into trees, as the content type says, with the refusals kube-apiserver has for what it cannot read."""

from typing import Any

import msgspec

from heliostat.embedded.server.errors import RefusedError, bad_request, unsupported_media_type
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.resources import Resource
from heliostat.kube.document_error import DocumentError
from heliostat.kube.jsontree import JsonObject, decode_json
from heliostat.kube.protobuf import ProtobufError, decode_protobuf
from heliostat.kube.yaml_value import read_yaml_value

JSON_TYPES = ("application/json",)
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")
PROTOBUF = "application/vnd.kubernetes.protobuf"  # what kubectl sends when it creates
ACCEPTED = ("application/json", "application/yaml", PROTOBUF)
LARGEST_BODY = 3 * 1024 * 1024
DEEPEST = 1000

_decoder = msgspec.json.Decoder()


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "application/json").split(";", 1)[0].strip().lower()


def read_body(request: Request) -> Any:
    """JSON, YAML or protobuf into a tree. An empty body is a refusal here; deletions ask first."""
    kind = media_type(request)
    if len(request.body) > LARGEST_BODY:
        raise RefusedError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {LARGEST_BODY}")
    if kind in JSON_TYPES or kind == "":
        return decode_tree(request.body)
    if kind in YAML_TYPES:
        try:
            return read_yaml_value(request.body.decode(), "body")
        except (DocumentError, UnicodeDecodeError) as error:
            raise bad_request(f"error converting YAML to JSON: {error}") from None
    if kind == PROTOBUF:
        try:
            return decode_protobuf(request.body)
        except ProtobufError as error:
            raise bad_request(str(error)) from None
    raise unsupported_media_type(ACCEPTED)


def decode_tree(body: bytes) -> Any:
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        return decode_json(body, "body")  # slower; its words say where and what
    except DocumentError as error:
        raise bad_request(f"invalid JSON: line {error.line}: {error.problem}") from None


def check_object_kind(tree: Any, resource: Resource) -> JsonObject:
    """An object of the resource's own kind and version."""
    if not isinstance(tree, dict):
        raise bad_request("the body of the request is not an object")
    kind, api_version = tree.get("kind"), tree.get("apiVersion")
    if not kind:
        raise bad_request("Object 'Kind' is missing in the request body")
    if not api_version:
        raise bad_request("Object 'apiVersion' is missing in the request body")
    if kind != resource.kind:
        wanted = f"{resource.kind} in version {api_version}"
        raise bad_request(f"{kind} in version {api_version!r} cannot be handled as a {wanted}".replace("'", '"'))
    if api_version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version"
            f" ({resource.api_version})"
        )
    return tree
