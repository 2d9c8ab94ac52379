"""New sizes for the ReplicaSets of a Deployment whose own size changed, or that is paused.

Rules: a single ReplicaSet with replicas gets them all, the newest one if none has any; next to a new one that is
complete the old ones go; amid a rolling update every ReplicaSet grows or shrinks by its share, largest first, and the
rounding is settled by the largest.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from heliostat.embedded.controllers.deployments.bounds import Bounds, bounds_of
from heliostat.embedded.controllers.deployments.generations import Generations, by_age
from heliostat.embedded.controllers.deployments.revisions import DESIRED, MOST, noted_size
from heliostat.embedded.controllers.views.deployments import Deployment
from heliostat.embedded.controllers.views.replicasets import ReplicaSet

Sizes = dict[str, int]  # by UID


def is_scaled(deployment: Deployment, sets: Generations) -> bool:
    """The Deployment has another size than its ReplicaSets were told."""
    noted = (noted_size(replica_set, DESIRED) for replica_set in sets.active)
    return any(size is not None and size != deployment.spec.replicas for size in noted)


def decide_sizes(deployment: Deployment, sets: Generations) -> Sizes:
    replicas = deployment.spec.replicas
    only = _find_only(sets)
    if only is not None:
        return {only.metadata.uid: replicas} if only.spec.replicas != replicas else {}
    if sets.new is not None and _is_saturated(deployment, sets.new):
        return {replica_set.metadata.uid: 0 for replica_set in sets.active_old}
    if deployment.spec.strategy.type == "RollingUpdate":
        return _share_out(sets.active, bounds_of(deployment), deployment.status.replicas)
    return {}


def _find_only(sets: Generations) -> ReplicaSet | None:
    """The one with replicas; if none has any, the newest; None if there are several or none at all."""
    if len(sets.active) == 1:
        return sets.active[0]
    if sets.active:
        return None
    return sets.new or max(sets.old, key=by_age, default=None)


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    replicas = deployment.spec.replicas
    return new.spec.replicas == new.status.available_replicas == noted_size(new, DESIRED) == replicas


def _share_out(active: Sequence[ReplicaSet], bounds: Bounds, known_replicas: int) -> Sizes:
    wanted = bounds.most if bounds.replicas > 0 else 0
    to_add = wanted - sum(replica_set.spec.replicas for replica_set in active)
    ordered = _largest_first(active, newer_first=to_add > 0)
    sizes: Sizes = {}
    added = 0
    for replica_set in ordered:
        share = _share_of(replica_set, bounds, known_replicas, to_add - added) if to_add != 0 else 0
        sizes[replica_set.metadata.uid] = replica_set.spec.replicas + share
        added += share
    if ordered and to_add != added:
        largest = ordered[0].metadata.uid
        sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def _largest_first(active: Sequence[ReplicaSet], *, newer_first: bool) -> list[ReplicaSet]:
    by_preference = sorted(active, key=by_age, reverse=newer_first)
    return sorted(by_preference, key=lambda replica_set: -replica_set.spec.replicas)


def _share_of(replica_set: ReplicaSet, bounds: Bounds, known_replicas: int, left: int) -> int:
    """How much of what is ``left`` to add (or, if negative, to remove) this one takes."""
    if left == 0:
        return 0
    fraction = _fraction_of(replica_set, bounds, known_replicas)
    return min(fraction, left) if left > 0 else max(fraction, left)


def _fraction_of(replica_set: ReplicaSet, bounds: Bounds, known_replicas: int) -> int:
    size = replica_set.spec.replicas
    if bounds.replicas == 0:
        return -size
    before = noted_size(replica_set, MOST) or known_replicas
    return _round_half_up(Fraction(size * bounds.most, before)) - size if before else 0


def _round_half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))
