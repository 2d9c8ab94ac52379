"""Head and worker Pods in two phases (raycluster.md §7).

Phase one turns a group's template into a Pod template: labels, parameters, sidecars, storage, authentication. Phase
two (``_finish``) is the same for both node types: shared memory, logs, command, environment, probes. The steps run
in KubeRay's order, because the order of environment variables, mounts and containers is visible to users.

The result has no name and no indices yet: ``stamp_head`` and ``stamp_worker`` make a Pod of it without copying the
spec.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import HeadGroupSpec, WorkerGroupSpec
from heliostat.desired import labels
from heliostat.desired.auth import add_token_volume, authenticate
from heliostat.desired.containers import find_container
from heliostat.desired.names import head_pod_fixed_name
from heliostat.desired.owners import owner_reference
from heliostat.desired.ports import add_metrics_port
from heliostat.desired.raycluster import gcs_fault_tolerance
from heliostat.desired.raycluster.autoscaler import AUTOSCALER_CONTAINER, add_autoscaler, forbid_worker_restart
from heliostat.desired.raycluster.collector import COLLECTOR_CONTAINER, add_collector
from heliostat.desired.raycluster.context import BuildContext
from heliostat.desired.raycluster.environment import add_init_container_env, add_ray_env
from heliostat.desired.raycluster.model import DesiredCluster, DesiredGroup
from heliostat.desired.raycluster.probes import add_probes
from heliostat.desired.raycluster.resources import apply_group_labels, apply_group_resources, complete_resource_params
from heliostat.desired.raycluster.start_command import complete_start_params, format_ray_start, set_container_command
from heliostat.desired.raycluster.tls_pods import add_tls_to_pod
from heliostat.desired.raycluster.volumes import add_shared_memory, share_ray_logs
from heliostat.desired.raycluster.wait_gcs import WAIT_GCS_CONTAINER, build_wait_gcs
from heliostat.kube.jsontree import copy_tree


def build_head_template(context: BuildContext) -> JsonObject:
    head = context.spec.head_group_spec
    pod = _start_pod(context, head, labels.HEAD, labels.HEAD_GROUP)
    if context.settings.deterministic_head_name:
        pod["metadata"]["name"] = head_pod_fixed_name(context.name)
    params = _start_params(context, head, labels.HEAD)
    add_autoscaler(pod["spec"], params, context)
    gcs_fault_tolerance.configure_head(pod, params, context)
    _add_shared_features(pod, context, labels.HEAD, context.settings.head_sidecar_containers)
    _finish(pod, context, labels.HEAD, params)
    return pod


def build_worker_template(context: BuildContext, group: WorkerGroupSpec) -> JsonObject:
    pod = _start_pod(context, group, labels.WORKER, group.group_name)
    pod["metadata"].pop("name", None)
    spec = pod["spec"]
    if context.settings.inject_init_container:
        wait = build_wait_gcs(spec["containers"][0], context)
        spec["initContainers"] = [*(spec.get("initContainers") or []), wait]
    params = _start_params(context, group, labels.WORKER)
    gcs_fault_tolerance.configure_worker(spec["containers"][0], context)
    forbid_worker_restart(spec, context)
    _add_shared_features(pod, context, labels.WORKER, context.settings.worker_sidecar_containers)
    _finish(pod, context, labels.WORKER, params)
    return pod


def _start_pod(context: BuildContext, group: HeadGroupSpec | WorkerGroupSpec, node_type: str, name: str) -> JsonObject:
    template = copy_tree(group.template)
    metadata = template.get("metadata") or {}
    metadata["namespace"] = context.namespace
    metadata["labels"] = labels.build_pod_labels(context.name, node_type, name, metadata.get("labels"), group.labels)
    metadata["annotations"] = metadata.get("annotations") or {}
    if context.annotations.get(labels.OVERWRITE_COMMAND, "").lower() == "true":
        metadata["annotations"][labels.OVERWRITE_COMMAND] = "true"
    metadata["ownerReferences"] = [owner_reference(context.cluster)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _start_params(context: BuildContext, group: HeadGroupSpec | WorkerGroupSpec, node_type: str) -> dict[str, str]:
    params = dict(group.ray_start_params or {})
    apply_group_resources(params, group.resources)
    apply_group_labels(params, group.labels)
    complete_start_params(params, context, node_type)
    return params


def _add_shared_features(
    pod: JsonObject, context: BuildContext, node_type: str, sidecars: tuple[JsonObject, ...]
) -> None:
    spec = pod["spec"]
    add_metrics_port(spec["containers"][0])
    _add_authentication(spec, context)
    add_tls_to_pod(spec, context, node_type, WAIT_GCS_CONTAINER)
    add_collector(spec, context, node_type)
    spec["containers"] += copy_tree(list(sidecars))
    metadata = pod["metadata"]
    metadata["annotations"] = {**context.settings.default_pod_annotations, **metadata["annotations"]}
    metadata["labels"] = {**context.settings.default_pod_labels, **metadata["labels"]}


def _add_authentication(spec: JsonObject, context: BuildContext) -> None:
    authenticate(spec["containers"][0], context.spec, context.name)
    wait = find_container(spec.get("initContainers"), WAIT_GCS_CONTAINER)
    if wait is not None:
        authenticate(wait, context.spec, context.name)
    add_token_volume(spec, context.spec)


def _finish(pod: JsonObject, context: BuildContext, node_type: str, params: dict[str, str]) -> None:
    spec, metadata = pod["spec"], pod["metadata"]
    ray = spec["containers"][0]
    if context.creator == "RayService":
        # The RayService controller moves the head in and out of traffic; workers always take part.
        metadata["labels"][labels.SERVE] = "false" if node_type == labels.HEAD else "true"
    add_shared_memory(spec, params)
    if node_type == labels.HEAD and context.is_autoscaling:
        autoscaler = find_container(spec["containers"], AUTOSCALER_CONTAINER)
        share_ray_logs(spec, ray, *([autoscaler] if autoscaler else []))
    collector = find_container(spec["containers"], COLLECTOR_CONTAINER)
    if collector is not None and context.settings.gate("RayClusterHistoryServer"):
        share_ray_logs(spec, ray, collector)
    complete_resource_params(params, ray)
    ray_start = format_ray_start(node_type, params)
    overwrite = metadata["annotations"].get(labels.OVERWRITE_COMMAND, "").lower() == "true"
    set_container_command(ray, context, ray_start, overwrite=overwrite)
    add_init_container_env(spec, context)
    add_ray_env(spec, context, node_type, ray_start)
    if context.settings.inject_probes:
        add_probes(ray, context, node_type, params)


def stamp_head(desired: DesiredCluster, suffix: str) -> JsonObject:
    metadata = desired.head_template["metadata"]
    name = metadata.get("name") or desired.head_name_prefix + suffix
    return {**desired.head_template, "metadata": {"name": name, **metadata}}


def stamp_worker(
    group: DesiredGroup,
    suffix: str,
    replica_index: int | None,
    host_index: int | None = None,
    replica_name: str | None = None,
) -> JsonObject:
    """A worker Pod. Only multi-host groups have a host index and a replica name."""
    metadata = group.template["metadata"]
    indices = {
        labels.REPLICA_INDEX: replica_index,
        labels.REPLICA_NAME: replica_name,
        labels.HOST_INDEX: host_index,
    }
    pod_labels = metadata["labels"] | {key: str(value) for key, value in indices.items() if value is not None}
    return {
        **group.template,
        "metadata": {"name": group.name_prefix + suffix, **metadata, "labels": pod_labels},
    }
