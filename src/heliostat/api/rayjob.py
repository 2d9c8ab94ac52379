"""RayJob, ``ray.io/v1``: the typed view of its spec and status.

As with RayCluster, the structs hold what decisions are made from; the submitter's Pod template stays JSON.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType, field

from heliostat.api.markers import Default, Int32, Int64, ListType, PodTemplate, Rule, Schema, Time
from heliostat.api.raycluster import ManagedBy, ObjectMeta, RayClusterSpec, RayClusterStatus

DeletionPolicyType = Literal["DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"]


class DeletionPolicy(Struct, rename="camel", frozen=True, kw_only=True):
    """What the older ``onSuccess`` and ``onFailure`` hold."""

    policy: DeletionPolicyType | None = None


class DeletionCondition(Struct, rename="camel", frozen=True, kw_only=True):
    job_status: Literal["SUCCEEDED", "FAILED"] | None = None
    job_deployment_status: Literal["Failed"] | None = None
    ttl_seconds: Annotated[Int32, Default(0), Schema(minimum=0)] | None = None


class DeletionRule(Struct, rename="camel", frozen=True, kw_only=True):
    policy: DeletionPolicyType
    condition: Annotated[
        DeletionCondition,
        Rule(
            "!(has(self.jobStatus) && has(self.jobDeploymentStatus))",
            "JobStatus and JobDeploymentStatus cannot be used together within the same deletion condition.",
        ),
        Rule(
            "has(self.jobStatus) || has(self.jobDeploymentStatus)",
            "the deletion condition requires either the JobStatus or the JobDeploymentStatus field.",
        ),
    ]


class DeletionStrategy(Struct, rename="camel", frozen=True, kw_only=True):
    on_success: DeletionPolicy | None = None
    on_failure: DeletionPolicy | None = None
    deletion_rules: Annotated[list[DeletionRule], ListType("atomic"), Schema(min_items=1)] | None = None


class SubmitterConfig(Struct, rename="camel", frozen=True, kw_only=True):
    backoff_limit: Int32 | None = None


class RayJobSpec(Struct, rename="camel", frozen=True, kw_only=True):
    entrypoint: str | None = None
    active_deadline_seconds: Int32 | None = None
    pre_running_deadline_seconds: Annotated[Int32, Schema(minimum=1)] | None = None
    backoff_limit: Annotated[Int32, Default(0)] | None = None
    ray_cluster_spec: RayClusterSpec | None = None
    submitter_pod_template: PodTemplate | None = None
    metadata: dict[str, str] | None = None
    cluster_selector: dict[str, str] | None = None
    submitter_config: SubmitterConfig | None = None
    managed_by: ManagedBy | None = None
    deletion_strategy: (
        Annotated[
            DeletionStrategy,
            Rule(
                "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",
                "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together within the same"
                " deletionStrategy",
            ),
            Rule(
                "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))",
                "deletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field"
                " (cannot be empty)",
            ),
        ]
        | None
    ) = None
    runtime_env_yaml: str | None = field(default=None, name="runtimeEnvYAML")
    job_id: str | None = None
    submission_mode: Annotated[str, Default("K8sJobMode")] | None = None
    entrypoint_resources: str | None = None
    entrypoint_num_cpus: float | None = None
    entrypoint_num_gpus: float | None = None
    ttl_seconds_after_finished: Annotated[Int32, Default(0)] | None = None
    shutdown_after_job_finishes: bool | None = None
    suspend: bool | None = None


class RayJobInfo(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """When Ray itself says the job ran."""

    start_time: Time | None = None
    end_time: Time | None = None


class RayJobStatus(Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    ray_job_info: RayJobInfo | None = None
    job_id: str | None = None
    ray_cluster_name: str | None = None
    dashboard_url: str | None = field(default=None, name="dashboardURL")
    job_status: str | None = None
    job_deployment_status: str | None = None
    job_status_check_failure_start_time: Time | None = None
    reason: str | None = None
    message: str | None = None
    start_time: Time | None = None
    end_time: Time | None = None
    succeeded: Annotated[Int32, Default(0)] | None = None
    failed: Annotated[Int32, Default(0)] | None = None
    ray_cluster_status: RayClusterStatus | None = None
    observed_generation: Int64 | None = None


class RayJob(Struct, rename="camel", frozen=True, kw_only=True):
    api_version: str
    kind: Literal["RayJob"]
    metadata: ObjectMeta
    spec: RayJobSpec
    status: RayJobStatus | UnsetType = UNSET
