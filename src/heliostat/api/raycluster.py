"""RayCluster, ``ray.io/v1``: the typed view of its spec and status.

The structs hold the fields that decisions are made from. Pod templates and other core objects stay JSON, exactly as the
user wrote them; unknown fields live on in the document's tree (``heliostat.api.documents``), not here.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType, field

from heliostat.api.markers import (
    Conditions,
    Default,
    EnvFrom,
    EnvVars,
    EnvVarSource,
    IngressTls,
    Int32,
    Int64,
    JsonObject,
    ListMap,
    NetworkPolicyEgressRules,
    NetworkPolicyIngressRules,
    PodTemplate,
    Quantity,
    Required,
    ResourceRequirements,
    Rule,
    Schema,
    SecurityContext,
    Service,
    Time,
    VolumeMounts,
)

ManagedBy = Annotated[
    str,
    Rule("self == oldSelf", "the managedBy field is immutable"),
    Rule(
        "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
        "the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'",
    ),
]


class AuthOptions(Struct, rename="camel", frozen=True, kw_only=True):
    mode: Literal["disabled", "token"] | None = None
    secret_name: str | None = None
    enable_k8s_token_auth: bool | None = field(default=None, name="enableK8sTokenAuth")


class AutoscalerOptions(Struct, rename="camel", frozen=True, kw_only=True):
    version: Literal["v1", "v2"] | None = None
    upscaling_mode: Literal["Default", "Aggressive", "Conservative"] | None = None
    idle_timeout_seconds: Int32 | None = None
    image: str | None = None
    image_pull_policy: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: EnvVars | None = None
    env_from: EnvFrom | None = None
    volume_mounts: VolumeMounts | None = None
    resources: ResourceRequirements | None = None
    security_context: SecurityContext | None = None


class RedisCredential(Struct, rename="camel", frozen=True, kw_only=True):
    value: str | None = None
    value_from: EnvVarSource | None = None


class GcsStorage(Struct, rename="camel", frozen=True, kw_only=True):
    """Where the embedded (rocksdb) backend keeps its data."""

    claim_name: str | None = None
    size: Quantity | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None
    sub_path: str | None = None
    deletion_policy: Literal["DeleteWithCluster", "Retain"] | None = None


class GcsFaultToleranceOptions(Struct, rename="camel", frozen=True, kw_only=True):
    backend: (
        Annotated[
            Literal["redis", "rocksdb"],
            Rule("self == oldSelf", "gcsFaultToleranceOptions.backend is immutable"),
        ]
        | None
    ) = None
    redis_address: str | None = None
    redis_username: RedisCredential | None = None
    redis_password: RedisCredential | None = None
    external_storage_namespace: str | None = None
    storage: GcsStorage | None = None


class CollectorOptions(Struct, rename="camel", frozen=True, kw_only=True):
    image: str | None = None
    image_pull_policy: str | None = None
    env: EnvVars | None = None
    resources: ResourceRequirements | None = None


class HistoryServerOptions(Struct, rename="camel", frozen=True, kw_only=True):
    collector_options: CollectorOptions | None = None


class NetworkPolicyRules(Struct, rename="camel", frozen=True, kw_only=True):
    ingress_rules: NetworkPolicyIngressRules | None = None
    egress_rules: NetworkPolicyEgressRules | None = None


class NetworkPolicyGroupRules(Struct, rename="camel", frozen=True, kw_only=True):
    group_name: str
    ingress_rules: NetworkPolicyIngressRules | None = None
    egress_rules: NetworkPolicyEgressRules | None = None


class NetworkPolicySpec(Struct, rename="camel", frozen=True, kw_only=True):
    mode: Annotated[Literal["DenyAll", "DenyAllIngress", "DenyAllEgress"], Default("DenyAll")] | None = None
    head: NetworkPolicyRules | None = None
    worker: NetworkPolicyRules | None = None
    worker_groups: Annotated[list[NetworkPolicyGroupRules], ListMap(("groupName",))] | None = None


class TlsOptions(Struct, rename="camel", frozen=True, kw_only=True):
    enabled: bool | None = None


class UpgradeStrategy(Struct, rename="camel", frozen=True, kw_only=True):
    type: Literal["Recreate", "None"] | None = None


class IngressOptions(Struct, rename="camel", frozen=True, kw_only=True):
    host: str | None = None
    path: str | None = None
    path_type: Literal["Exact", "Prefix", "ImplementationSpecific"] | None = None
    tls: IngressTls | None = None


class HeadGroupSpec(Struct, rename="camel", frozen=True, kw_only=True):
    template: PodTemplate
    head_service: Service | None = None
    enable_ingress: bool | None = None
    ingress_options: IngressOptions | None = None
    resources: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    ray_start_params: dict[str, str] | None = None
    service_type: str | None = None


class ScaleStrategy(Struct, rename="camel", frozen=True, kw_only=True):
    workers_to_delete: list[str] | None = None


class WorkerGroupSpec(Struct, rename="camel", frozen=True, kw_only=True):
    group_name: str
    template: PodTemplate
    suspend: bool | None = None
    replicas: Annotated[Int32, Default(0)] | None = None
    min_replicas: Annotated[Int32, Default(0), Required()] | None = None
    max_replicas: Annotated[Int32, Default(2147483647), Required()] | None = None
    idle_timeout_seconds: Int32 | None = None
    priority: Annotated[Int32, Default(0)] | None = None
    resources: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    ray_start_params: dict[str, str] | None = None
    scale_strategy: ScaleStrategy | None = None
    num_of_hosts: Annotated[Int32, Default(1)] | None = None


class RayClusterSpec(Struct, rename="camel", frozen=True, kw_only=True):
    head_group_spec: HeadGroupSpec
    worker_group_specs: list[WorkerGroupSpec] | None = None
    ray_version: str | None = None
    upgrade_strategy: UpgradeStrategy | None = None
    auth_options: AuthOptions | None = None
    suspend: bool | None = None
    managed_by: ManagedBy | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    head_service_annotations: dict[str, str] | None = None
    gcs_fault_tolerance_options: GcsFaultToleranceOptions | None = None
    history_server_options: HistoryServerOptions | None = None
    network_policy: NetworkPolicySpec | None = None
    tls_options: TlsOptions | None = None


class HeadInfo(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    pod_ip: str | None = field(default=None, name="podIP")
    pod_name: str | None = None
    service_ip: str | None = field(default=None, name="serviceIP")
    service_name: str | None = None


class RayClusterStatus(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    state: str | None = None
    desired_cpu: Quantity | None = field(default=None, name="desiredCPU")
    desired_memory: Quantity | None = None
    desired_gpu: Quantity | None = field(default=None, name="desiredGPU")
    desired_tpu: Quantity | None = field(default=None, name="desiredTPU")
    last_update_time: Annotated[Time, Schema(nullable=True)] | None = None
    state_transition_times: dict[str, Time] | None = None
    endpoints: dict[str, str] | None = None
    head: HeadInfo | None = None
    reason: str | None = None
    conditions: Conditions | None = None
    ready_worker_replicas: Int32 | None = None
    available_worker_replicas: Int32 | None = None
    desired_worker_replicas: Int32 | None = None
    min_worker_replicas: Int32 | None = None
    max_worker_replicas: Int32 | None = None
    observed_generation: Int64 | None = None


class ObjectMeta(Struct, rename="camel", frozen=True, kw_only=True):
    """The part of ``metadata`` that decisions read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[JsonObject] | None = None


class RayCluster(Struct, rename="camel", frozen=True, kw_only=True):
    api_version: str
    kind: Literal["RayCluster"]
    metadata: ObjectMeta
    spec: RayClusterSpec
    status: RayClusterStatus | UnsetType = UNSET
