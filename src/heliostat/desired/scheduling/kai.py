"""KAI: its own grouper makes the PodGroups; Pods only name their queue."""

from heliostat.api.markers import JsonObject
from heliostat.desired.raycluster.context import BuildContext

_QUEUE = "kai.scheduler/queue"


def mark_pod(pod: JsonObject, context: BuildContext, _group: str) -> None:
    pod["spec"]["schedulerName"] = "kai-scheduler"
    if context.labels.get(_QUEUE):
        pod["metadata"]["labels"][_QUEUE] = context.labels[_QUEUE]
