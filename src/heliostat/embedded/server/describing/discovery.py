"""What this server serves, as clients ask for it: groups, their versions, and the resources of a version.

Rules: groups and versions stand in the order of preference that kube-apiserver has (groups of custom resources last,
by name; versions by maturity, then number), the first version of a group is the preferred one; subresources stand
behind their resource, with the kind they speak. The modern form, everything in one answer, is
``aggregated_discovery``.
"""

import base64
import re
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject

GROUP_ORDER = (
    "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
    "batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
    "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io",
    "storagemigration.k8s.io",
)  # fmt: skip

# kube-apiserver lists the verbs of custom resources in this order, and some clients show them as they come.
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_CHANGE: tuple[str, ...] = ("get", "patch", "update")
_CONNECT: tuple[str, ...] = ("create", "get")
_PROXY: tuple[str, ...] = ("create", "delete", "get", "patch", "update")

_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_MATURITY = {"alpha": 0, "beta": 1, None: 2}


class Subresource(Struct, frozen=True):
    """What a subresource speaks and how; an empty kind means that of its resource."""

    verbs: tuple[str, ...] = _CHANGE
    kind: str = ""
    group: str = ""
    version: str = ""


SUBRESOURCES: dict[str, Subresource] = {
    "pods/attach": Subresource(_CONNECT, "PodAttachOptions"),
    "pods/binding": Subresource(("create",), "Binding"),
    "pods/eviction": Subresource(("create",), "Eviction", "policy", "v1"),
    "pods/exec": Subresource(_CONNECT, "PodExecOptions"),
    "pods/log": Subresource(("get",)),
    "pods/portforward": Subresource(_CONNECT, "PodPortForwardOptions"),
    "pods/proxy": Subresource(_PROXY, "PodProxyOptions"),
    "services/proxy": Subresource(_PROXY, "ServiceProxyOptions"),
    "nodes/proxy": Subresource(_PROXY, "NodeProxyOptions"),
    "namespaces/finalize": Subresource(("update",)),
    "serviceaccounts/token": Subresource(("create",), "TokenRequest", "authentication.k8s.io", "v1"),
}
_SCALE = Subresource(_CHANGE, "Scale", "autoscaling", "v1")


def describe_subresource(resource: Resource, name: str) -> Subresource:
    if name == "scale":
        return _SCALE
    return SUBRESOURCES.get(f"{resource.plural}/{name}", Subresource())


class Group(Struct, frozen=True):
    """A group with its versions in order of preference, and the resources of each in order of name."""

    name: str
    versions: dict[str, tuple[Resource, ...]]


def groups_of(registry: Registry) -> dict[str, Group]:
    """Every group that is served, in order; the core group, whose name is empty, comes first."""
    found: dict[str, dict[str, list[Resource]]] = {}
    for resource in registry.all():
        found.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return {name: _build_group(name, found[name]) for name in sorted(found, key=_group_rank)}


def _group_rank(name: str) -> tuple[int, str]:
    if not name:
        return -1, ""
    return (GROUP_ORDER.index(name), "") if name in GROUP_ORDER else (len(GROUP_ORDER), name)


def _build_group(name: str, versions: dict[str, list[Resource]]) -> Group:
    ordered = sorted(versions, key=version_rank)
    return Group(name, {version: tuple(sorted(versions[version], key=_plural)) for version in ordered})


def _plural(resource: Resource) -> str:
    return resource.plural


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sorts as Kubernetes does: v10, v2, v1, v2beta1, v1beta2, v1alpha1, and whatever else there is by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 1, 0, 0, version
    return -_MATURITY[found[2]], -int(found[1]), -int(found[3] or 0), ""


def build_versions(address: str) -> JsonObject:
    """``/api``: the versions of the core group, and where this server is reached."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def build_group_list(groups: Iterable[Group]) -> JsonObject:
    """``/apis``."""
    listed = [_group_body(group) for group in groups if group.name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def build_group(group: Group) -> JsonObject:
    """``/apis/GROUP``."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group_body(group)}


def _group_body(group: Group) -> JsonObject:
    versions = [{"groupVersion": f"{group.name}/{version}", "version": version} for version in group.versions]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def build_resource_list(group: Group, version: str) -> JsonObject:
    """``/api/v1`` and ``/apis/GROUP/VERSION``."""
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group.name else {}),
        "groupVersion": f"{group.name}/{version}" if group.name else version,
        "resources": [row for resource in group.versions[version] for row in _resource_rows(resource)],
    }


def _resource_rows(resource: Resource) -> list[JsonObject]:
    row: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        "verbs": list(verbs_of(resource)),
        **names_of(resource),
    }
    if "watch" in resource.verbs:
        row["storageVersionHash"] = _storage_hash(resource)
    return [row, *(_subresource_row(resource, name) for name in subresource_names(resource))]


def names_of(resource: Resource) -> JsonObject:
    """The other names, where there are any."""
    names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {key: value for key, value in names.items() if value}


def verbs_of(resource: Resource) -> tuple[str, ...]:
    return _CUSTOM_VERBS if resource.is_custom else resource.verbs


def subresource_names(resource: Resource) -> list[str]:
    """By name; a custom resource's status comes before its scale."""
    return sorted(resource.subresources, reverse=resource.is_custom)


def _subresource_row(resource: Resource, name: str) -> JsonObject:
    described = describe_subresource(resource, name)
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.is_namespaced,
        **({"group": described.group, "version": described.version} if described.group else {}),
        "kind": described.kind or resource.kind,
        "verbs": list(described.verbs),
    }


def _storage_hash(resource: Resource) -> str:
    """Tells clients when objects of a resource are kept in another version."""
    group, _, version = resource.storage_version.rpartition("/")
    if resource.storage_name == "customresourcedefinitions.apiextensions.k8s.io":
        version = "v1beta1"  # which kube-apiserver still keeps them in
    digest = sha256(f"{group}/{version}/{resource.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
