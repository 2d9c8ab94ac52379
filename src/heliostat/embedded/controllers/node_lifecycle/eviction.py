"""Whether a Pod must leave its node because of NoExecute taints, and when.

It may stay as long as its tolerations say, counted from the moment the taint was put on; without a toleration it must
go at once. The real one counts from when it noticed the taint, which a restart forgets.
"""

from msgspec import Struct

from heliostat.embedded.controllers.taints import FOREVER, NO_EXECUTE, seconds_to_stay
from heliostat.embedded.controllers.views.nodes import Node, Taint
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.timestamps import parse_timestamp

DISRUPTION_TARGET = "DisruptionTarget"


class Stay(Struct, frozen=True):
    """``seconds``: until it must go; None: it may stay for good."""

    seconds: float | None = None


class Leave(Struct, frozen=True):
    pass


def decide_eviction(pod: Pod, node: Node, now: float) -> Stay | Leave:
    taints = no_execute_taints(node)
    if not taints or _is_leaving(pod):
        return Stay()
    limit = seconds_to_stay(taints, pod.spec.tolerations)
    if limit == FOREVER:
        return Stay()
    left = _put_on(taints, now) + limit - now
    return Stay(left) if left > 0 and limit > 0 else Leave()


def _is_leaving(pod: Pod) -> bool:
    """It was told to go and why; one that is going for another reason is still told."""
    return pod.metadata.is_terminating and any(found.type == DISRUPTION_TARGET for found in pod.status.conditions)


def no_execute_taints(node: Node) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.spec.taints if taint.effect == NO_EXECUTE)


def _put_on(taints: tuple[Taint, ...], now: float) -> float:
    """When the first of them came; taints that people put on need not say so."""
    return min((parse_timestamp(taint.time_added) for taint in taints if taint.time_added), default=now)
