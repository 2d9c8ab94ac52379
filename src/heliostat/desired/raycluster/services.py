"""Services of a RayCluster: head, headless workers, serve (raycluster.md §4.5–§4.7). Made once, never updated."""

from heliostat.api.cluster_features import ray_container
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.names import headless_service_name, serve_service_name
from heliostat.desired.ports import is_serving_port, service_ports
from heliostat.desired.raycluster.context import BuildContext, build_owned
from heliostat.desired.slots import Impossible, Slot
from heliostat.kube.jsontree import copy_tree


def head_ports(context: BuildContext) -> dict[str, int]:
    return service_ports(ray_container(context.spec.head_group_spec.template))


def build_head_service(context: BuildContext) -> JsonObject:
    head = context.spec.head_group_spec
    template_labels = (head.template.get("metadata") or {}).get("labels")
    service_labels = labels.head_service_labels(context.name, template_labels)
    service = build_owned(context, "v1", "Service", context.head_service, service_labels)
    if head.head_service is not None:
        _take_over_metadata(service, head.head_service)
    service["spec"] = build_head_service_spec(context.spec, context.settings) | {"selector": dict(service_labels)}
    if context.spec.head_service_annotations:
        annotations = service["metadata"].get("annotations") or {}
        service["metadata"]["annotations"] = annotations | context.spec.head_service_annotations
    return service


def build_head_service_spec(spec: RayClusterSpec, settings: Settings) -> JsonObject:
    """Ports, type and address; with a Service of the user's, their ports come first (R4-29). Without a selector."""
    head = spec.head_group_spec
    found = service_ports(ray_container(head.template))
    ports = [{"name": name, "port": port, "appProtocol": "tcp"} for name, port in sorted(found.items())]
    if head.head_service is not None:
        users: JsonObject = copy_tree(head.head_service).get("spec") or {}
        service = {**users, "ports": [*(users.get("ports") or []), *ports]}
        if head.service_type and not service.get("type"):
            service["type"] = head.service_type
        return service
    service = {"ports": ports}
    if head.service_type:
        service["type"] = head.service_type
    if not settings.head_cluster_ip_service and (head.service_type or "ClusterIP") == "ClusterIP":
        # Clients find the head by its own address, before it is ready too: Ray's nodes must meet it to become so.
        service |= {"clusterIP": "None", "publishNotReadyAddresses": True}
    return service


def _take_over_metadata(service: JsonObject, users: JsonObject) -> None:
    """The user's metadata with our name rules, labels and owner."""
    metadata = copy_tree(users).get("metadata") or {}
    ours = service["metadata"]
    service["metadata"] = {
        **metadata,
        "name": ours["name"],
        "namespace": ours["namespace"],
        "labels": (metadata.get("labels") or {}) | ours["labels"],
        "ownerReferences": ours["ownerReferences"],
    }


def build_headless_service(context: BuildContext) -> JsonObject | None:
    """Gives the Pods of a multi-host group names to find each other by."""
    if not any((group.num_of_hosts or 0) > 1 for group in context.spec.worker_group_specs or []):
        return None
    name = headless_service_name(context.name)
    service = build_owned(context, "v1", "Service", name, {labels.HEADLESS_SERVICE: context.name})
    service["spec"] = {
        "clusterIP": "None",
        "type": "ClusterIP",
        "publishNotReadyAddresses": True,
        "selector": {labels.CLUSTER: context.name, labels.NODE_TYPE: labels.WORKER},
    }
    return service


def build_serve_service(context: BuildContext) -> Slot:
    if context.annotations.get(labels.ENABLE_SERVE_SERVICE) != "true":
        return None
    serving = {name: port for name, port in sorted(head_ports(context).items()) if is_serving_port(name)}
    ports = [{"name": name, "port": port} for name, port in serving.items()]
    if not ports:
        return Impossible("the head container has no port named serve or serve-*, which the serve Service needs")
    service_labels = {
        labels.ORIGIN_NAME: context.name,
        labels.ORIGIN_KIND: "RayCluster",
        labels.SERVE: f"{context.name}-serve",
    }
    service = build_owned(context, "v1", "Service", serve_service_name(context.name), service_labels)
    service["spec"] = {"selector": {labels.CLUSTER: context.name}, "ports": ports}
    if context.spec.head_group_spec.service_type:
        service["spec"]["type"] = context.spec.head_group_spec.service_type
    return service
