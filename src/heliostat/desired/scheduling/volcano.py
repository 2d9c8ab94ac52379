"""Volcano: a PodGroup for every cluster, no opting in. A RayJob's cluster joins the PodGroup of its job."""

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.raycluster.context import BuildContext, build_owned
from heliostat.desired.raycluster.resources import format_quantities, pod_requests, sum_quantities
from heliostat.desired.raycluster.sizes import desired_resources, desired_workers, min_resources, min_workers
from heliostat.desired.slots import Impossible
from heliostat.kube.counts import read_whole

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
    group = build_pod_group(context, pod_group_name(context))
    return group if isinstance(group, Impossible) else (group,)


def build_pod_group(context: BuildContext, name: str, beside: tuple[JsonObject, ...] = ()) -> JsonObject | Impossible:
    """``beside`` are templates of Pods whose resources count while they are no members."""
    autoscaling = features.is_autoscaling(context.spec)
    workers = min_workers(context.spec) if autoscaling else desired_workers(context.spec)
    resources = min_resources(context.spec) if autoscaling else desired_resources(context.spec)
    extra = (term for template in beside for term in pod_requests(template))
    group = build_owned(context, "scheduling.volcano.sh/v1beta1", "PodGroup", name, {})
    del group["metadata"]["labels"]
    if context.annotations:
        group["metadata"]["annotations"] = dict(context.annotations)
    total = sum_quantities([*resources.items(), *extra])
    group["spec"] = {"minMember": workers + 1, "minResources": format_quantities(total)}
    for field, label in (("queue", _QUEUE), ("priorityClassName", labels.PRIORITY_CLASS)):
        if context.labels.get(label):
            group["spec"][field] = context.labels[label]
    if _TOPOLOGY_MODE in context.labels:
        topology = _network_topology(context)
        if isinstance(topology, Impossible):
            return topology
        group["spec"]["networkTopology"] = topology
    return group


def _network_topology(context: BuildContext) -> JsonObject | Impossible:
    topology: JsonObject = {"mode": context.labels[_TOPOLOGY_MODE]}
    text = context.labels.get(_TOPOLOGY_TIER)
    if text is not None:
        tier = read_whole(text)
        if tier is None:
            return Impossible(f"the label {_TOPOLOGY_TIER} must be an integer, got {text!r}")
        topology["highestTierAllowed"] = tier
    return topology


def mark_pod(pod: JsonObject, context: BuildContext, group: str) -> None:
    mark_pod_of(pod, context.labels, pod_group_name(context), group)


def mark_pod_of(pod: JsonObject, parent_labels: dict[str, str], pod_group: str, group: str) -> None:
    metadata = pod["metadata"]
    for label in (_QUEUE, labels.PRIORITY_CLASS):
        if parent_labels.get(label):
            metadata.setdefault("labels", {})[label] = parent_labels[label]
    annotations = metadata.setdefault("annotations", {})
    annotations["scheduling.k8s.io/group-name"] = pod_group
    annotations["volcano.sh/task-spec"] = group
    pod["spec"]["schedulerName"] = "volcano"
