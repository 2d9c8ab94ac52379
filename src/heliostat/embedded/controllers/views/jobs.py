"""Jobs as their controllers see them; the Pod template stays a tree.

The status is here as a whole, because it is written as a whole: what is empty is left out of the JSON, and counts that
the API always shows (``ready``, ``terminating``) are None until the controller has looked for the first time.
"""

from typing import Any

from msgspec import Struct, field

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

JOB = ResourceType("batch/v1", "Job", "jobs")


class OnExitCodes(Struct, frozen=True, rename="camel"):
    operator: str = ""  # In or NotIn
    values: tuple[int, ...] = ()
    container_name: str | None = None


class OnPodCondition(Struct, frozen=True):
    type: str
    status: str = "True"


class FailureRule(Struct, frozen=True, rename="camel"):
    action: str
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: tuple[OnPodCondition, ...] | None = None


class FailurePolicy(Struct, frozen=True):
    rules: tuple[FailureRule, ...] = ()


class SuccessRule(Struct, frozen=True, rename="camel"):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Struct, frozen=True):
    rules: tuple[SuccessRule, ...] = ()


class JobSpec(Struct, frozen=True, rename="camel"):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    pod_failure_policy: FailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    managed_by: str | None = None
    selector: dict[str, Any] | None = None
    template: dict[str, Any] = {}


class JobCondition(Struct, frozen=True, rename="camel", omit_defaults=True):
    type: str
    status: str
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class Uncounted(Struct, frozen=True, omit_defaults=True):
    """UIDs of Pods that are over and on their way into the counts."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    conditions: tuple[JobCondition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    ready: int | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted: Uncounted | None = field(default=None, name="uncountedTerminatedPods")


class Job(Object, frozen=True, rename="camel"):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def parallelism(self) -> int:
        return 1 if self.spec.parallelism is None else self.spec.parallelism

    @property
    def backoff_limit(self) -> int:
        return 6 if self.spec.backoff_limit is None else self.spec.backoff_limit

    @property
    def is_indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def indexes(self) -> int:
        """An Indexed Job has the indexes 0 up to this, exclusive; the API insists on completions there."""
        return self.spec.completions or 0

    @property
    def counts_per_index(self) -> bool:
        return self.is_indexed and self.spec.backoff_limit_per_index is not None

    @property
    def is_suspended(self) -> bool:
        return bool(self.spec.suspend)

    @property
    def is_managed_elsewhere(self) -> bool:
        return self.spec.managed_by not in (None, "kubernetes.io/job-controller")

    @property
    def replaces_only_failed(self) -> bool:
        """A Pod that was asked to go is replaced, and counted, once it is over and not before."""
        return self.spec.pod_replacement_policy == "Failed" or self.spec.pod_failure_policy is not None

    @property
    def end(self) -> JobCondition | None:
        """The condition that says it is over, Complete or Failed."""
        ends = (found for found in self.status.conditions if found.type in ("Complete", "Failed"))
        return next((found for found in ends if found.status == "True"), None)


JOBS: CachedKind[Job] = CachedKind(JOB, Job)
