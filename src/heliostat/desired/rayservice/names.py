"""Names of what a RayService makes (rayservice.md §9).

The name of a cluster is derived from why it is made: the spec's generation and the clusters that it comes after. So a
repeated pass chooses the same name, and a cluster that was deleted by hand is followed by one of another name.
"""

from collections.abc import Iterable

from heliostat.api.rayservice import RayService
from heliostat.kube.suffixes import derive_suffix


def choose_cluster_name(service: RayService, active: str, pending: str) -> str:
    metadata = service.metadata
    return f"{metadata.name}-{derive_suffix(metadata.uid, 'cluster', str(metadata.generation or 0), active, pending)}"


def service_head_service_name(service: str) -> str:
    return f"{service}-head-svc"


def service_serve_service_name(service: RayService) -> str:
    """The user's own name for it counts."""
    users = (service.spec.serve_service or {}).get("metadata") or {}
    return str(users.get("name") or f"{service.metadata.name}-serve-svc")


def cluster_serve_service_name(cluster: str) -> str:
    """Of an incremental upgrade, where each cluster has its own."""
    return f"{cluster}-serve-svc"


def list_serve_services(service: RayService, clusters: Iterable[str], *, is_incremental: bool) -> tuple[str, ...]:
    """Who answers for the service is behind these (rayservice.md §10)."""
    if is_incremental:
        return tuple(cluster_serve_service_name(cluster) for cluster in clusters if cluster)
    return (service_serve_service_name(service),)


def gateway_name(service: str) -> str:
    return f"{service}-gateway"


def route_name(service: str) -> str:
    return f"{service}-httproute"
