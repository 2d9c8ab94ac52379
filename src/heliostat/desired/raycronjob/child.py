"""The RayJob that a RayCronJob makes at a tick (raycronjob.md §3).

Its name follows from the RayCronJob's name and the minute of the tick, so a create that is repeated collides with the
first one: one child for each tick, whatever crashes.
"""

from heliostat.api.markers import JsonObject
from heliostat.kube.jsontree import copy_tree
from heliostat.kube.owners import build_controller_reference
from heliostat.kube.timestamps import format_timestamp

CRON_NAME = "ray.io/cronjob-name"
SCHEDULED = "ray.io/cronjob-scheduled-timestamp"


def child_name(cron: str, tick: float) -> str:
    """KubeRay: ticks of ``@every`` within one minute share a name, and so one RayJob."""
    return f"{cron}-{int(tick) // 60}"


def build_child_job(cron: JsonObject, tick: float) -> JsonObject:
    """``cron`` is the RayCronJob as the API server keeps it: the template is copied from there."""
    metadata = cron["metadata"]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": child_name(metadata["name"], tick),
            "namespace": metadata.get("namespace", ""),
            "labels": {CRON_NAME: metadata["name"]},
            "annotations": {SCHEDULED: format_timestamp(tick)},
            "ownerReferences": [build_controller_reference(cron)],
        },
        "spec": copy_tree(cron["spec"]["jobTemplate"]),
    }
