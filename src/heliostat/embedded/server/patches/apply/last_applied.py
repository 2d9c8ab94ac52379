"""From ``kubectl apply`` on the client to ``kubectl apply --server-side``.

Rules: when the manager is ``kubectl``, fields that the annotation of the last client-side apply vouches for are no
conflict, and an object that has the annotation gets it anew, so that the way back stays open.
"""

from heliostat.embedded.server.patches.apply.field_set import NO_FIELDS, FieldSet
from heliostat.embedded.server.patches.apply.shapes import Shape
from heliostat.embedded.server.patches.apply.typed_check import misfits
from heliostat.embedded.server.patches.apply.typed_compare import compare_values
from heliostat.embedded.server.patches.apply.typed_fields import fields_of
from heliostat.kube.document_error import DocumentError
from heliostat.kube.go_text import go_json
from heliostat.kube.jsontree import JsonObject, decode_json

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_MAX_ANNOTATIONS_BYTES = 256 * 1024


def vouched_fields(live: JsonObject, api_version: str, shape: Shape) -> FieldSet:
    """The fields that the last client-side apply set and that are still as it set them."""
    text = _annotations(live).get(ANNOTATION)
    try:
        last = decode_json(text) if isinstance(text, str) and text else None
    except DocumentError:
        last = None
    if not isinstance(last, dict) or last.get("apiVersion") != api_version or misfits(last, shape):
        return NO_FIELDS
    change = compare_values(last, live, shape)
    return fields_of(last, shape) - change.changed - change.added - change.removed


def renew_annotation(tree: JsonObject, applied: JsonObject) -> JsonObject:
    """The object with the annotation of what was applied, if it had one; without it if it would become too large."""
    annotations = _annotations(tree)
    if not annotations.get(ANNOTATION):
        return tree
    renewed = {**annotations, ANNOTATION: _describe(applied)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in renewed.items()) > _MAX_ANNOTATIONS_BYTES:
        del renewed[ANNOTATION]
    return {**tree, "metadata": {**tree["metadata"], "annotations": renewed}}


def _describe(applied: JsonObject) -> str:
    annotations = {key: value for key, value in _annotations(applied).items() if key != ANNOTATION}
    if ANNOTATION in _annotations(applied):
        applied = {**applied, "metadata": {**applied["metadata"], "annotations": annotations}}
    return go_json(applied) + "\n"


def _annotations(tree: JsonObject) -> dict[str, str]:
    metadata = tree.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
