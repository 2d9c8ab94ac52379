"""RayClusters for simulated worlds: small, valid, each with one peculiarity; and the definition that they need."""

from functools import cache
from typing import Any

from conformance.operator.foreign_kinds import build_definition
from heliostat.api.crds import build_crd
from heliostat.kube import lookups
from heliostat.kube.jsontree import JsonObject
from heliostat.operator.kinds import RESOURCES

NAMESPACE = "default"
NAMESPACES = "/api/v1/namespaces"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def clusters_in(namespace: str) -> str:
    return f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters"


def pods_in(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


CLUSTERS, PODS = clusters_in(NAMESPACE), pods_in(NAMESPACE)


def pod_group_definition() -> JsonObject:
    """Volcano's, as far as an operator relies on it."""
    return build_definition(RESOURCES[lookups.VOLCANO_GROUP])


@cache
def ray_cluster_definition() -> JsonObject:
    """The slim one: what it leaves open is not what is simulated."""
    return build_crd("RayCluster", slim=True)


def template(container: str, image: str) -> JsonObject:
    resources = {"limits": {"cpu": "1", "memory": "2Gi"}}
    return {"spec": {"containers": [{"name": container, "image": image, "resources": resources}]}}


def group(name: str = "g", replicas: int = 1, *, image: str = "ray:1", **fields: Any) -> JsonObject:
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {},
        "template": template("ray-worker", image),
        **fields,
    }


def cluster(
    name: str, *groups: JsonObject, annotations: dict[str, str] | None = None, image: str = "ray:1", **spec: Any
) -> JsonObject:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "labels": {"team": "red"}, "annotations": {"note": "mine", **(annotations or {})}},
        "spec": {
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template("ray-head", image)},
            "workerGroupSpecs": list(groups),
            **spec,
        },
    }


def bare_cluster(number: int) -> JsonObject:
    """A spec without something that it may leave out; the last one's is refused for it."""
    name = ("bare", "bare", "bare", "bare-refused")[number]
    tree = cluster(name, group("g", 1))
    spec = tree["spec"]
    match number:
        case 0:
            del spec["workerGroupSpecs"]
        case 1:
            del spec["workerGroupSpecs"][0]["replicas"]
        case 2:
            del spec["headGroupSpec"]["rayStartParams"]
        case _:
            spec["workerGroupSpecs"][0]["template"] = {}
    return tree


def cluster_with_ingress(name: str, *groups: JsonObject) -> JsonObject:
    tree = cluster(name, *groups)
    tree["spec"]["headGroupSpec"]["enableIngress"] = True
    return tree


def foreign_pod(name: str, of_cluster: str, of_group: str) -> JsonObject:
    """Somebody's own Pod that wears a cluster's labels: labels are not ownership."""
    labels = {
        "ray.io/cluster": of_cluster,
        "ray.io/group": of_group,
        "ray.io/node-type": "worker",
        "ray.io/is-ray-node": "yes",
    }
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **template("mine", "busybox")}


def set_image(tree: JsonObject, image: str) -> None:
    spec = tree["spec"]
    templates = [spec["headGroupSpec"]["template"], *(each["template"] for each in spec["workerGroupSpecs"])]
    for found in templates:
        found["spec"]["containers"][0]["image"] = image
