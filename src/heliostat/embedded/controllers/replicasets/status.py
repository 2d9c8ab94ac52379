"""The status of a ReplicaSet: how many Pods it has, and of them how many are ready and how many available.

Available is who has been ready for ``minReadySeconds``. The ReplicaFailure condition shows the first failure of a row,
and goes with the first attempt that has none.
"""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.failures import Failure
from heliostat.embedded.controllers.trees import tree_of
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.replicasets import ReplicaSet, ReplicaSetStatus
from heliostat.embedded.controllers.views.workload_conditions import (
    Conditions,
    WorkloadCondition,
    find_condition,
    put_condition,
    remove_condition,
)
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp, moment_of

REPLICA_FAILURE = "ReplicaFailure"
FAILED_CREATE = "FailedCreate"
FAILED_DELETE = "FailedDelete"


def decide_status(owner: ReplicaSet, active: Sequence[Pod], failure: Failure | None, now: float) -> ReplicaSetStatus:
    labels = ((owner.spec.template.get("metadata") or {}).get("labels") or {}).items()
    ready = [pod for pod in active if pod.is_ready]
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(labels <= pod.metadata.labels.items() for pod in active),
        ready_replicas=len(ready),
        available_replicas=sum(seconds_to_available(pod, owner.spec.min_ready_seconds, now) == 0 for pod in ready),
        observed_generation=owner.metadata.generation,
        conditions=_decide_conditions(owner.status.conditions, failure, now),
    )


def seconds_to_available(pod: Pod, min_ready_seconds: int, now: float) -> float | None:
    """0: available now; None: nobody can say, because it is not ready or not known since when."""
    ready = next((found for found in pod.status.conditions if found.type == "Ready"), None)
    if ready is None or ready.status != "True":
        return None
    if min_ready_seconds <= 0:
        return 0.0
    since = moment_of(ready.last_transition_time)
    return None if since is None else max(0.0, since + min_ready_seconds - now)


def decide_wake(pods: Iterable[Pod], min_ready_seconds: int, now: float) -> float | None:
    """When the next ready Pod becomes available."""
    remaining = [seconds_to_available(pod, min_ready_seconds, now) for pod in pods]
    return min((seconds for seconds in remaining if seconds), default=None)


def _decide_conditions(old: Conditions, failure: Failure | None, now: float) -> Conditions:
    if failure is None or failure.tag not in (FAILED_CREATE, FAILED_DELETE):
        return remove_condition(old, REPLICA_FAILURE)
    if find_condition(old, REPLICA_FAILURE) is not None:
        return old
    message = failure.message if failure.tag == FAILED_CREATE else f"unable to delete pods: {failure.message}"
    shown = WorkloadCondition(REPLICA_FAILURE, "True", None, format_timestamp(now), reason=failure.tag, message=message)
    return put_condition(old, shown)


def build_status_tree(status: ReplicaSetStatus) -> JsonObject:
    """As the API has it: zeros are left out, but for the number of replicas."""
    tree: JsonObject = {"replicas": 0, **tree_of(status)}
    return tree
