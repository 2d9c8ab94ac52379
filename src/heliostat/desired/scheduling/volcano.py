"""Volcano: a PodGroup for every cluster, no opting in. A RayJob's cluster joins the PodGroup of its job."""

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.context import BuildContext, build_owned
from heliostat.desired.model import Impossible
from heliostat.desired.resources import format_quantities
from heliostat.desired.sizes import desired_resources, desired_workers, min_resources, min_workers

_QUEUE = "volcano.sh/queue-name"
_TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
_TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier-allowed"


def _job_name(context: BuildContext) -> str | None:
    return (context.labels.get(labels.ORIGIN_NAME) or None) if context.creator == "RayJob" else None


def pod_group_name(context: BuildContext) -> str:
    return f"ray-{_job_name(context) or context.name}-pg"


def build_objects(context: BuildContext) -> tuple[JsonObject, ...] | Impossible:
    if context.creator == "RayJob":
        return ()
    autoscaling = features.is_autoscaling(context.spec)
    workers = min_workers(context.spec) if autoscaling else desired_workers(context.spec)
    resources = min_resources(context.spec) if autoscaling else desired_resources(context.spec)
    group = build_owned(context, "scheduling.volcano.sh/v1beta1", "PodGroup", pod_group_name(context), {})
    del group["metadata"]["labels"]
    if context.annotations:
        group["metadata"]["annotations"] = dict(context.annotations)
    group["spec"] = {"minMember": workers + 1, "minResources": format_quantities(resources)}
    for field, label in (("queue", _QUEUE), ("priorityClassName", labels.PRIORITY_CLASS)):
        if context.labels.get(label):
            group["spec"][field] = context.labels[label]
    if _TOPOLOGY_MODE in context.labels:
        topology = _network_topology(context)
        if isinstance(topology, Impossible):
            return topology
        group["spec"]["networkTopology"] = topology
    return (group,)


def _network_topology(context: BuildContext) -> JsonObject | Impossible:
    topology: JsonObject = {"mode": context.labels[_TOPOLOGY_MODE]}
    tier = context.labels.get(_TOPOLOGY_TIER)
    if tier is not None:
        try:
            topology["highestTierAllowed"] = int(tier)
        except ValueError:
            return Impossible(f"the label {_TOPOLOGY_TIER} must be an integer, got {tier!r}")
    return topology


def mark_pod(pod: JsonObject, context: BuildContext, group: str) -> None:
    metadata = pod["metadata"]
    for label in (_QUEUE, labels.PRIORITY_CLASS):
        if context.labels.get(label):
            metadata["labels"][label] = context.labels[label]
    metadata["annotations"]["scheduling.k8s.io/group-name"] = pod_group_name(context)
    metadata["annotations"]["volcano.sh/task-spec"] = group
    pod["spec"]["schedulerName"] = "volcano"
