"""Places in a worker group: which indices are free, the Pod that takes one, and what to tell when some stay empty."""

from collections.abc import Iterable, Iterator
from itertools import count

from heliostat.api.markers import JsonObject
from heliostat.kube.plan import Create, Wait
from heliostat.kube.pods import PodView
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import soonest
from heliostat.plan.raycluster.pod_context import PodContext
from heliostat.plan.raycluster.pod_health import (
    SHORTEST_LIFE,
    WORKER_PATIENCE,
    seconds_until_replaced,
    seconds_until_stuck,
    why_unhealthy,
)
from heliostat.plan.raycluster.reports import report_worker_create

# A limit on everything: the rest of a big group comes in the next passes.
MAX_NEW_PODS = 1000


def free_indices(used: Iterable[int | None]) -> Iterator[int]:
    """The smallest indices that nobody has, without end."""
    taken = set(used)
    return (index for index in count() if index not in taken)


def create_worker(pod: JsonObject, context: PodContext) -> Create:
    metadata = pod["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']}"
    return Create(pod, Because.SCALE_UP, report_worker_create(place, context.place))


def tell_batch(group: str, later: int) -> list[Wait]:
    if later <= 0:
        return []
    return [Wait(Hold.BATCH, f"{later} more Pods of group {group} are to come", "the Pods of this pass are made")]


def tell_autoscaler_chooses(group: str, surplus: int) -> Wait:
    message = f"group {group} has {surplus} more than asked for, and the autoscaler chooses which ones go"
    return Wait(Hold.AUTOSCALER_CHOOSES, message, "scaleStrategy.workersToDelete names them")


def tell_leaving(group: str, leaving: list[PodView]) -> list[Wait]:
    if not leaving:
        return []
    names = ", ".join(pod.name for pod in leaving[:3]) + (", …" if len(leaving) > 3 else "")
    message = f"{len(leaving)} terminating Pods of group {group} keep their places: {names}"
    return [Wait(Hold.TERMINATING, message, f"they are gone, or {WORKER_PATIENCE:.0f} s after their grace period")]


def tell_ended_at_once(pods: list[PodView]) -> tuple[Wait, ...]:
    """One wait for all of them: they mostly end for the same reason."""
    if not pods:
        return ()
    first, others = pods[0], f", and so did {len(pods) - 1} more" if len(pods) > 1 else ""
    words = ": ".join(text for text in (first.reason, first.message) if text)
    why = f"{why_unhealthy(first)} ({words})" if words else why_unhealthy(first)
    until = f"it is {SHORTEST_LIFE:.0f} s old; then it is replaced"
    return (Wait(Hold.ENDED_AT_ONCE, f"Pod {first.name} ended right after it was made: {why}{others}", until),)


def wake_when_due(pods: Iterable[PodView], now: float) -> float | None:
    """When the first of these ended Pods is replaced."""
    return soonest(seconds_until_replaced(pod, now) for pod in pods)


def wake_when_stuck(leaving: Iterable[PodView], now: float, patience: float = WORKER_PATIENCE) -> float | None:
    """When the next of these stops keeping its place, should it still be there; who is stuck changes nothing more."""
    return soonest(left for pod in leaving if (left := seconds_until_stuck(pod, now, patience)) > 0)
