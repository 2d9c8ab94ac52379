"""Before a RayService may go, its clusters have to be gone (rayservice.md §2, steps 5 and 6)."""

from heliostat.api.raycluster import ObjectMeta
from heliostat.api.rayservice import RayService
from heliostat.kube.plan import Patch, Ref
from heliostat.plan.draft import NOTHING, Draft, Part
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.reasons import Because
from heliostat.plan.rayservice.unused import are_clusters_gone, delete_clusters

FINALIZER = "ray.io/rayservice-finalizer"


def has_finalizer(metadata: ObjectMeta) -> bool:
    return FINALIZER in (metadata.finalizers or ())


def plan_finalizer(service: RayService) -> Part:
    if has_finalizer(service.metadata):
        return NOTHING
    return _set_finalizers(service, [*(service.metadata.finalizers or ()), FINALIZER], Because.PLEDGED)


def plan_deletion(draft: Draft, observed: ObservedService) -> None:
    if not has_finalizer(observed.service.metadata):
        return
    draft.add("clusters", delete_clusters(observed, Because.DELETED))
    if are_clusters_gone(observed):
        others = [name for name in observed.service.metadata.finalizers or () if name != FINALIZER]
        draft.add("finalizer", _set_finalizers(observed.service, others, Because.DELETED))


def _set_finalizers(service: RayService, finalizers: list[str], because: Because) -> Part:
    metadata = service.metadata
    ref = Ref("ray.io/v1", "RayService", metadata.namespace, metadata.name)
    changes = {"metadata": {"finalizers": finalizers or None}}
    return Part(actions=(Patch(ref, metadata.uid, metadata.resource_version, changes, because),))
