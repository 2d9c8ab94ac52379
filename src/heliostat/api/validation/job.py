"""Whether a RayJob is accepted: KubeRay's rules in KubeRay's order, all findings.

Metadata, then the spec (the table below), then the status. The rules of the RayCluster inside keep their own ids.
KubeRay: rayjob.md §16.
"""

from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import replace

from heliostat.api.rayjob import RayJob, RayJobSpec
from heliostat.api.settings import Settings
from heliostat.api.validation import object_name
from heliostat.api.validation.cluster import spec_problems
from heliostat.api.validation.job_deletion import deletion_problems
from heliostat.api.validation.job_scope import JOB_SPEC_REASON, SPEC_PREFIX, JobRule, JobScope
from heliostat.api.validation.pod_template import restart_policy
from heliostat.kube.document_error import DocumentError
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem
from heliostat.kube.yaml_value import read_yaml_value

METADATA_REASON, METADATA_PREFIX = "InvalidRayJobMetadata", "The RayJob metadata is invalid: "
STATUS_REASON, STATUS_PREFIX = "InvalidRayJobStatus", "The RayJob status is invalid: "
NAME_LIMIT = 47
CLUSTER_SELECTOR_KEY = "ray.io/cluster"
_GO_MAP = "map[string]interface {}"
_GO_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"), (str, "string"), (list, "array"), (int, "number"), (float, "number"),
)  # fmt: skip


def job_problems(job: RayJob, settings: Settings) -> Iterator[Problem]:
    yield from _metadata_problems(job.metadata.name)
    yield from job_spec_problems(job.spec, job.metadata.annotations, settings, ("spec",))
    yield from job_status_problems(job)


def job_spec_problems(
    spec: RayJobSpec, annotations: dict[str, str] | None, settings: Settings, at: Path
) -> Iterator[Problem]:
    """The rules S1 to S18 alone, for a spec that stands at ``at`` in a document with these annotations."""
    scope = JobScope(spec=spec, annotations=annotations or {}, settings=settings, at=at)
    for rule in SPEC_RULES:
        yield from rule(scope)


def _metadata_problems(name: str) -> Iterator[Problem]:
    yield from (
        replace(problem, problem=METADATA_PREFIX + problem.problem)
        for problem in (
            *object_name.length_problems("RayJob", name, NAME_LIMIT, rule="RJ-M1", reason=METADATA_REASON),
            *object_name.label_problems("RayJob", name, rule="RJ-M2", reason=METADATA_REASON),
        )
    )


def _lifetime_problems(scope: JobScope) -> Iterator[Problem]:
    spec, ttl = scope.spec, scope.spec.ttl_seconds_after_finished or 0
    keeps = "a RayJob with shutdownAfterJobFinishes set to false"
    fix = f"set {scope.where('shutdownAfterJobFinishes')}: true"
    if spec.suspend and not spec.shutdown_after_job_finishes:
        yield scope.problem("RJ-S1", ("suspend",), f"{keeps} is not allowed to be suspended", fix)
    if ttl < 0:
        text = "TTLSecondsAfterFinished must be a non-negative integer"
        yield scope.problem("RJ-S2", ("ttlSecondsAfterFinished",), text, "use 0 or more seconds")
    if ttl > 0 and not spec.shutdown_after_job_finishes:
        yield scope.problem("RJ-S3", ("ttlSecondsAfterFinished",), f"{keeps} cannot have TTLSecondsAfterFinished", fix)


def _cluster_source_problems(scope: JobScope) -> Iterator[Problem]:
    spec = scope.spec
    if spec.suspend and spec.cluster_selector:
        yield scope.problem(
            "RJ-S10",
            ("suspend",),
            "the ClusterSelector mode doesn't support the suspend operation",
            "remove suspend: the selected RayCluster does not belong to the RayJob",
        )
    if spec.ray_cluster_spec is None and not spec.cluster_selector:
        yield scope.problem(
            "RJ-S11",
            (),
            "one of RayClusterSpec or ClusterSelector must be set",
            f"add {scope.where('rayClusterSpec')}, or {scope.where('clusterSelector')} with {CLUSTER_SELECTOR_KEY}",
        )
    if spec.cluster_selector:
        yield from _selector_problems(scope, spec.cluster_selector)


def _selector_problems(scope: JobScope, selector: dict[str, str]) -> Iterator[Problem]:
    if not selector.get(CLUSTER_SELECTOR_KEY):
        yield scope.bare_problem(
            "RJ-S12",
            ("clusterSelector",),
            "cluster name in ClusterSelector should not be empty",
            f"set {CLUSTER_SELECTOR_KEY} to the name of a RayCluster in the same namespace",
        )
    if scope.spec.submission_mode == "SidecarMode":
        yield scope.bare_problem(
            "RJ-S12",
            ("submissionMode",),
            "ClusterSelector is not supported in SidecarMode",
            "use K8sJobMode or HTTPMode: a sidecar runs in the head Pod of a RayCluster of the RayJob's own",
        )
    if (scope.spec.backoff_limit or 0) > 0:
        text = "BackoffLimit is incompatible with ClusterSelector mode"
        yield scope.problem("RJ-S12", ("backoffLimit",), text, "remove backoffLimit: a retry needs a new RayCluster")


def _mode_problems(scope: JobScope) -> Iterator[Problem]:
    if scope.spec.submission_mode == "InteractiveMode" and (scope.spec.backoff_limit or 0) > 0:
        text = "BackoffLimit is incompatible with InteractiveMode"
        yield scope.problem("RJ-S13", ("backoffLimit",), text, "remove backoffLimit: the user submits the job")
    if scope.spec.submission_mode == "SidecarMode":
        yield from _sidecar_problems(scope)


def _sidecar_problems(scope: JobScope) -> Iterator[Problem]:
    fix = "remove it: in SidecarMode the submitter is a container of the head Pod"
    if scope.spec.submitter_pod_template is not None:
        text = "Currently, SidecarMode doesn't support SubmitterPodTemplate"
        yield scope.bare_problem("RJ-S14", ("submitterPodTemplate",), text, fix)
    if scope.spec.submitter_config is not None:
        text = "Currently, SidecarMode doesn't support SubmitterConfig"
        yield scope.bare_problem("RJ-S14", ("submitterConfig",), text, fix)
    cluster = scope.spec.ray_cluster_spec
    if cluster is not None and restart_policy(cluster.head_group_spec.template) not in ("", "Never"):
        yield scope.bare_problem(
            "RJ-S14",
            ("rayClusterSpec", "headGroupSpec", "template", "spec", "restartPolicy"),
            "restartPolicy for head Pod should be Never or unset when using SidecarMode",
            "remove restartPolicy or set Never",
        )


def _cluster_spec_problems(scope: JobScope) -> Iterator[Problem]:
    cluster = scope.spec.ray_cluster_spec
    if cluster is None:
        return
    if cluster.auth_options is not None and cluster.auth_options.enable_k8s_token_auth:
        yield scope.problem(
            "RJ-S15",
            ("rayClusterSpec", "authOptions", "enableK8sTokenAuth"),
            "K8s token auth mode is currently not supported for RayJob",
            "remove enableK8sTokenAuth: a RayJob uses token authentication with a Secret",
        )
    # KubeRay: S16, the RayCluster's rules with the RayJob's annotations
    for found in spec_problems(cluster, scope.annotations, scope.settings, (*scope.at, "rayClusterSpec")):
        yield replace(found, problem=SPEC_PREFIX + found.problem, reason=JOB_SPEC_REASON)


def _runtime_env_trouble(text: str) -> str | None:
    """Why the first document of this YAML text is no mapping; None when it is one, or empty."""
    try:
        tree = read_yaml_value(text, "runtimeEnvYAML")
    except DocumentError as error:
        return f"error converting YAML to JSON: yaml: {error.told_by_go}"
    if tree is None or isinstance(tree, dict):
        return None
    found = next(name for type_, name in _GO_NAMES if isinstance(tree, type_))
    return (
        f"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type {_GO_MAP}"
    )


def _runtime_env_problems(scope: JobScope) -> Iterator[Problem]:
    text = scope.spec.runtime_env_yaml or ""
    trouble = _runtime_env_trouble(text) if text else None
    if trouble is not None:
        yield scope.bare_problem(
            "RJ-S17",
            ("runtimeEnvYAML",),
            f"failed to unmarshal RuntimeEnvYAML: {text}: {trouble}",
            "write a YAML mapping such as 'pip: [requests]', or leave it out",
        )


def _deadline_problems(scope: JobScope) -> Iterator[Problem]:
    for field, value in (
        ("activeDeadlineSeconds", scope.spec.active_deadline_seconds),
        ("preRunningDeadlineSeconds", scope.spec.pre_running_deadline_seconds),
    ):
        if value is not None and value <= 0:
            text = f"{field} must be a positive integer"
            yield scope.problem("RJ-S18", (field,), text, "use 1 or more seconds, or leave it out for no deadline")
    if (scope.spec.backoff_limit or 0) < 0:
        text = "backoffLimit must be a positive integer"  # KubeRay's words; 0 is fine
        yield scope.problem("RJ-S18", ("backoffLimit",), text, "use 0 for no retry")


SPEC_RULES: tuple[JobRule, ...] = (  # S1 to S18, in KubeRay's order
    _lifetime_problems,
    deletion_problems,
    _cluster_source_problems,
    _mode_problems,
    _cluster_spec_problems,
    _runtime_env_problems,
    _deadline_problems,
)


def job_status_problems(job: RayJob) -> Iterator[Problem]:
    state = None if job.status is UNSET else job.status.job_deployment_status
    mode = job.spec.submission_mode or "K8sJobMode"
    if state == "Waiting" and mode != "InteractiveMode":
        yield Problem(
            path=("status", "jobDeploymentStatus"),
            problem=(
                f"{STATUS_PREFIX}JobDeploymentStatus cannot be `Waiting` when SubmissionMode is not InteractiveMode"
            ),
            fix="set submissionMode back to InteractiveMode, or recreate the RayJob",
            rule="RJ-T1",
            reason=STATUS_REASON,
        )
