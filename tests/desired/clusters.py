"""Small RayClusters for builder tests: the least that is valid, and a way to change one part of it."""

from typing import Any

from heliostat.api.documents import Accepted, accept
from heliostat.api.raycluster import RayCluster
from heliostat.api.settings import Settings, default_gates
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.jsontree import copy_tree, merge_patch

UID = "11111111-2222-3333-4444-555555555555"

MINIMAL: dict[str, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "demo", "namespace": "ns", "uid": UID},
    "spec": {
        "headGroupSpec": {
            "rayStartParams": {},
            "template": {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.52.0"}]}},
        },
        "workerGroupSpecs": [
            {
                "groupName": "small",
                "replicas": 1,
                "minReplicas": 0,
                "maxReplicas": 5,
                "rayStartParams": {},
                "template": {"spec": {"containers": [{"name": "ray-worker", "image": "rayproject/ray:2.52.0"}]}},
            }
        ],
    },
}


def make_cluster(
    *,
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    head: dict[str, Any] | None = None,
    worker: dict[str, Any] | None = None,
    head_container: dict[str, Any] | None = None,
    worker_container: dict[str, Any] | None = None,
) -> RayCluster:
    """Merge patches for each part, laid over the minimal cluster."""
    tree = copy_tree(MINIMAL)
    tree["metadata"] = merge_patch(tree["metadata"], metadata or {})
    head_tree = merge_patch(tree["spec"]["headGroupSpec"], head or {})
    worker_tree = merge_patch(tree["spec"]["workerGroupSpecs"][0], worker or {})
    for group, patch in ((head_tree, head_container), (worker_tree, worker_container)):
        containers = group["template"]["spec"]["containers"]
        if containers and patch:
            containers[0] = merge_patch(containers[0], patch)
    groups = {"headGroupSpec": head_tree, "workerGroupSpecs": [worker_tree]}
    tree["spec"] = merge_patch({**tree["spec"], **groups}, spec or {})
    answer = accept(tree)
    assert isinstance(answer, Accepted), answer
    assert isinstance(answer.object, RayCluster)
    return answer.object


def gates(**on: bool) -> Settings:
    return Settings(gates=default_gates() | on)


def desired(settings: Settings | None = None, **parts: Any) -> DesiredCluster:
    return build_desired(make_cluster(**parts), settings or Settings())


def env_of(container: dict[str, Any]) -> dict[str, Any]:
    """Name to value, or to valueFrom; the last one of a name wins, as for the kubelet."""
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in container.get("env", [])}
