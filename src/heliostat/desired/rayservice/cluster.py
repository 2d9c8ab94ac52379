"""The RayCluster that a RayService makes (rayservice.md §4.7)."""

from heliostat.api.markers import JsonObject
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.child_cluster import start_child_cluster
from heliostat.desired.raycluster.spec_hash import hash_spec

SERVICE_HASH = "ray.io/hash-without-replicas-and-workers-to-delete"
GROUP_COUNT = "ray.io/num-worker-groups"


def build_cluster_of_service(
    service: RayService, tree: JsonObject, name: str, settings: Settings, *, grows: bool = False
) -> JsonObject:
    """``grows``: another cluster serves meanwhile, and the autoscaler makes this one larger step by step."""
    cluster = start_child_cluster(tree, name, "RayService", tree["spec"]["rayClusterConfig"])
    groups = service.spec.ray_cluster_config.worker_group_specs or []
    cluster["metadata"]["annotations"] |= {
        SERVICE_HASH: hash_spec(service.spec.ray_cluster_config, mute_suspend=True).text,
        GROUP_COUNT: str(len(groups)),
        labels.OPERATOR_VERSION: settings.operator_version,
    }
    if grows:
        for group in cluster["spec"].get("workerGroupSpecs") or ():
            group.pop("replicas", None)
    return cluster
