"""How requests are split between two clusters: a Gateway, an HTTPRoute with weights, a Service for each cluster.

Only for ``NewClusterWithIncrementalUpgrade`` (rayservice.md §6.2); the weights are somebody else's decision.
"""

from collections.abc import Sequence

from heliostat.api.cluster_features import ray_container
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayservice import ClusterUpgradeOptions, RayService
from heliostat.desired import labels
from heliostat.desired.names import check_label
from heliostat.desired.owners import owner_reference
from heliostat.desired.ports import SERVE_PORT, container_port
from heliostat.desired.rayservice.names import (
    cluster_serve_service_name,
    gateway_name,
    route_name,
    service_serve_service_name,
)
from heliostat.desired.rayservice.services import NO_SERVE_PORT, list_serving_ports
from heliostat.desired.slots import Impossible

GATEWAY_API = "gateway.networking.k8s.io/v1"
LISTENER: JsonObject = {"name": "http", "protocol": "HTTP", "port": 80}


def upgrade_options(service: RayService) -> ClusterUpgradeOptions | None:
    strategy = service.spec.upgrade_strategy
    return strategy.cluster_upgrade_options if strategy is not None else None


def build_gateway(service: RayService) -> JsonObject:
    options = upgrade_options(service)
    class_name = options.gateway_class_name if options is not None else ""
    return {
        "apiVersion": GATEWAY_API,
        "kind": "Gateway",
        "metadata": _metadata(service, gateway_name(service.metadata.name)),
        "spec": {"gatewayClassName": class_name, "listeners": [dict(LISTENER)]},
    }


def build_route(service: RayService, shares: Sequence[tuple[str, int, int]]) -> JsonObject:
    """``shares`` are clusters, their own ports for requests, and their shares of all requests, in percent."""
    named = [(cluster_serve_service_name(cluster), port, weight) for cluster, port, weight in shares]
    return _build_route(service, named)


def find_serve_port(made_from: RayClusterSpec) -> int:
    return container_port(ray_container(made_from.head_group_spec.template), "serve", SERVE_PORT)


def build_whole_route(service: RayService, port: int) -> JsonObject:
    """To whichever cluster the serve Service, with this port, leads."""
    return _build_route(service, [(service_serve_service_name(service), port, 100)])


def _build_route(service: RayService, services: Sequence[tuple[str, int, int]]) -> JsonObject:
    """``services`` are names, ports and weights."""
    namespace = service.metadata.namespace
    back_ends = [
        {"name": name, "namespace": namespace, "port": port, "weight": weight} for name, port, weight in services
    ]
    rule = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": back_ends}
    parents = [{"name": gateway_name(service.metadata.name), "namespace": namespace}]
    return {
        "apiVersion": GATEWAY_API,
        "kind": "HTTPRoute",
        "metadata": _metadata(service, route_name(service.metadata.name)),
        "spec": {"parentRefs": parents, "rules": [rule]},
    }


def build_cluster_serve_service(
    service: RayService, cluster: str, uid: str, made_from: RayClusterSpec
) -> JsonObject | Impossible:
    """Of this cluster, and gone with it. The user's spec.serveService does not count here."""
    ports = list_serving_ports(made_from)
    if not ports:
        return Impossible(NO_SERVE_PORT)
    spec: JsonObject = {"selector": {labels.CLUSTER: cluster, labels.SERVE: "true"}, "ports": ports}
    type_ = service.spec.ray_cluster_config.head_group_spec.service_type
    if type_:
        spec["type"] = type_
    metadata = {
        "name": cluster_serve_service_name(cluster),
        "namespace": service.metadata.namespace,
        "labels": {
            labels.ORIGIN_NAME: cluster,
            labels.ORIGIN_KIND: "RayService",
            labels.SERVE: check_label(f"{cluster}-serve"),
        },
        "ownerReferences": [
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "name": cluster,
                "uid": uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _metadata(service: RayService, name: str) -> JsonObject:
    return {"name": name, "namespace": service.metadata.namespace, "ownerReferences": [owner_reference(service)]}
