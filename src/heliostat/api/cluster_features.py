"""Small questions about a RayCluster that rules, builders and plans all ask, each answered in one place."""

from typing import Any

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import GcsFaultToleranceOptions, RayCluster, RayClusterSpec
from heliostat.api.settings import Settings

FT_ENABLED_ANNOTATION = "ray.io/ft-enabled"
ORIGIN_KIND_LABEL = "ray.io/originated-from-crd"
MANAGED_BY_OPERATOR = "ray.io/kuberay-operator"


def is_managed_here(managed_by: str | None) -> bool:
    """An empty string is somebody else's (KubeRay: raycluster.md §2.1)."""
    return managed_by is None or managed_by == MANAGED_BY_OPERATOR


def is_managed_elsewhere(spec: Any) -> bool:
    """As far as a spec that does not match the schema can say it."""
    managed_by = spec.get("managedBy") if isinstance(spec, dict) else None
    return isinstance(managed_by, str) and not is_managed_here(managed_by)


def is_autoscaling(spec: RayClusterSpec) -> bool:
    return spec.enable_in_tree_autoscaling is True


def autoscaler_version(spec: RayClusterSpec) -> str | None:
    """The version asked for in autoscalerOptions, whether or not autoscaling is on."""
    return spec.autoscaler_options.version if spec.autoscaler_options else None


def gcs_ft_options(spec: RayClusterSpec) -> GcsFaultToleranceOptions | None:
    return spec.gcs_fault_tolerance_options


def is_gcs_ft_annotated(annotations: dict[str, str] | None) -> bool:
    return (annotations or {}).get(FT_ENABLED_ANNOTATION, "").lower() == "true"


def is_gcs_ft_enabled(spec: RayClusterSpec, annotations: dict[str, str] | None) -> bool:
    return is_gcs_ft_annotated(annotations) or gcs_ft_options(spec) is not None


def is_gcs_ft_embedded(spec: RayClusterSpec) -> bool:
    options = gcs_ft_options(spec)
    return options is not None and options.backend == "rocksdb"


def is_token_auth(spec: RayClusterSpec) -> bool:
    return spec.auth_options is not None and spec.auth_options.mode == "token"


def is_k8s_token_auth(spec: RayClusterSpec) -> bool:
    return is_token_auth(spec) and spec.auth_options is not None and spec.auth_options.enable_k8s_token_auth is True


def is_tls_enabled(spec: RayClusterSpec, settings: Settings) -> bool:
    return settings.gate("RayClusterMTLS") and spec.tls_options is not None and spec.tls_options.enabled is True


def creator_kind(cluster: RayCluster) -> str:
    """Which kind of object made this cluster; an unknown or missing label means a person did."""
    kind = (cluster.metadata.labels or {}).get(ORIGIN_KIND_LABEL, "")
    return kind if kind in ("RayJob", "RayService") else "RayCluster"


def ray_container(template: JsonObject) -> JsonObject:
    """The Ray container is the first one, whatever its name."""
    container: JsonObject = template["spec"]["containers"][0]
    return container
