"""Short words for the requests that sequences are made of."""

from typing import Any

from conformance.model import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Call, Json, OpenWatch, ReadWatch

CORE = "/api/v1"
# Resources outside the core group: where they are served.
GROUPS = {
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "cronjobs": "/apis/batch/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "ingresses": "/apis/networking.k8s.io/v1",
    "networkpolicies": "/apis/networking.k8s.io/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "storageclasses": "/apis/storage.k8s.io/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
    "widgets": "/apis/conformance.dev/v1",
    "gadgets": "/apis/conformance.dev/v1",
}
CLUSTER_WIDE = frozenset(
    {
        "namespaces", "nodes", "persistentvolumes", "clusterroles", "clusterrolebindings", "priorityclasses",
        "storageclasses", "customresourcedefinitions", "gadgets",
    }
)  # fmt: skip


def at(resource: str, name: str = "", subresource: str = "", *, namespace: str = "${ns}") -> str:
    """The path of a collection, an object or a subresource."""
    where = "" if resource in CLUSTER_WIDE or not namespace else f"/namespaces/{namespace}"
    parts = [GROUPS.get(resource, CORE) + where, resource, name, subresource]
    return "/".join(part for part in parts if part)


def get(resource: str, name: str, subresource: str = "", **options: Any) -> Call:
    return Call(method="GET", path=at(resource, name, subresource), **options)


def listing(resource: str, query: dict[str, str] | None = None, **options: Any) -> Call:
    return Call(method="GET", path=at(resource), query=query or {}, **options)


def create(resource: str, body: Json, subresource_of: tuple[str, str] | None = None, **options: Any) -> Call:
    """``subresource_of`` is (name, subresource) for what is created below an object."""
    name, subresource = subresource_of or ("", "")
    return Call(method="POST", path=at(resource, name, subresource), body=body, **options)


def update(resource: str, name: str, body: Json, subresource: str = "", **options: Any) -> Call:
    return Call(method="PUT", path=at(resource, name, subresource), body=body, **options)


def delete(resource: str, name: str, body: Json = None, **options: Any) -> Call:
    return Call(method="DELETE", path=at(resource, name), body=body, **options)


def delete_all(resource: str, body: Json = None, **options: Any) -> Call:
    return Call(method="DELETE", path=at(resource), body=body, **options)


def merge(resource: str, name: str, patch: Json, subresource: str = "", **options: Any) -> Call:
    return _patch(MERGE_PATCH, resource, name, patch, subresource, options)


def json_patch(resource: str, name: str, patch: Json, subresource: str = "", **options: Any) -> Call:
    return _patch(JSON_PATCH, resource, name, patch, subresource, options)


def strategic(resource: str, name: str, patch: Json, subresource: str = "", **options: Any) -> Call:
    return _patch(STRATEGIC_PATCH, resource, name, patch, subresource, options)


def apply(
    resource: str, name: str, patch: Json, manager: str = "tester", *, force: bool = False, **options: Any
) -> Call:
    query = {"fieldManager": manager, **({"force": "true"} if force else {}), **options.pop("query", {})}
    return _patch(APPLY_PATCH, resource, name, patch, options.pop("subresource", ""), {"query": query, **options})


def _patch(kind: str, resource: str, name: str, patch: Json, subresource: str, options: dict[str, Any]) -> Call:
    headers = {"Content-Type": kind, **options.pop("headers", {})}
    return Call(method="PATCH", path=at(resource, name, subresource), body=patch, headers=headers, **options)


def watch(name: str, resource: str, query: dict[str, str] | None = None) -> OpenWatch:
    return OpenWatch(watch=name, path=at(resource), query={"watch": "true", **(query or {})})


def read(name: str) -> ReadWatch:
    return ReadWatch(watch=name)
