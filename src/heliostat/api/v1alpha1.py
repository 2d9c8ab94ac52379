"""``ray.io/v1alpha1``: the frozen, deprecated shape of spec and status of RayCluster, RayJob and RayService.

These structs describe the version's own schema and nothing else: an accepted v1alpha1 document is read with the v1
structs, because every v1alpha1 field means the same in v1 and conversion between the two changes only ``apiVersion``.
"""

from typing import Annotated, Literal

from msgspec import Struct, field

from heliostat.api.markers import (
    Default,
    EnvFrom,
    EnvVars,
    Int32,
    Int64,
    PodTemplate,
    Quantity,
    Required,
    ResourceRequirements,
    Schema,
    SecurityContext,
    Service,
    Time,
    VolumeMounts,
)
from heliostat.api.raycluster import ScaleStrategy


class AutoscalerOptions(Struct, rename="camel", frozen=True, kw_only=True):
    upscaling_mode: Literal["Default", "Aggressive", "Conservative"] | None = None
    idle_timeout_seconds: Int32 | None = None
    image: str | None = None
    image_pull_policy: str | None = None
    env: EnvVars | None = None
    env_from: EnvFrom | None = None
    volume_mounts: VolumeMounts | None = None
    resources: ResourceRequirements | None = None
    security_context: SecurityContext | None = None


class HeadGroupSpec(Struct, rename="camel", frozen=True, kw_only=True):
    template: PodTemplate
    ray_start_params: dict[str, str]
    head_service: Service | None = None
    enable_ingress: bool | None = None
    service_type: str | None = None


class WorkerGroupSpec(Struct, rename="camel", frozen=True, kw_only=True):
    group_name: str
    template: PodTemplate
    ray_start_params: dict[str, str]
    replicas: Annotated[Int32, Default(0)] | None = None
    min_replicas: Annotated[Int32, Default(0), Required()] | None = None
    max_replicas: Annotated[Int32, Default(2147483647), Required()] | None = None
    scale_strategy: ScaleStrategy | None = None


class RayClusterSpec(Struct, rename="camel", frozen=True, kw_only=True):
    head_group_spec: HeadGroupSpec
    worker_group_specs: list[WorkerGroupSpec] | None = None
    ray_version: str | None = None
    suspend: bool | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    head_service_annotations: dict[str, str] | None = None


class HeadInfo(Struct, rename="camel", frozen=True, kw_only=True):
    pod_ip: str | None = field(default=None, name="podIP")
    service_ip: str | None = field(default=None, name="serviceIP")


class RayClusterStatus(Struct, rename="camel", frozen=True, kw_only=True):
    state: str | None = None
    desired_cpu: Quantity | None = field(default=None, name="desiredCPU")
    desired_memory: Quantity | None = None
    desired_gpu: Quantity | None = field(default=None, name="desiredGPU")
    desired_tpu: Quantity | None = field(default=None, name="desiredTPU")
    last_update_time: Annotated[Time, Schema(nullable=True)] | None = None
    endpoints: dict[str, str] | None = None
    head: HeadInfo | None = None
    reason: str | None = None
    ready_worker_replicas: Int32 | None = None
    available_worker_replicas: Int32 | None = None
    desired_worker_replicas: Int32 | None = None
    min_worker_replicas: Int32 | None = None
    max_worker_replicas: Int32 | None = None
    observed_generation: Int64 | None = None


class RayJobSpec(Struct, rename="camel", frozen=True, kw_only=True):
    entrypoint: str
    ray_cluster_spec: RayClusterSpec | None = None
    submitter_pod_template: PodTemplate | None = None
    metadata: dict[str, str] | None = None
    cluster_selector: dict[str, str] | None = None
    runtime_env_yaml: str | None = field(default=None, name="runtimeEnvYAML")
    job_id: str | None = None
    entrypoint_resources: str | None = None
    entrypoint_num_cpus: float | None = None
    entrypoint_num_gpus: float | None = None
    ttl_seconds_after_finished: Annotated[Int32, Default(0)] | None = None
    shutdown_after_job_finishes: bool | None = None
    suspend: bool | None = None


class RayJobStatus(Struct, rename="camel", frozen=True, kw_only=True):
    job_id: str | None = None
    ray_cluster_name: str | None = None
    dashboard_url: str | None = field(default=None, name="dashboardURL")
    job_status: str | None = None
    job_deployment_status: str | None = None
    message: str | None = None
    start_time: Time | None = None
    end_time: Time | None = None
    ray_cluster_status: RayClusterStatus | None = None
    observed_generation: Int64 | None = None


class ServeDeploymentStatus(Struct, rename="camel", frozen=True, kw_only=True):
    status: str | None = None
    message: str | None = None
    health_last_update_time: Time | None = None


class ApplicationStatus(Struct, rename="camel", frozen=True, kw_only=True):
    status: str | None = None
    message: str | None = None
    health_last_update_time: Time | None = None
    serve_deployment_statuses: dict[str, ServeDeploymentStatus] | None = None


class ServingClusterStatus(Struct, rename="camel", frozen=True, kw_only=True):
    ray_cluster_name: str | None = None
    ray_cluster_status: RayClusterStatus | None = None
    application_statuses: dict[str, ApplicationStatus] | None = None


class RayServiceSpec(Struct, rename="camel", frozen=True, kw_only=True):
    ray_cluster_config: RayClusterSpec | None = None
    service_unhealthy_second_threshold: Int32 | None = None
    deployment_unhealthy_second_threshold: Int32 | None = None
    serve_service: Service | None = None
    serve_config_v2: str | None = None


class RayServiceStatus(Struct, rename="camel", frozen=True, kw_only=True):
    last_update_time: Time | None = None
    service_status: str | None = None
    active_service_status: ServingClusterStatus | None = None
    pending_service_status: ServingClusterStatus | None = None
    observed_generation: Int64 | None = None
