"""The shell of a RayCluster that another ray.io object makes and controls.

Works on trees: what the owner's spec says about the cluster is copied as it stands, unknown fields included.
"""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.kube.jsontree import copy_tree


def start_child_cluster(owner: JsonObject, name: str, kind: str, spec: JsonObject) -> JsonObject:
    metadata = owner["metadata"]
    origin = {labels.ORIGIN_NAME: metadata["name"], labels.ORIGIN_KIND: kind}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": name,
            "namespace": metadata.get("namespace", ""),
            "labels": {**(metadata.get("labels") or {}), **origin},
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [
                {
                    "apiVersion": "ray.io/v1",
                    "kind": kind,
                    "name": metadata["name"],
                    "uid": metadata.get("uid", ""),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": copy_tree(spec),
    }
