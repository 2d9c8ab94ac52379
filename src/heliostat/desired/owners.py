"""The owner reference that ray.io objects put on what they make: the owner is its controller, and is deleted last."""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.kube.owners import build_controller_reference


def owner_reference(owner: RayCluster | RayJob | RayService) -> JsonObject:
    identity = {"name": owner.metadata.name, "uid": owner.metadata.uid}
    return build_controller_reference({"apiVersion": "ray.io/v1", "kind": owner.kind, "metadata": identity})
