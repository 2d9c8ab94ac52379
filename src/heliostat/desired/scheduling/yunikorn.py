"""Apache YuniKorn: no objects; application, queue and gang are written on the Pods."""

import msgspec

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.desired import labels
from heliostat.desired.raycluster.context import BuildContext
from heliostat.desired.raycluster.resources import format_quantities, pod_requests, sum_quantities
from heliostat.desired.raycluster.sizes import hosts

TASK_GROUPS = "yunikorn.apache.org/task-groups"
TASK_GROUP_NAME = "yunikorn.apache.org/task-group-name"
_TRANSLATED = {"yunikorn.apache.org/app-id": "applicationId", "yunikorn.apache.org/queue": "queue"}


def mark_pod(pod: JsonObject, context: BuildContext, group: str) -> None:
    metadata = pod["metadata"]
    metadata["labels"] |= translated_labels(context.labels)
    pod["spec"]["schedulerName"] = "yunikorn"
    if labels.GANG_SCHEDULING in context.labels:  # any value, even "false" (KubeRay: operator.md §15.3)
        metadata["annotations"][TASK_GROUPS] = context.annotations.get(TASK_GROUPS) or format_task_groups(
            cluster_task_groups(context.spec)
        )
        metadata["annotations"][TASK_GROUP_NAME] = group


def translated_labels(source: dict[str, str]) -> dict[str, str]:
    return {target: source[key] for key, target in _TRANSLATED.items() if source.get(key)}


def cluster_task_groups(spec: RayClusterSpec) -> list[JsonObject]:
    """One entry for the head and one for each group; the gang is always of minimal size."""
    groups = [build_task_group(labels.HEAD_GROUP, spec.head_group_spec.template, 1)]
    for group in spec.worker_group_specs or []:
        members = (group.min_replicas or 0) * hosts(group)
        groups.append(build_task_group(group.group_name, group.template, members))
    return groups


def build_task_group(name: str, template: JsonObject, members: int) -> JsonObject:
    spec = template.get("spec") or {}
    group: JsonObject = {"minResource": format_quantities(sum_quantities(pod_requests(template)))}
    group |= {key: spec[key] for key in ("nodeSelector", "affinity") if spec.get(key)}
    group["name"] = name
    if spec.get("tolerations"):
        group["tolerations"] = spec["tolerations"]
    group["minMember"] = members
    return group


def format_task_groups(groups: list[JsonObject]) -> str:
    return msgspec.json.encode(groups).decode()
