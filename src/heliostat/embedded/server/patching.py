"""From a patch request to a function that changes an object. The patches themselves are ``patches``' work."""

from typing import Any

from msgspec import Struct

from heliostat.embedded.server.bodies import decode_tree, media_type
from heliostat.embedded.server.errors import bad_request, invalid
from heliostat.embedded.server.messages import Request
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
from heliostat.embedded.server.writes import Change
from heliostat.kube.document_error import DocumentError
from heliostat.kube.yaml_value import read_yaml_value


class Apply(Struct, frozen=True):
    """A server-side apply: the object as its manager wants it."""

    body: Any
    manager: str
    force: bool


def read_patch(request: Request, resource: Resource) -> Change | Apply:
    kind = read_patch_type(media_type(request), CUSTOM_PATCHES if resource.is_custom else BUILT_IN_PATCHES)
    force = request.flag("force") if request.parameter("force") else None
    manager = request.parameter("fieldManager")
    causes = patch_option_causes(kind, manager=manager, force=force)
    if causes:
        raise invalid("PatchOptions", "meta.k8s.io", "", causes)
    if kind == APPLY_PATCH:
        return Apply(_read_applied(request.body), manager, force=bool(force))
    body = decode_tree(request.body)
    if kind == JSON_PATCH:
        operations = read_json_patch(body).operations
        return lambda tree: apply_json_patch(tree, operations)
    if kind == STRATEGIC_MERGE_PATCH:
        return lambda tree: apply_strategic_merge_patch(tree, body, resource.definition)
    return lambda tree: apply_merge_patch(tree, body)


def _read_applied(body: bytes) -> Any:
    """YAML, and therefore JSON too."""
    try:
        return decode_tree(body) if body.lstrip()[:1] == b"{" else read_yaml_value(body.decode(), "body")
    except (DocumentError, UnicodeDecodeError) as error:
        raise bad_request(f"error decoding YAML: {error}") from None
