"""RayService, ``ray.io/v1``: the typed view of its spec and status.

``serveConfigV2`` is a YAML text inside the document; it is carried as text and read where applications are compared.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from heliostat.api.markers import Conditions, Default, Int32, Int64, Schema, Service, Time
from heliostat.api.raycluster import ManagedBy, ObjectMeta, RayClusterSpec, RayClusterStatus


class ClusterUpgradeOptions(Struct, rename="camel", frozen=True, kw_only=True):
    """How an incremental upgrade moves traffic from the old cluster to the new one."""

    max_surge_percent: Annotated[Int32, Default(100)] | None = None
    step_size_percent: Int32
    interval_seconds: Int32
    gateway_class_name: str


class RayServiceUpgradeStrategy(Struct, rename="camel", frozen=True, kw_only=True):
    type: str | None = None
    cluster_upgrade_options: ClusterUpgradeOptions | None = None


class RayServiceSpec(Struct, rename="camel", frozen=True, kw_only=True):
    ray_cluster_config: RayClusterSpec
    ray_cluster_deletion_delay_seconds: Annotated[Int32, Schema(minimum=0)] | None = None
    service_unhealthy_second_threshold: Int32 | None = None
    deployment_unhealthy_second_threshold: Int32 | None = None
    serve_service: Service | None = None
    upgrade_strategy: RayServiceUpgradeStrategy | None = None
    managed_by: ManagedBy | None = None
    serve_config_v2: str | None = None
    exclude_head_pod_from_serve_svc: bool | None = None
    suspend: bool | None = None


class ServeDeploymentStatus(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    status: str | None = None
    message: str | None = None


class ApplicationStatus(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    status: str | None = None
    message: str | None = None
    serve_deployment_statuses: dict[str, ServeDeploymentStatus] | None = None


class ServingClusterStatus(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """One of the (at most two) clusters behind a service: the active one or the pending one."""

    ray_cluster_name: str | None = None
    ray_cluster_status: RayClusterStatus | None = None
    application_statuses: dict[str, ApplicationStatus] | None = None
    target_capacity: Int32 | None = None
    traffic_routed_percent: Int32 | None = None
    last_traffic_migrated_time: Time | None = None


class RayServiceStatus(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    conditions: Conditions | None = None
    last_update_time: Time | None = None
    service_status: str | None = None
    active_service_status: ServingClusterStatus | None = None
    pending_service_status: ServingClusterStatus | None = None
    num_serve_endpoints: Int32 | None = None
    observed_generation: Int64 | None = None


class RayService(Struct, rename="camel", frozen=True, kw_only=True):
    api_version: str
    kind: Literal["RayService"]
    metadata: ObjectMeta
    spec: RayServiceSpec
    status: RayServiceStatus | UnsetType = UNSET
