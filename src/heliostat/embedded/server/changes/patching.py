"""From a patch request to a function that changes an object. The patches themselves are ``patches``' work.

A patch that makes an object nobody can read is refused with that object, as kube-apiserver does; a strategic merge
patch is told itself, and what is wrong in the words of another reader, because there the object is never made text.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from heliostat.embedded.kinds.typed.typed_form import TypedError
from heliostat.embedded.server.documents.bodies import Body, BodyError, media_type, read_json, read_yaml
from heliostat.embedded.server.documents.object_bodies import not_an_object
from heliostat.embedded.server.documents.object_reader import Refuse, refusal_of_a_body
from heliostat.embedded.server.errors import Cause, RefusedError, bad_request, invalid
from heliostat.embedded.server.limits import LARGEST_BODY, too_large
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.patches.apply.versions import show_kind
from heliostat.embedded.server.patches.errors import unforeseen
from heliostat.embedded.server.patches.go_values import go_text
from heliostat.embedded.server.patches.json_patch import apply_json_patch, read_json_patch
from heliostat.embedded.server.patches.merge_patch import apply_merge_patch
from heliostat.embedded.server.patches.options import patch_option_causes
from heliostat.embedded.server.patches.patch_types import (
    APPLY_PATCH,
    BUILT_IN_PATCHES,
    CUSTOM_PATCHES,
    JSON_PATCH,
    STRATEGIC_MERGE_PATCH,
    read_patch_type,
)
from heliostat.embedded.server.patches.strategic_merge import apply_strategic_merge_patch
from heliostat.embedded.server.resources import Resource
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject, encode_json

_SYNTAX = "couldn't get version/kind; json parse error: "
# What Go calls the values of JSON that it has read already.
_GO_KINDS = {"object": "map", "array": "slice", "string": "string", "bool": "bool", "number": "int64"}


class Apply(Struct, frozen=True):
    """A server-side apply: the object as its manager wants it."""

    body: Any
    manager: str
    force: bool


class Patch(Struct, frozen=True):
    """Any other patch."""

    change: Callable[[JsonObject], Any]
    refuse: Callable[[JsonObject, TypedError | str], RefusedError]
    strict: tuple[str, ...] = ()  # what a strict reader minds about the patch itself

    def __call__(self, tree: JsonObject) -> JsonObject:
        patched = self.change(tree)
        if not isinstance(patched, dict):
            raise self.refuse(patched, str(not_an_object(patched)))
        return patched


def patch_type_of(request: Request, resource: Resource) -> str:
    """Refuses one that the resource does not take, before anything else is looked at."""
    return read_patch_type(media_type(request), CUSTOM_PATCHES if resource.is_custom else BUILT_IN_PATCHES)


def read_patch(request: Request, resource: Resource) -> Patch | Apply:
    kind = patch_type_of(request, resource)
    if len(request.body) > LARGEST_BODY:
        raise too_large()
    force = request.flag("force") if request.parameter("force") else None
    manager = request.parameter("fieldManager")
    causes = patch_option_causes(kind, manager=manager, force=force)
    if causes:
        raise invalid("PatchOptions", "meta.k8s.io", "", causes)
    if kind == APPLY_PATCH:
        return Apply(_read_applied(request.body), manager, force=bool(force))
    body = _read_patch_body(request.body, "" if kind == STRATEGIC_MERGE_PATCH else "error decoding patch: ")
    if kind == JSON_PATCH:
        patch = read_json_patch(body.tree)
        strict = (*(f"json patch {text}" for text in body.strict), *patch.warnings)
        return Patch(lambda tree: apply_json_patch(tree, patch.operations), _refuse_object, strict)
    if kind == STRATEGIC_MERGE_PATCH:
        named = {"kind": resource.kind, "apiVersion": resource.api_version}
        return Patch(
            lambda tree: {**apply_strategic_merge_patch(tree, body.tree, resource.definition), **named},
            lambda _tree, why: _refused(go_text(body.tree), _converter_words(why)),
            body.strict,
        )
    return Patch(lambda tree: apply_merge_patch(tree, body.tree), _refuse_object, body.strict)


def refusal_of_an_apply(apply: Apply, resource: Resource) -> Refuse:
    """Of an object with values that its types cannot hold: the reader of text has let them pass."""

    def refuse(tree: JsonObject, why: TypedError | str) -> RefusedError:
        if isinstance(why, str) or _is_integer_beyond_its_field(why):
            return refusal_of_a_body(resource)(tree, why)
        kind = show_kind(resource.api_version, resource.kind)
        place = "/".join(str((apply.body.get("metadata") or {}).get(key) or "") for key in ("namespace", "name"))
        what = f"failed to convert new object ({place}; {kind}) to proper version"
        return unforeseen(f"{what}: unable to convert unstructured object to {kind}: {_value_words(why)}")

    return refuse


def _is_integer_beyond_its_field(error: TypedError) -> bool:
    """kube-apiserver keeps what is left of it in the bits of the field, which nobody can have meant."""
    return re.fullmatch(r"number -?\d+", error.why) is not None and not error.is_from_text


def _value_words(error: TypedError) -> str:
    if not error.wanted:
        return f"{'error decoding from json: ' if 'base64' in error.why else ''}{error.why}"
    if error.why.startswith("number ") and not error.is_from_text:
        return f"cannot convert float64 to {error.wanted}"
    return f"json: cannot unmarshal {error.why} into Go value of type {error.wanted}"


def _refuse_object(tree: JsonObject, why: TypedError | str) -> RefusedError:
    return _refused(encode_json(tree).decode(), str(why))


def _refused(shown: str, why: str) -> RefusedError:
    return invalid("", "", "", [Cause("FieldValueInvalid", f"Invalid value: {go_quote(shown)}: {why}", "patch")])


def _converter_words(why: TypedError | str) -> str:
    """How kube-apiserver says it when it makes an object from values instead of text."""
    if isinstance(why, str) or not why.wanted:
        return str(why)
    found = _GO_KINDS.get(why.why, "int64")
    if why.wanted.startswith("[]"):
        return f"cannot restore slice from {found}"
    if why.wanted.startswith("map["):
        return f"cannot restore map from {found}"
    if "." in why.wanted:
        return f"cannot restore struct from: {found}"
    return f"cannot convert {found} to {why.wanted}"


def _read_patch_body(body: bytes, before: str) -> Body:
    try:
        return read_json(body)
    except BodyError as error:
        raise bad_request(f"{before}{str(error).removeprefix(_SYNTAX)}") from None


def _read_applied(body: bytes) -> Any:
    """YAML, and therefore JSON too."""
    try:
        return read_json(body).tree if body.lstrip()[:1] == b"{" else read_yaml(body).tree
    except BodyError as error:
        words = str(error).removeprefix(_SYNTAX)
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {words}") from None
