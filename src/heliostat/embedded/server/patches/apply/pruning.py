"""Which fields an apply removes: those that its applier owned through the last apply, and that nobody owns now.

A field inside a list item or map entry that somebody else owns stays, and so does what nobody ever owned. Ownership
that was written in another version is judged in that version.
"""

from heliostat.embedded.server.patches.apply.field_set import NO_FIELDS, FieldSet
from heliostat.embedded.server.patches.apply.owners import Owned, Ownership
from heliostat.embedded.server.patches.apply.typed_fields import fields_of, with_named_fields
from heliostat.embedded.server.patches.apply.typed_remove import remove_fields
from heliostat.embedded.server.patches.apply.versions import Endpoint
from heliostat.kube.jsontree import JsonObject


def prune(merged: JsonObject, owned: Owned, last: Ownership, endpoint: Endpoint) -> JsonObject:
    """The merged object without them. ``owned`` has the new apply already, ``last`` is what its owner had before."""
    shape = endpoint.shape_in(last.api_version)
    if shape is None:
        return merged
    merged = endpoint.convert(merged, last.api_version)
    last_fields = with_named_fields(last.fields, shape)
    pruned = remove_fields(merged, last_fields, shape)
    for api_version, fields in _fields_by_version(owned, last.api_version).items():
        pruned = _add_back(merged, pruned, fields, api_version, endpoint)
    pruned = endpoint.convert(pruned, last.api_version)
    gone = with_named_fields(fields_of(merged, shape), shape) - with_named_fields(fields_of(pruned, shape), shape)
    return endpoint.convert(remove_fields(merged, gone & last_fields, shape), endpoint.api_version)


def _add_back(
    merged: JsonObject, pruned: JsonObject, fields: FieldSet, api_version: str, endpoint: Endpoint
) -> JsonObject:
    """The pruned object, with those fields again that are owned in one version."""
    shape = endpoint.shape_in(api_version)
    if shape is None:
        return pruned
    merged, pruned = endpoint.convert(merged, api_version), endpoint.convert(pruned, api_version)
    kept = with_named_fields(fields_of(pruned, shape), shape) | with_named_fields(fields, shape)
    added: JsonObject = remove_fields(merged, with_named_fields(fields_of(merged, shape), shape) - kept, shape)
    return added


def _fields_by_version(owned: Owned, first: str) -> dict[str, FieldSet]:
    """What anybody owns, by the version it was written in; the ``first`` version leads."""
    owned_first = sorted(owned.values(), key=lambda ownership: ownership.api_version != first)
    result: dict[str, FieldSet] = {}
    for ownership in owned_first:
        result[ownership.api_version] = result.get(ownership.api_version, NO_FIELDS) | ownership.fields
    return result
