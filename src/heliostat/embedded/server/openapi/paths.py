"""The operations that OpenAPI documents list: for each resource its paths, and for each path what can be done there.

kubectl looks here for the kind behind a path (explain), for the patch types (apply) and for the query parameters
``dryRun`` and ``fieldValidation`` (create, apply). How an operation is written down differs between the versions of
OpenAPI and is their modules' business.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from heliostat.embedded.server.describing.discovery import describe_subresource, subresource_names
from heliostat.embedded.server.openapi.schemas import full_name, name_of
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject

_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
QUERY: dict[str, tuple[str, ...]] = {
    "list": _LIST,
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, "force"),
    "delete": _DELETE,
    "deletecollection": tuple(sorted({*_DELETE, *_LIST} - {"allowWatchBookmarks", "watch"})),
}
QUERY_TYPES = {
    **dict.fromkeys(("allowWatchBookmarks", "force", "orphanDependents", "sendInitialEvents", "watch"), "boolean"),
    **dict.fromkeys(("gracePeriodSeconds", "limit", "timeoutSeconds"), "integer"),
}
_VERBS = {
    "list": ("get", "list"),
    "create": ("post", "post"),
    "deletecollection": ("delete", "deletecollection"),
    "get": ("get", "get"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
}
_COLLECTION_VERBS = ("list", "create", "deletecollection")
_OBJECT_VERBS = ("get", "update", "patch", "delete")

_MERGES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"


# Kinds that subresources speak and that have a schema of their own, by its short name.
_SPOKEN = {
    "Scale": "autoscaling.v1.Scale",
    "Eviction": "policy.v1.Eviction",
    "TokenRequest": "authentication.v1.TokenRequest",
    "Binding": "core.v1.Binding",
}
CONNECTIONS = frozenset(("attach", "exec", "portforward", "proxy"))


class Operation(Struct, frozen=True):
    method: str
    action: str  # as x-kubernetes-action says it
    operation_id: str
    tag: str
    gvk: JsonObject
    answer: str = ""  # full name of the schema that comes back; empty: plain text
    body: str = ""  # and of the one that is sent; empty: nothing is
    consumes: tuple[str, ...] = ("*/*",)


class Path(Struct, frozen=True):
    path: str
    parameters: tuple[str, ...]  # those in the path itself
    operations: tuple[Operation, ...]


def paths_of(resources: Iterable[Resource]) -> Iterator[Path]:
    """The paths at which something can be done."""
    return (path for resource in resources for path in _paths_of_one(resource) if path.operations)


def _paths_of_one(resource: Resource) -> Iterator[Path]:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    base, scope = f"{root}/{resource.plural}", ""
    parameters: tuple[str, ...] = ()
    if resource.is_namespaced:
        yield Path(base, (), _operations(resource, ("list",), "ForAllNamespaces"))
        base, parameters, scope = f"{root}/namespaces/{{namespace}}/{resource.plural}", ("namespace",), "Namespaced"
    yield Path(base, parameters, _operations(resource, _COLLECTION_VERBS, scope))
    item, parameters = f"{base}/{{name}}", ("name", *parameters)
    yield Path(item, parameters, _operations(resource, _OBJECT_VERBS, scope))
    for name in subresource_names(resource):
        operations = _connections if name in CONNECTIONS else _subresource_operations
        yield Path(f"{item}/{name}", parameters, operations(resource, name, scope))


def spoken_schemas(resources: Iterable[Resource]) -> set[str]:
    """Short names of the schemas that only subresources of these speak."""
    return {
        schema
        for resource in resources
        for name in resource.subresources
        if (schema := _SPOKEN.get(describe_subresource(resource, name).kind, ""))
    }


def _operations(resource: Resource, verbs: tuple[str, ...], scope: str) -> tuple[Operation, ...]:
    name, gvk = name_of(resource), _gvk(resource.group, resource.version, resource.kind)
    return tuple(_build(resource, verb, (scope, ""), name, gvk) for verb in verbs if verb in resource.verbs)


def _subresource_operations(resource: Resource, subresource: str, scope: str) -> tuple[Operation, ...]:
    described = describe_subresource(resource, subresource)
    group, version = described.group or resource.group, described.version or resource.version
    gvk = _gvk(group, version, described.kind or resource.kind)
    short = _SPOKEN.get(described.kind, "")
    name = full_name(short) if short else name_of(resource)
    return tuple(_build(resource, verb, (scope, subresource.capitalize()), name, gvk) for verb in described.verbs)


def _connections(resource: Resource, subresource: str, scope: str) -> tuple[Operation, ...]:
    """What comes back over a connection is no object of the API."""
    described = describe_subresource(resource, subresource)
    gvk = _gvk(resource.group, resource.version, described.kind)
    found = []
    for verb in described.verbs:
        method, _ = _VERBS[verb]
        place = f"{method.capitalize()}{scope}{resource.kind}{subresource.capitalize()}"
        operation_id = f"connect{_group_word(resource.group)}{resource.version.capitalize()}{place}"
        found.append(Operation(method, "connect", operation_id, _tag(resource), gvk))
    return tuple(found)


def _gvk(group: str, version: str, kind: str) -> JsonObject:
    return {"group": group, "version": version, "kind": kind}


def _build(resource: Resource, verb: str, place: tuple[str, str], name: str, gvk: JsonObject) -> Operation:
    """``place`` is the scope and the subresource, as the operation's id says them."""
    method, action = _VERBS[verb]
    bodies = {"create": name, "update": name, "patch": full_name("meta.v1.Patch")}
    removal = "delete" in verb
    return Operation(
        method,
        action,
        _operation_id(resource, verb, *place),
        _tag(resource),
        gvk,
        full_name("meta.v1.Status") if removal else f"{name}List" if verb == "list" else name,
        full_name("meta.v1.DeleteOptions") if removal else bodies.get(verb, ""),
        _patch_types(resource) if verb == "patch" else ("*/*",),
    )


def _patch_types(resource: Resource) -> tuple[str, ...]:
    """Strategic merge needs merge keys, which custom resources cannot declare."""
    return _MERGES if resource.is_custom else (*_MERGES, _STRATEGIC)


def _operation_id(resource: Resource, verb: str, scope: str, suffix: str) -> str:
    """Such as ``listAppsV1NamespacedDeployment``."""
    words = {"get": "read", "update": "replace", "deletecollection": "delete"}
    collection = "Collection" if verb == "deletecollection" else ""
    place = (scope, "") if scope == "Namespaced" else ("", scope)
    version = resource.version[:1].upper() + resource.version[1:]
    parts = (words.get(verb, verb), _group_word(resource.group), version, collection, place[0], resource.kind,
             place[1], suffix)  # fmt: skip
    return "".join(parts)


def _group_word(group: str) -> str:
    parts = (group.removesuffix(".k8s.io") or "core").replace("-", ".").split(".")
    return "".join(part.capitalize() for part in parts)


def _tag(resource: Resource) -> str:
    group = _group_word(resource.group)
    return f"{group[:1].lower()}{group[1:]}_{resource.version}"
