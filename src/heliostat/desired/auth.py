"""Token authentication: the Secret, and what containers need to use it (raycluster.md §4.4, §7.7)."""

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.desired import labels
from heliostat.desired.containers import add_mount, add_volume_once, append_env_if_absent, env, has_mount_named
from heliostat.desired.names import check_name
from heliostat.desired.raycluster.context import BuildContext, build_owned
from heliostat.kube.plan import Random

TOKEN_KEY = "auth_token"  # noqa: S105 - the name of a key
_TOKEN_VOLUME = "ray-token"  # noqa: S105 - the name of a volume
_TOKEN_BYTES = 32


def build_auth_secret(context: BuildContext) -> JsonObject | None:
    options = context.spec.auth_options
    # KubeRay: only "disabled" is excluded, so authOptions without a mode still get a Secret (§4.4).
    if options is None or options.mode == "disabled" or options.secret_name or options.enable_k8s_token_auth:
        return None
    secret = build_owned(context, "v1", "Secret", check_name(context.name), {labels.CLUSTER: context.name})
    secret["stringData"] = {TOKEN_KEY: Random(_TOKEN_BYTES)}
    return secret


def authenticate(container: JsonObject, spec: RayClusterSpec, cluster_name: str) -> None:
    """Give one container the token, or the way to it; the Pod's volume is ``add_token_volume``'s work."""
    if not features.is_token_auth(spec) or spec.auth_options is None:
        return
    append_env_if_absent(container, env("RAY_AUTH_MODE", "token"))
    if features.is_k8s_token_auth(spec):
        append_env_if_absent(container, env("RAY_ENABLE_K8S_TOKEN_AUTH", "true"))
        if not has_mount_named(container, _TOKEN_VOLUME):
            path = "/var/run/secrets/ray.io/serviceaccount"
            add_mount(container, {"name": _TOKEN_VOLUME, "mountPath": path, "readOnly": True})
        return
    secret = spec.auth_options.secret_name or check_name(cluster_name)
    reference = {"secretKeyRef": {"name": secret, "key": TOKEN_KEY}}
    append_env_if_absent(container, {"name": "RAY_AUTH_TOKEN", "valueFrom": reference})


def add_token_volume(pod_spec: JsonObject, spec: RayClusterSpec) -> None:
    if features.is_k8s_token_auth(spec):
        source = {"serviceAccountToken": {"path": "token"}}
        add_volume_once(pod_spec, {"name": _TOKEN_VOLUME, "projected": {"sources": [source]}})
