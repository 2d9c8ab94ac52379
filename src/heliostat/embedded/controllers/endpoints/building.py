"""An endpoint for each Pod, and the parts of an EndpointSlice that all slices of a Service have in common.

Ready is who is ready and not being deleted, or everybody if the Service says so; serving is the Pod's readiness alone.
"""

from collections.abc import Mapping

from heliostat.embedded.controllers.adoption import build_reference
from heliostat.embedded.controllers.endpoints.members import HEADLESS, addresses_of, hostname_of
from heliostat.embedded.controllers.trees import tree_of
from heliostat.embedded.controllers.views.endpoint_slices import (
    ENDPOINT_SLICE,
    Endpoint,
    EndpointConditions,
    EndpointPort,
    TargetRef,
)
from heliostat.embedded.controllers.views.nodes import Node
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.services import SERVICE, Service
from heliostat.kube.jsontree import JsonObject

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslice-controller.k8s.io"
_RESERVED = (SERVICE_NAME, MANAGED_BY, HEADLESS)
_ZONE = "topology.kubernetes.io/zone"


def build_endpoint(pod: Pod, node: Node | None, service: Service, family: str) -> Endpoint:
    metadata, is_terminating = pod.metadata, pod.metadata.is_terminating
    is_ready = service.spec.publish_not_ready_addresses or (pod.is_ready and not is_terminating)
    return Endpoint(
        addresses=addresses_of(pod, family),
        conditions=EndpointConditions(is_ready, pod.is_ready, is_terminating),
        hostname=hostname_of(pod, service),
        target_ref=TargetRef("Pod", metadata.namespace, metadata.name, metadata.uid),
        node_name=pod.spec.node_name or None,
        zone=(node.metadata.labels.get(_ZONE) or None) if node is not None else None,
    )


def build_labels(service: Service) -> dict[str, str]:
    """The Service's own labels, but for those that say what a slice is."""
    labels = without_reserved(service.metadata.labels)
    if not service.has_address:
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service.metadata.name, MANAGED_BY: CONTROLLER}


def without_reserved(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _RESERVED}


def build_slice(
    service: Service, name: str, family: str, ports: tuple[EndpointPort, ...], endpoints: tuple[Endpoint, ...]
) -> JsonObject:
    metadata = {
        "name": name,
        "generateName": f"{service.metadata.name}-",
        "namespace": service.metadata.namespace,
        "labels": build_labels(service),
        "ownerReferences": [build_reference(SERVICE, service.metadata)],
    }
    return {
        "apiVersion": ENDPOINT_SLICE.api_version,
        "kind": ENDPOINT_SLICE.kind,
        "metadata": metadata,
        "addressType": family,
        "endpoints": tree_of(endpoints),
        "ports": tree_of(ports),
    }
