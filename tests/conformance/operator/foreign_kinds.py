"""CustomResourceDefinitions of others that the operator writes to: of cert-manager, batch schedulers, the Gateway API.

Those of the Gateway API are the published ones, with their defaults. Of the others only what the operator relies on is
declared: names, scope and a status of its own. What is inside stays open.
"""

from heliostat.embedded.doors.gateway import gateway_crds
from heliostat.kube import lookups
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import RESOURCES

FOREIGN: tuple[ResourceType, ...] = tuple(
    RESOURCES[kind] for kind in (lookups.ISSUER, lookups.CERTIFICATE, lookups.VOLCANO_GROUP, lookups.PLUGIN_GROUP)
)
GATEWAY, HTTP_ROUTE = RESOURCES[lookups.GATEWAY], RESOURCES[lookups.HTTP_ROUTE]
CERTIFICATE = RESOURCES[lookups.CERTIFICATE]


def build_definitions() -> list[JsonObject]:
    return [*map(build_definition, FOREIGN), *gateway_crds()]


def build_definition(resource: ResourceType) -> JsonObject:
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.api_version.partition("/")[2],
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open_object, "status": open_object}}},
    }
    metadata: JsonObject = {"name": f"{resource.plural}.{resource.group}"}
    if resource.group.endswith(".k8s.io"):
        metadata["annotations"] = {"api-approved.kubernetes.io": "unapproved, for tests"}
    names = {"plural": resource.plural, "kind": resource.kind, "singular": resource.kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"group": resource.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
