"""The coscheduling plugin: a PodGroup named like the cluster, made once, when the gang label is there (any value)."""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.raycluster.context import BuildContext, build_owned
from heliostat.desired.raycluster.resources import format_quantities
from heliostat.desired.raycluster.sizes import desired_resources, desired_workers

_POD_GROUP = "scheduling.x-k8s.io/pod-group"


def build_objects(context: BuildContext) -> tuple[JsonObject, ...]:
    if labels.GANG_SCHEDULING not in context.labels:
        return ()
    group = build_owned(context, "scheduling.x-k8s.io/v1alpha1", "PodGroup", context.name, {})
    del group["metadata"]["labels"]
    owner = group["metadata"]["ownerReferences"][0]
    del owner["controller"], owner["blockOwnerDeletion"]  # KubeRay: a plain owner (R13-5)
    group["spec"] = {
        "minMember": desired_workers(context.spec) + 1,
        "minResources": format_quantities(desired_resources(context.spec)),
    }
    return (group,)


def mark_pod(pod: JsonObject, context: BuildContext, _group: str) -> None:
    if labels.GANG_SCHEDULING in context.labels:
        pod["metadata"]["labels"][_POD_GROUP] = context.name
    pod["spec"]["schedulerName"] = "scheduler-plugins-scheduler"
