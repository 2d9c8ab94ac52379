"""The autoscaler sidecar of the head, and what its version means for Pods (raycluster.md §7.6)."""

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import AutoscalerOptions
from heliostat.desired import labels
from heliostat.desired.auth import authenticate
from heliostat.desired.containers import append_env, env, field_env, fixed_resources
from heliostat.desired.names import check_name
from heliostat.desired.raycluster.context import BuildContext
from heliostat.desired.raycluster.start_command import bash_command
from heliostat.desired.raycluster.tls_pods import use_tls

AUTOSCALER_CONTAINER = "autoscaler"

_START = "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"


def service_account_name(context: BuildContext) -> str:
    template = context.spec.head_group_spec.template
    return (template.get("spec") or {}).get("serviceAccountName") or context.name


def add_autoscaler(pod_spec: JsonObject, params: dict[str, str], context: BuildContext) -> None:
    if not context.is_autoscaling:
        return
    params["no-monitor"] = "true"  # the sidecar monitors instead
    pod_spec["serviceAccountName"] = check_name(service_account_name(context))
    ray = pod_spec["containers"][0]
    version = features.autoscaler_version(context.spec)
    if version is not None:
        append_env(ray, env("RAY_enable_autoscaler_v2", "true" if version == "v2" else "false"))
    if version == "v2":
        pod_spec["restartPolicy"] = "Never"
    pod_spec["containers"].append(_build_container(ray, context))


def forbid_worker_restart(pod_spec: JsonObject, context: BuildContext) -> None:
    """Autoscaler v2 replaces a node that died; a container that comes back under the same id would confuse it."""
    if context.is_autoscaling and features.autoscaler_version(context.spec) == "v2":
        pod_spec["restartPolicy"] = "Never"


def _build_container(ray: JsonObject, context: BuildContext) -> JsonObject:
    container: JsonObject = {
        "name": AUTOSCALER_CONTAINER,
        "image": ray.get("image", ""),
        "imagePullPolicy": "IfNotPresent",
        "env": [
            field_env("RAY_CLUSTER_NAME", f"metadata.labels['{labels.CLUSTER}']"),
            field_env("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
            field_env("RAY_HEAD_POD_NAME", "metadata.name"),
            env("KUBERAY_CRD_VER", "v1"),
            env("KUBERAY_GEN_AUTOSCALER_START_CMD", _START),
        ],
        "command": bash_command(context),
        "args": [_START],
        "resources": fixed_resources("500m", "512Mi"),
    }
    authenticate(container, context.spec, context.name)
    if context.is_tls:
        use_tls(container)
    if context.spec.autoscaler_options is not None:
        _apply_options(container, context.spec.autoscaler_options)
    return container


def _apply_options(container: JsonObject, options: AutoscalerOptions) -> None:
    replacements = {
        "resources": options.resources,
        "image": options.image,
        "imagePullPolicy": options.image_pull_policy,
        "securityContext": options.security_context,
    }
    container |= {key: value for key, value in replacements.items() if value is not None}
    container |= {key: value for key, value in (("command", options.command), ("args", options.args)) if value}
    for key, extra in (("env", options.env), ("envFrom", options.env_from), ("volumeMounts", options.volume_mounts)):
        if extra:
            container[key] = [*(container.get(key) or []), *extra]
