"""RayClusters for the benchmarks, from the example, and the bare Pods that they are compared with.

Requests are small so that many fit on a node; everything else is as the example has it, so it grows with the project.
"""

from collections.abc import Iterator
from pathlib import Path

from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import JsonObject, copy_tree
from load.pods import PODS, build_worker

__all__ = ["CLUSTERS", "PODS", "build_cluster", "build_clusters", "build_pods"]

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
_RESOURCES = {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "10m", "memory": "16Mi"}}


def build_cluster(name: str, workers: int) -> JsonObject:
    (document,) = read_documents((ROOT / "examples" / "raycluster.yaml").read_bytes())
    tree: JsonObject = copy_tree(document.tree)
    tree["metadata"] = {"name": name, "namespace": "default"}
    group = tree["spec"]["workerGroupSpecs"][0]
    group |= {"replicas": workers, "maxReplicas": workers}
    for part in (tree["spec"]["headGroupSpec"], group):
        _make_small(part["template"]["spec"])
    return tree


def build_clusters(prefix: str, count: int, workers: int) -> list[JsonObject]:
    model = build_cluster("", workers)
    return [_named(model, f"{prefix}-{number}") for number in range(count)]


def build_pods(prefix: str, count: int) -> list[JsonObject]:
    """Nobody owns them: a Pod whose owner is missing would be collected."""
    model = build_worker()
    model["metadata"] = {key: value for key, value in model["metadata"].items() if key != "ownerReferences"}
    _make_small(model["spec"])
    return [_named(model, f"{prefix}-{number}") for number in range(count)]


def _named(model: JsonObject, name: str) -> JsonObject:
    return {**model, "metadata": {**model["metadata"], "name": name}}


def _make_small(spec: JsonObject) -> None:
    for container in _containers(spec):
        container["resources"] = _RESOURCES


def _containers(spec: JsonObject) -> Iterator[JsonObject]:
    yield from spec["containers"]
    yield from spec.get("initContainers") or ()
