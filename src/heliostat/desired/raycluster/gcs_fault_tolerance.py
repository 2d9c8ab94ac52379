"""GCS fault tolerance on Pods: Redis (by annotation or by options) or embedded storage (raycluster.md §7.5)."""

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import GcsFaultToleranceOptions, RedisCredential
from heliostat.desired import labels
from heliostat.desired.containers import add_mount, append_env, append_env_if_absent, env
from heliostat.desired.names import gcs_claim_name
from heliostat.desired.raycluster.context import BuildContext

_RECONNECT_TIMEOUT = env("RAY_gcs_rpc_server_reconnect_timeout_s", "600")
_STORAGE_VOLUME = "gcs-storage"
_STORAGE_PATH = "/data/gcs"


def configure_head(pod: JsonObject, params: dict[str, str], context: BuildContext) -> None:
    enabled = features.is_gcs_ft_enabled(context.spec, context.annotations)
    pod["metadata"]["annotations"][labels.FT_ENABLED] = "true" if enabled else "false"
    if not enabled:
        return
    if features.is_gcs_ft_embedded(context.spec):
        _use_embedded_storage(pod["spec"], context)
    else:
        _use_redis(pod, params, context)


def configure_worker(container: JsonObject, context: BuildContext) -> None:
    if features.is_gcs_ft_enabled(context.spec, context.annotations):
        append_env_if_absent(container, _RECONNECT_TIMEOUT)


def storage_namespace(context: BuildContext) -> str:
    """Where in Redis this cluster keeps its state: the options win over the annotation, which wins over the UID."""
    options = features.gcs_ft_options(context.spec)
    if options and options.external_storage_namespace:
        return options.external_storage_namespace
    return context.annotations.get(labels.STORAGE_NAMESPACE, context.cluster.metadata.uid)


def _use_redis(pod: JsonObject, params: dict[str, str], context: BuildContext) -> None:
    container = pod["spec"]["containers"][0]
    namespace = storage_namespace(context)
    pod["metadata"]["annotations"][labels.STORAGE_NAMESPACE] = namespace
    append_env_if_absent(container, env("RAY_external_storage_namespace", namespace))
    options = features.gcs_ft_options(context.spec)
    if options is not None:
        _use_redis_options(container, params, options)
    elif params.get("redis-password"):
        append_env_if_absent(container, env("REDIS_PASSWORD", params["redis-password"]))


def _use_redis_options(container: JsonObject, params: dict[str, str], options: GcsFaultToleranceOptions) -> None:
    append_env(container, env("RAY_REDIS_ADDRESS", options.redis_address or ""))
    if options.redis_username is not None:
        append_env(container, _credential("REDIS_USERNAME", options.redis_username))
        params["redis-username"] = "$REDIS_USERNAME"
    if options.redis_password is not None:
        append_env(container, _credential("REDIS_PASSWORD", options.redis_password))
        params["redis-password"] = "$REDIS_PASSWORD"


def _credential(name: str, credential: RedisCredential) -> JsonObject:
    variable: JsonObject = {"name": name}
    if credential.value:
        variable["value"] = credential.value
    if credential.value_from is not None:
        variable["valueFrom"] = credential.value_from
    return variable


def _use_embedded_storage(pod_spec: JsonObject, context: BuildContext) -> None:
    container = pod_spec["containers"][0]
    append_env_if_absent(container, env("RAY_gcs_storage", "rocksdb"), env("RAY_gcs_storage_path", _STORAGE_PATH))
    options = features.gcs_ft_options(context.spec)
    storage = options.storage if options else None
    mount: JsonObject = {"name": _STORAGE_VOLUME, "mountPath": _STORAGE_PATH}
    if storage and storage.sub_path:
        mount["subPath"] = storage.sub_path
    add_mount(container, mount)
    claim = (storage and storage.claim_name) or gcs_claim_name(context.name)
    volume = {"name": _STORAGE_VOLUME, "persistentVolumeClaim": {"claimName": claim}}
    pod_spec["volumes"] = [*(pod_spec.get("volumes") or []), volume]
