"""Environment variables of the Ray container, in the order KubeRay appends them (constants.md §6.3, rows 12–32)."""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.containers import append_env, append_env_if_absent, env, field_env, find_container
from heliostat.desired.raycluster.collector import COLLECTOR_CONTAINER, event_export_env
from heliostat.desired.raycluster.context import BuildContext

_RAY_SERVICE_ENV = (
    env("RAY_timeout_ms_task_wait_for_death_info", "0"),
    env("RAY_gcs_server_request_timeout_seconds", "5"),
    env("RAY_SERVE_KV_TIMEOUT_S", "5"),
)


def head_address_env(fqdn: str) -> tuple[JsonObject, JsonObject]:
    return env("FQ_RAY_IP", fqdn), env("RAY_IP", fqdn.split(".", 1)[0])


def add_init_container_env(pod_spec: JsonObject, context: BuildContext) -> None:
    for container in pod_spec.get("initContainers") or []:
        append_env(container, *head_address_env(context.fqdn))


def add_ray_env(pod_spec: JsonObject, context: BuildContext, node_type: str, ray_start: str) -> None:
    container = pod_spec["containers"][0]
    append_env_if_absent(container, *context.settings.default_container_envs)
    if node_type == labels.WORKER:
        append_env(container, *head_address_env(context.fqdn))
    append_env(
        container,
        field_env("RAY_CLUSTER_NAME", f"metadata.labels['{labels.CLUSTER}']"),
        field_env("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
        field_env("RAY_CLOUD_INSTANCE_ID", "metadata.name"),
        field_env("RAY_NODE_TYPE_NAME", f"metadata.labels['{labels.GROUP}']"),
        env("KUBERAY_GEN_RAY_START_CMD", ray_start),
    )
    append_env_if_absent(container, env("RAY_PORT", context.gcs_port))
    if context.creator == "RayService":
        append_env_if_absent(container, *_RAY_SERVICE_ENV)
    gcs_host = "127.0.0.1" if node_type == labels.HEAD else context.fqdn
    append_env_if_absent(
        container,
        env("RAY_ADDRESS", f"{gcs_host}:{context.gcs_port}"),
        env("RAY_USAGE_STATS_KUBERAY_IN_USE", "1"),
    )
    if node_type == labels.HEAD:
        tags = f"kuberay_version={context.settings.operator_version};kuberay_crd={context.creator}"
        append_env(container, env("RAY_USAGE_STATS_EXTRA_TAGS", tags))
    append_env_if_absent(container, env("RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1"))
    if context.settings.gate("RayClusterHistoryServer") and find_container(pod_spec["containers"], COLLECTOR_CONTAINER):
        append_env_if_absent(container, *event_export_env())
