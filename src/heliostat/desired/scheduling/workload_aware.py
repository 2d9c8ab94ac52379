"""Kubernetes' own workload-aware scheduling: a Workload and a PodGroup, one gang with the head in it (R13-6)."""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.raycluster.context import BuildContext, build_owned
from heliostat.desired.raycluster.sizes import desired_workers

_API = "scheduling.k8s.io/v1alpha2"
_TEMPLATE = "cluster"


def pod_group_name(cluster: str) -> str:
    return f"{cluster}-{_TEMPLATE}"


def _is_gang(context: BuildContext) -> bool:
    return context.labels.get(labels.GANG_SCHEDULING, "").lower() == "true" and not context.is_autoscaling


def build_objects(context: BuildContext) -> tuple[JsonObject, ...]:
    if not _is_gang(context):
        return ()
    gang = {"gang": {"minCount": desired_workers(context.spec) + 1}}
    workload = build_owned(context, _API, "Workload", context.name, {labels.CLUSTER: context.name})
    workload["spec"] = {
        "controllerRef": {"apiGroup": "ray.io", "kind": "RayCluster", "name": context.name},
        "podGroupTemplates": [{"name": _TEMPLATE, "schedulingPolicy": gang}],
    }
    group = build_owned(context, _API, "PodGroup", pod_group_name(context.name), {labels.CLUSTER: context.name})
    reference = {"workloadName": context.name, "podGroupTemplateName": _TEMPLATE}
    group["spec"] = {"podGroupTemplateRef": {"workload": reference}, "schedulingPolicy": dict(gang)}
    return workload, group


def mark_pod(pod: JsonObject, context: BuildContext, _group: str) -> None:
    if _is_gang(context):
        pod["spec"]["schedulerName"] = "default-scheduler"
        pod["spec"]["schedulingGroup"] = {"podGroupName": pod_group_name(context.name)}
