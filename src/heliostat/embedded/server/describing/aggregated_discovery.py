"""Everything that is served in one answer: ``APIGroupDiscoveryList``, which kubectl asks for first.

It says the same as ``discovery`` does, group by group, and goes out under its own media type with an ETag, so that a
client which has it already is told so (304).
"""

from collections.abc import Iterable

from heliostat.embedded.server.describing.discovery import (
    Group,
    describe_subresource,
    names_of,
    subresource_names,
    verbs_of,
)
from heliostat.embedded.server.front.negotiation import parse_accept
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject

MEDIA_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PARAMETERS = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}


def wants_aggregated(request: Request) -> bool:
    """The client offers this form before any other that it could be given."""
    for clause in parse_accept(request.headers.get("accept", "")):
        if clause.parameters == _PARAMETERS and clause.media == "application/json":
            return True
        if "as" not in clause.parameters:
            return False
    return False


def build_aggregated(groups: Iterable[Group]) -> JsonObject:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [_group_item(group) for group in groups],
    }


def _group_item(group: Group) -> JsonObject:
    return {
        "metadata": {"name": group.name} if group.name else {},
        "versions": [
            {"version": version, "resources": [_resource_item(each) for each in resources], "freshness": "Current"}
            for version, resources in group.versions.items()
        ],
    }


def _resource_item(resource: Resource) -> JsonObject:
    subresources = [_subresource_item(resource, name) for name in subresource_names(resource)]
    return {
        "resource": resource.plural,
        "responseKind": _kind(resource, "", "", ""),
        "scope": "Namespaced" if resource.is_namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(verbs_of(resource)),
        **names_of(resource),
        **({"subresources": subresources} if subresources else {}),
    }


def _subresource_item(resource: Resource, name: str) -> JsonObject:
    described = describe_subresource(resource, name)
    return {
        "subresource": name,
        "responseKind": _kind(resource, described.group, described.version, described.kind),
        "verbs": list(described.verbs),
    }


def _kind(resource: Resource, group: str, version: str, kind: str) -> JsonObject:
    """Empty group and version mean those of the list; kube-apiserver spells them out for custom resources only."""
    if resource.is_custom and not group:
        group, version = resource.group, resource.version
    return {"group": group, "version": version, "kind": kind or resource.kind}
