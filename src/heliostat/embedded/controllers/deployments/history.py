"""Which old ReplicaSets are no longer kept: all but the newest ``revisionHistoryLimit``.

Only those without replicas, and only once their own controller has seen that they should have none.
"""

from collections.abc import Iterable

from heliostat.embedded.controllers.deployments.generations import by_age
from heliostat.embedded.controllers.deployments.revisions import revision_of
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET, ReplicaSet
from heliostat.kube.plan import Delete, Ref

_KEEP_ALL = 2**31 - 1


def plan_cleanup(old: Iterable[ReplicaSet], limit: int | None) -> tuple[Delete, ...]:
    if limit is None or limit == _KEEP_ALL:
        return ()
    alive = [replica_set for replica_set in old if not replica_set.metadata.is_terminating]
    alive.sort(key=lambda replica_set: (revision_of(replica_set) or 0, *by_age(replica_set)))
    too_old = alive[: max(0, len(alive) - limit)]
    return tuple(_delete(replica_set, limit) for replica_set in too_old if _is_empty(replica_set))


def _is_empty(replica_set: ReplicaSet) -> bool:
    status = replica_set.status
    has_settled = replica_set.metadata.generation <= status.observed_generation
    return replica_set.spec.replicas == 0 and status.replicas == 0 and has_settled


def _delete(replica_set: ReplicaSet, limit: int) -> Delete:
    metadata = replica_set.metadata
    ref = Ref(REPLICA_SET.api_version, REPLICA_SET.kind, metadata.namespace, metadata.name)
    return Delete(ref, metadata.uid, f"only {limit} old revisions are kept")
