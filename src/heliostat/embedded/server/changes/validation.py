"""Is an object right: its metadata and what its kind says, all that is wrong with it in one refusal."""

from heliostat.embedded.kinds.judging import changed_object_causes, new_object_causes
from heliostat.embedded.server.custom.custom_validation import custom_causes
from heliostat.embedded.server.errors import invalid
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject


def check_object(tree: JsonObject, old: JsonObject | None, resource: Resource, subresource: str = "") -> None:
    names = (resource.storage_name, resource.group)
    if old is None:
        causes = list(new_object_causes(tree, *names, is_custom=resource.is_custom))
    else:
        causes = list(changed_object_causes(tree, old, *names, subresource=subresource, is_custom=resource.is_custom))
    if resource.is_custom:
        causes += custom_causes(tree, old, resource, subresource, causes)
    if causes:
        group = "" if resource.storage_name == "events" else resource.group  # refused as what they are kept as
        raise invalid(resource.kind, group, str(tree["metadata"].get("name") or ""), causes)
