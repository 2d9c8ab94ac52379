"""A view of a cluster in which some kinds were not read: unknown, with the reason, and never "there is none"."""

from collections.abc import Mapping

from msgspec.structs import replace

from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import KindName, ListedObjects
from heliostat.plan.raycluster.observed import ObservedCluster

POD = "Pod"
RAY_CLUSTER = "RayCluster.ray.io"


def hide_unread(observed: ObservedCluster, unread: Mapping[KindName, str]) -> ObservedCluster:
    """``unread``: each kind with the reason why nothing is known of it."""
    hidden = {kind: Unknown(why) for kind, why in unread.items()}
    kinds = observed.objects.kinds if isinstance(observed.objects, ListedObjects) else {}
    return replace(observed, objects=ListedObjects({**kinds, **hidden}), pods=hidden.get(POD, observed.pods))
