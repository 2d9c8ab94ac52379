"""Taints of nodes and tolerations of Pods: who is turned away, who may stay, and for how long.

A toleration without a key tolerates every key, one without an effect every effect; its operator is Equal or Exists.
"""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.views.nodes import Taint
from heliostat.embedded.controllers.views.pods import Toleration

NO_SCHEDULE, NO_EXECUTE, PREFER_NO_SCHEDULE = "NoSchedule", "NoExecute", "PreferNoSchedule"
FOREVER = float("inf")


def is_tolerated_by(taint: Taint, toleration: Toleration) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(is_tolerated_by(taint, toleration) for toleration in tolerations)


def keeps_away(taints: Sequence[Taint], tolerations: Iterable[Toleration]) -> bool:
    """A taint with NoSchedule or NoExecute is not tolerated."""
    return any(taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not is_tolerated(taint, tolerations) for taint in taints)


def count_unwelcome(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> int:
    """How many PreferNoSchedule taints are not tolerated."""
    soft = [toleration for toleration in tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)]
    return sum(taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, soft) for taint in taints)


def seconds_to_stay(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float:
    """How long a Pod may stay beside these NoExecute taints: 0 when one is not tolerated, else the shortest time."""
    shortest = FOREVER
    for taint in taints:
        matching = [toleration for toleration in tolerations if is_tolerated_by(taint, toleration)]
        if not matching:
            return 0.0
        limits = [found.toleration_seconds for found in matching if found.toleration_seconds is not None]
        shortest = min([shortest, *(max(0.0, float(limit)) for limit in limits)])
    return shortest
