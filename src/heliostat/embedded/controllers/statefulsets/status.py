"""The status of a StatefulSet: how many Pods there are, how they are, and of which revision."""

from collections import Counter
from collections.abc import Iterable

from heliostat.embedded.controllers.statefulsets.identity import REVISION_LABEL, name_revision
from heliostat.embedded.controllers.statefulsets.steps import is_healthy
from heliostat.embedded.controllers.trees import tree_of
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.statefulsets import StatefulSet, StatefulSetStatus
from heliostat.kube.jsontree import JsonObject


def decide_status(owner: StatefulSet, pods: Iterable[Pod], now: float) -> StatefulSetStatus:
    there = list(pods)
    staying = [pod for pod in there if not pod.metadata.is_terminating]
    update = name_revision(owner)
    current = owner.status.current_revision or update
    counts = Counter(pod.metadata.labels.get(REVISION_LABEL) for pod in staying)
    ready = sum(pod.is_ready for pod in there)
    if _is_complete(owner, len(there), ready, counts[update]):
        current = update
    return StatefulSetStatus(
        replicas=len(there),
        ready_replicas=ready,
        available_replicas=sum(is_healthy(owner, pod, now) for pod in there),
        current_replicas=counts[current],
        updated_replicas=counts[update],
        current_revision=current,
        update_revision=update,
        observed_generation=owner.metadata.generation,
    )


def _is_complete(owner: StatefulSet, there: int, ready: int, updated: int) -> bool:
    """Whether a rolling update is over: then the new revision is the current one."""
    is_rolling = owner.spec.update_strategy.type == "RollingUpdate"
    return is_rolling and {there, ready, updated} == {owner.spec.replicas}


def build_status_tree(status: StatefulSetStatus) -> JsonObject:
    """As the API has it: three counters are shown also when they are zero."""
    tree: JsonObject = {"replicas": 0, "availableReplicas": 0, "collisionCount": 0, **tree_of(status)}
    return tree
