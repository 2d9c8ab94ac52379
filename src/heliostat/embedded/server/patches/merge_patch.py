"""Merge patch (RFC 7386): fields laid over fields, null removes one, anything else replaces the whole value.

kube-apiserver departs from the RFC in one point, kept here: inside a list that a patch brings, the fields of objects
that are null are dropped too, because null never means anything but "absent".
"""

from typing import Any

from heliostat.embedded.refusals import bad_request
from heliostat.embedded.server.patches.go_values import not_an_object
from heliostat.kube import jsontree
from heliostat.kube.jsontree import JsonObject


def apply_merge_patch(tree: JsonObject, body: Any) -> JsonObject:
    """The patched object; the arguments are not changed."""
    if body is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(body, dict):
        raise bad_request(f"error decoding patch: {not_an_object(body)}")
    merged: JsonObject = jsontree.merge_patch(tree, _prepare(body, tree))
    return merged


def _prepare(patch: Any, live: Any) -> Any:
    """The patch without the nulls that its lists hide; a list that replaces an object is left as it is."""
    if isinstance(patch, dict):
        fields = live if isinstance(live, dict) else {}
        return {key: _prepare(value, fields.get(key)) for key, value in patch.items()}
    return patch if isinstance(live, dict) else _drop_null_fields(patch)


def _drop_null_fields(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_null_fields(child) for key, child in value.items() if child is not None}
    return [_drop_null_fields(item) for item in value] if isinstance(value, list) else value
