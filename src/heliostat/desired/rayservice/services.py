"""The two Services of a RayService: at the head, and where its applications answer (rayservice.md §9).

Both select one cluster, and have the ports of the spec that it was made from. During an upgrade the selector moves to
the next one, and names and addresses stay.
"""

from heliostat.api.cluster_features import ray_container
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.child_cluster import build_head_service_of, origin_labels
from heliostat.desired.names import check_label
from heliostat.desired.owners import owner_reference
from heliostat.desired.ports import is_serving_port, service_ports
from heliostat.desired.rayservice.names import service_head_service_name, service_serve_service_name
from heliostat.desired.slots import Impossible
from heliostat.kube.jsontree import copy_tree

NO_SERVE_PORT = (
    "the head container has no port named serve or serve-*, and there is no spec.serveService;"
    " name the port of Serve's proxy so"
)


def build_service_head_service(
    service: RayService, cluster: str, made_from: RayClusterSpec, settings: Settings
) -> JsonObject:
    name = service_head_service_name(service.metadata.name)
    return build_head_service_of(service, name, cluster, made_from, settings)


def build_service_serve_service(
    service: RayService, cluster: str, made_from: RayClusterSpec
) -> JsonObject | Impossible:
    """The user's own Service with our selector, labels and the cluster's ports; without one, a plain one."""
    users: JsonObject = copy_tree(service.spec.serve_service or {})
    found = list_serving_ports(made_from)
    if not found and not service.spec.serve_service:
        return Impossible(NO_SERVE_PORT)
    spec: JsonObject = users.get("spec") or {}
    ports = _merge_ports(found, spec.get("ports") or [])
    type_ = spec.get("type") or service.spec.ray_cluster_config.head_group_spec.service_type
    spec = {**spec, "selector": {labels.CLUSTER: cluster, labels.SERVE: "true"}, "ports": ports}
    if type_:
        spec["type"] = type_
    return {"apiVersion": "v1", "kind": "Service", "metadata": _serve_metadata(service, users), "spec": spec}


def _serve_metadata(service: RayService, users: JsonObject) -> JsonObject:
    metadata: JsonObject = users.get("metadata") or {}
    ours = {
        **origin_labels(service.metadata.name, service.kind),
        labels.SERVE: check_label(f"{service.metadata.name}-serve"),
    }
    return {
        **metadata,
        "name": service_serve_service_name(service),
        "namespace": service.metadata.namespace,
        "labels": {**(metadata.get("labels") or {}), **ours},
        "ownerReferences": [owner_reference(service)],
    }


def list_serving_ports(made_from: RayClusterSpec) -> list[JsonObject]:
    ports = service_ports(ray_container(made_from.head_group_spec.template))
    return [{"name": name, "port": port} for name, port in sorted(ports.items()) if is_serving_port(name)]


def _merge_ports(found: list[JsonObject], users: list[JsonObject]) -> list[JsonObject]:
    """For each serving port the user's of the same name, if there is one; without any serving port all of theirs."""
    if not found:
        return users
    named = {port.get("name"): port for port in users}
    return [named.get(port["name"], port) for port in found]
