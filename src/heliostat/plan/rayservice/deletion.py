"""Before a RayService may go, its clusters have to be gone (rayservice.md §2, steps 5 and 6)."""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.rayservice import RayService
from heliostat.plan.draft import NOTHING, Draft, Part
from heliostat.plan.itself import Finalizer
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.reasons import Because
from heliostat.plan.rayservice.unused import are_clusters_gone, delete_clusters

FINALIZER = "ray.io/rayservice-finalizer"
_PLEDGE = Finalizer("RayService", FINALIZER)


def has_finalizer(metadata: ObjectMeta) -> bool:
    return _PLEDGE.is_on(metadata)


def plan_finalizer(service: RayService) -> Part:
    if has_finalizer(service.metadata):
        return NOTHING
    return Part(actions=(_PLEDGE.put_on(service.metadata, Because.PLEDGED, _spell_out(service)),))


def _spell_out(service: RayService) -> JsonObject:
    """KubeRay: rayservice.md §14, its finalizer is an update of the whole object, which spells out what is empty.

    That makes another generation, once; its own tests ask for the generation that follows.
    """
    if "metadata" in service.spec.ray_cluster_config.head_group_spec.template:
        return {}
    return {"spec": {"rayClusterConfig": {"headGroupSpec": {"template": {"metadata": {}}}}}}


def plan_deletion(draft: Draft, observed: ObservedService) -> None:
    if not has_finalizer(observed.service.metadata):
        return
    draft.add("clusters", delete_clusters(observed, Because.DELETED))
    if are_clusters_gone(observed):
        draft.add("finalizer", release(observed.service.metadata))


def release(metadata: ObjectMeta) -> Part:
    """It may go, as far as we are concerned."""
    if not has_finalizer(metadata):
        return NOTHING
    return Part(actions=(_PLEDGE.take_off(metadata, Because.DELETED),))
