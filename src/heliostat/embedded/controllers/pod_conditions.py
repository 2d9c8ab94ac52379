"""Conditions of Pods as they are written: with the generation they speak of, and a transition time that only a
changed status moves.

Everything that others said about the Pod stays, in its order.
"""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.views.pods import Pod, PodCondition
from heliostat.kube.plan import JsonObject


def set_conditions(pod: Pod, fresh: Iterable[PodCondition], now: str) -> tuple[PodCondition, ...]:
    """The conditions of the Pod with these in the place of those of their types."""
    known = {condition.type: condition for condition in pod.status.conditions}
    for condition in fresh:
        before = known.get(condition.type)
        is_same = before is not None and before.status == condition.status
        known[condition.type] = PodCondition(
            type=condition.type,
            status=condition.status,
            reason=condition.reason,
            message=condition.message,
            last_transition_time=before.last_transition_time if before is not None and is_same else now,
            observed_generation=pod.metadata.generation or None,
        )
    return tuple(known.values())


def condition_trees(conditions: Sequence[PodCondition]) -> list[JsonObject]:
    return [_tree(condition) for condition in conditions]


def _tree(condition: PodCondition) -> JsonObject:
    tree: JsonObject = {"type": condition.type, "status": condition.status, "lastProbeTime": None}
    if condition.last_transition_time is not None:
        tree["lastTransitionTime"] = condition.last_transition_time
    if condition.observed_generation is not None:
        tree["observedGeneration"] = condition.observed_generation
    texts = {"reason": condition.reason, "message": condition.message}
    return tree | {name: text for name, text in texts.items() if text}
