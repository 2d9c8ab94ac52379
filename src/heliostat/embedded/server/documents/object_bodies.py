"""The body of a create or an update as an object of the resource's own kind, or the refusal kube-apiserver has for it.

Rules: a built-in object that does not name its kind or version has those of the path; one of another kind is read as
what it says it is, so that its own mistakes are told first; a custom one must name both.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from heliostat.embedded.kinds.typed.typed_form import TypedError, fit_type
from heliostat.embedded.server.documents.bodies import Body, BodyError, read_body, summarize
from heliostat.embedded.server.errors import Cause, RefusedError, bad_request, invalid
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.patches.go_values import json_type
from heliostat.embedded.server.resources import Resource
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject, copy_tree

FindKind: TypeAlias = Callable[[str, str], Resource | None]  # by apiVersion and kind

_VERSION_AND_KIND = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_SCHEME = "pkg/runtime/scheme.go:110"
_CORE_EVENTS = "events.k8s.io"


def read_object(request: Request, resource: Resource, find_kind: FindKind) -> Body:
    try:
        body = read_body(request)
        tree = as_object(body.tree)
        if resource.is_custom:
            _check_custom_kind(tree, resource, request.body, find_kind)
            return Body(tree, body.strict)
    except BodyError as error:
        raise unrecognized(resource.kind, error, request.body) from None
    kind, api_version = tree.get("kind") or resource.kind, tree.get("apiVersion") or resource.api_version
    problem = kind_problem(tree, resource, find_kind)
    if problem:
        version = api_version.rpartition("/")[2]
        raise bad_request(f"{kind} in version {go_quote(version)} cannot be handled as a {resource.kind}: {problem}")
    if api_version != resource.api_version:
        raise _other_version(api_version, resource)
    return Body({**tree, "kind": kind, "apiVersion": api_version}, body.strict)


def unrecognized(kind: str, error: BodyError, body: bytes) -> RefusedError:
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {error} ({summarize(body)})")


def kind_problem(tree: JsonObject, resource: Resource, find_kind: FindKind) -> str:
    """Why an object that says what it is cannot be one of the resource's; empty when it can."""
    for field in ("kind", "apiVersion"):  # a patch may have made anything of them
        if tree.get(field) is not None and not isinstance(tree[field], str):
            return str(_unreadable(json_type(tree[field]), f"struct field .{field} of type string"))
    kind, api_version = tree.get("kind") or resource.kind, tree.get("apiVersion") or resource.api_version
    if (kind, api_version) == (resource.kind, resource.api_version):
        return ""
    found = find_kind(api_version, kind)
    if found is None or found.is_custom:
        return unknown_kind(kind, api_version)
    try:
        fit_type(copy_tree(tree), found.definition)
    except TypedError as error:
        return str(error)
    if found.storage_name == resource.storage_name:
        return ""
    return unknown_conversion(found.version, found.kind, resource.group, resource.kind)


def unknown_kind(kind: str, api_version: str) -> str:
    return f'no kind {go_quote(kind)} is registered for version {go_quote(api_version)} in scheme "{_SCHEME}"'


def unknown_conversion(version: str, kind: str, wanted_group: str, wanted_kind: str) -> str:
    package = "core" if wanted_group in ("", _CORE_EVENTS) else wanted_group.partition(".")[0]
    return f"converting ({version}.{kind}) to ({package}.{wanted_kind}): unknown conversion"


def as_object(tree: Any) -> JsonObject:
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise not_an_object(tree)
    for field in ("kind", "apiVersion"):
        value = tree.get(field)
        if value is not None and not isinstance(value, str):
            raise _unreadable(json_type(value), f"struct field .{field} of type string")
    if (tree.get("apiVersion") or "").count("/") > 1:
        raise BodyError(f"unexpected GroupVersion string: {tree['apiVersion']}")
    return tree


def not_an_object(tree: Any) -> BodyError:
    return _unreadable(json_type(tree), f"value of type {_VERSION_AND_KIND}")


def _unreadable(found: str, wanted: str) -> BodyError:
    return BodyError(f"couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go {wanted}")


def _check_custom_kind(tree: JsonObject, resource: Resource, body: bytes, find_kind: FindKind) -> None:
    if not tree.get("kind"):
        raise BodyError(missing_kind(body))
    if tree.get("apiVersion") != resource.api_version:
        given = tree.get("apiVersion") or ""
        refused = _other_version(given, resource)
        is_unserved = given.rpartition("/")[0] == resource.group and find_kind(given, tree["kind"]) is None
        if is_unserved and tree["kind"] == resource.kind:
            known = ("apiVersion", "kind", "metadata")  # in a version that nobody serves there is nothing else
            refused.warnings = tuple(f'unknown field "{name}"' for name in sorted(tree) if name not in known)
        raise refused
    check_custom_type(tree, resource)


def missing_kind(text: bytes) -> str:
    return f"Object 'Kind' is missing in '{text.decode(errors='replace')}'"


def check_custom_type(tree: JsonObject, resource: Resource) -> None:
    """A custom object says what it is, and says it right."""
    causes = [
        Cause("FieldValueInvalid", f"Invalid value: {go_quote(str(tree.get(field) or ''))}: must be {wanted}", field)
        for field, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version))
        if tree.get(field) != wanted
    ]
    if causes:
        metadata = tree.get("metadata")
        name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
        group = str(tree.get("apiVersion") or "").rpartition("/")[0]
        raise invalid(str(tree.get("kind") or ""), group, name, causes)


def _other_version(api_version: str, resource: Resource) -> RefusedError:
    return bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version ({resource.api_version})"
    )
