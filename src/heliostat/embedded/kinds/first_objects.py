"""What every cluster has before anybody asks for anything, besides its namespaces."""

from heliostat.embedded.kinds.quotas.priorities import DESCRIPTIONS, SYSTEM_CLASSES
from heliostat.embedded.networks import SERVER_ADDRESS
from heliostat.kube.jsontree import JsonObject


def build_first_objects() -> list[JsonObject]:
    """In the order in which they are created."""
    return [*(_build_priority_class(name) for name in SYSTEM_CLASSES), build_server_service()]


def _build_priority_class(name: str) -> JsonObject:
    return {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": name},
        "value": SYSTEM_CLASSES[name],
        "description": DESCRIPTIONS[name],
    }


def build_server_service() -> JsonObject:
    """The name under which Pods find the server."""
    labels = {"provider": "kubernetes", "component": "apiserver"}
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "clusterIP": SERVER_ADDRESS,
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "type": "ClusterIP",
            "sessionAffinity": "None",
        },
    }
