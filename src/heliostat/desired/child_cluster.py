"""What RayJob and RayService have alike: a RayCluster of their own, and a Service at the head of the one in use.

The cluster is built from trees: what the owner's spec says about it is copied as it stands, unknown fields included.
The Service stays when the owner moves on to another cluster: its selector follows, and its address does not change.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.names import check_label
from heliostat.desired.owners import owner_reference
from heliostat.desired.raycluster.services import build_head_service_spec
from heliostat.kube.jsontree import copy_tree
from heliostat.kube.owners import build_controller_reference


def start_child_cluster(owner: JsonObject, name: str, kind: str, spec: JsonObject) -> JsonObject:
    metadata = owner["metadata"]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": name,
            "namespace": metadata.get("namespace", ""),
            "labels": {**(metadata.get("labels") or {}), **origin_labels(metadata["name"], kind)},
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [build_controller_reference({**owner, "apiVersion": "ray.io/v1", "kind": kind})],
        },
        "spec": copy_tree(spec),
    }


def build_head_service_of(
    owner: RayJob | RayService, name: str, cluster: str, spec: RayClusterSpec, settings: Settings
) -> JsonObject:
    """``spec`` is the one that the cluster has."""
    metadata: JsonObject = {
        "name": name,
        "namespace": owner.metadata.namespace,
        "labels": {
            **origin_labels(owner.metadata.name, owner.kind),
            labels.NODE_TYPE: labels.HEAD,
            labels.IDENTIFIER: check_label(f"{owner.metadata.name}-{labels.HEAD}"),
        },
        "ownerReferences": [owner_reference(owner)],
    }
    # KubeRay: rayjob.md §9, rayservice.md §9, of the user's Service the annotations are kept; headServiceAnnotations
    # are not used.
    users = (spec.head_group_spec.head_service or {}).get("metadata") or {}
    if users.get("annotations"):
        metadata["annotations"] = dict(users["annotations"])
    selector = labels.head_service_labels(cluster, None)  # KubeRay: labels of the head's template are not followed
    built = build_head_service_spec(spec, settings) | {"selector": selector}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": built}


def origin_labels(owner: str, kind: str) -> dict[str, str]:
    return {labels.ORIGIN_NAME: owner, labels.ORIGIN_KIND: kind}
