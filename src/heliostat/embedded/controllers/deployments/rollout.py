"""The next step from the old ReplicaSets to the new one, as new sizes.

RollingUpdate grows the new one as far as the surge allows, otherwise shrinks the old ones as far as enough replicas
stay available: first by those that are not available anyway. Recreate shrinks all old ones to nothing, waits until the
last of their Pods is gone, and only then grows the new one.
"""

from collections.abc import Callable, Iterable

from heliostat.embedded.controllers.deployments.bounds import Bounds
from heliostat.embedded.controllers.deployments.generations import Generations
from heliostat.embedded.controllers.deployments.scaling import Sizes
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.replicasets import ReplicaSet


def decide_rolling_step(sets: Generations, bounds: Bounds) -> Sizes:
    """Nothing: there is no step left, or it has to wait for Pods to become available."""
    new = sets.new
    if new is None:
        return {}
    size = decide_new_size(new.spec.replicas, sets.wanted_replicas, bounds)
    return {new.metadata.uid: size} if size != new.spec.replicas else _shrink_old(sets, new, bounds)


def decide_new_size(size: int, wanted_replicas: int, bounds: Bounds) -> int:
    """How large the new ReplicaSet may be, next to ``wanted_replicas`` of all of them."""
    if size >= bounds.replicas:
        return bounds.replicas
    room = max(0, bounds.most - wanted_replicas)
    return size + min(room, bounds.replicas - size)


def _shrink_old(sets: Generations, new: ReplicaSet, bounds: Bounds) -> Sizes:
    not_yet_available = new.spec.replicas - new.status.available_replicas
    removable = sets.wanted_replicas - bounds.least_available - not_yet_available
    if removable <= 0:
        return {}
    unhealthy = _take(sets.active_old, removable, _unavailable_of)
    if unhealthy:
        return unhealthy
    available = sum(replica_set.status.available_replicas for replica_set in (*sets.active_old, new))
    return _take(sets.active_old, available - bounds.least_available, lambda found: found.spec.replicas)


def _unavailable_of(replica_set: ReplicaSet) -> int:
    return max(0, replica_set.spec.replicas - replica_set.status.available_replicas)


def _take(old: Iterable[ReplicaSet], count: int, most_of: Callable[[ReplicaSet], int]) -> Sizes:
    """Sizes after taking ``count`` replicas away, oldest first, of each at most what ``most_of`` says."""
    sizes: Sizes = {}
    for replica_set in old:
        taken = min(count, most_of(replica_set))
        if taken > 0:
            sizes[replica_set.metadata.uid] = replica_set.spec.replicas - taken
            count -= taken
    return sizes


def decide_recreate_step(sets: Generations) -> Sizes:
    """Before anything else the old ones go."""
    return {replica_set.metadata.uid: 0 for replica_set in sets.active_old}


def has_old_pods(sets: Generations, pods_of: Callable[[str], Iterable[Pod]]) -> bool:
    """A Pod that is being deleted still runs; one that is over does not."""
    if any(replica_set.status.replicas for replica_set in sets.old):
        return True
    return any(not pod.is_over for replica_set in sets.old for pod in pods_of(replica_set.metadata.uid))
