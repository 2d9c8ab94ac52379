"""Rules of the head group and of each worker group: V-S1 to V-S14.

All rules of one group come before the next group. The head is called ``Head`` in the texts.
"""

from collections.abc import Iterator

from heliostat.api.ray_version import NotAVersion, is_version_at_least, read_ray_version
from heliostat.api.raycluster import HeadGroupSpec, WorkerGroupSpec
from heliostat.api.validation.pod_template import containers, env_value, ray_container
from heliostat.api.validation.scope import SpecScope, group_path
from heliostat.kube.names import label_key_problems, label_value_problems
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

RESOURCE_PARAMS = ("num-cpus", "num-gpus", "memory", "resources")
PRIORITY_SINCE = (2, 56, 0)
AUTOSCALER_V2_ENV = "RAY_enable_autoscaler_v2"
_HEAD: Path = ("headGroupSpec",)


def head_group_problems(scope: SpecScope) -> Iterator[Problem]:
    if not containers(scope.head.template):
        yield scope.problem(
            "V-S1",
            (*_HEAD, "template", "spec", "containers"),
            "headGroupSpec should have at least one container",
            "add the Ray container as the first one, with its image",
        )
    yield from _resource_problems(scope, scope.head, "Head", _HEAD, "V-S2")
    yield from _label_problems(scope, scope.head, "Head", _HEAD, ("V-S3", "V-S4"))


def worker_group_problems(scope: SpecScope) -> Iterator[Problem]:
    for index, group in enumerate(scope.groups):
        yield from _container_problems(scope, group, index)
        yield from _replica_problems(scope, group, index)
        yield from _resource_problems(scope, group, group.group_name, group_path(index), "V-S10")
        yield from _label_problems(scope, group, group.group_name, group_path(index), ("V-S11", "V-S11"))
        yield from _idle_timeout_problems(scope, group, index)
        yield from _priority_problems(scope, group, index)


def is_autoscaler_v2(scope: SpecScope) -> bool:
    """Asked for in the options or by the head's environment, whether or not autoscaling is on (KubeRay: V-S13)."""
    options = scope.spec.autoscaler_options
    return (options is not None and options.version == "v2") or is_autoscaler_v2_by_env(scope)


def is_autoscaler_v2_by_env(scope: SpecScope) -> bool:
    return env_value(ray_container(scope.head.template).get("env"), AUTOSCALER_V2_ENV) in ("1", "true")


def _container_problems(scope: SpecScope, group: WorkerGroupSpec, index: int) -> Iterator[Problem]:
    if not containers(group.template):
        yield scope.problem(
            "V-S5",
            group_path(index, "template", "spec", "containers"),
            "workerGroupSpec should have at least one container",
            "add the Ray container as the first one, with its image",
        )


def _replica_problems(scope: SpecScope, group: WorkerGroupSpec, index: int) -> Iterator[Problem]:
    name, low, high = group.group_name, group.min_replicas, group.max_replicas
    if scope.spec.enable_in_tree_autoscaling is not True and (low is None or high is None):
        yield scope.problem(
            "V-S6",
            group_path(index, "minReplicas" if low is None else "maxReplicas"),
            f"worker group {name} must set both minReplicas and maxReplicas when autoscaling is disabled",
            f"set {scope.where(*group_path(index))}.minReplicas and maxReplicas, or enable autoscaling",
        )
    for rule, field, value in (("V-S7", "minReplicas", low), ("V-S8", "maxReplicas", high)):
        if value is not None and value < 0:
            yield scope.problem(
                rule, group_path(index, field), f"worker group {name} has negative {field} {value}", "use 0 or more"
            )
    if low is not None and high is not None and low > high:
        yield scope.problem(
            "V-S9",
            group_path(index, "minReplicas"),
            f"worker group {name} has minReplicas {low} greater than maxReplicas {high}",
            f"lower minReplicas to {high} or raise maxReplicas to {low}",
        )


def _resource_problems(
    scope: SpecScope, group: HeadGroupSpec | WorkerGroupSpec, name: str, at: Path, rule: str
) -> Iterator[Problem]:
    given = [param for param in RESOURCE_PARAMS if (group.ray_start_params or {}).get(param)]
    if given and group.resources:
        yield scope.problem(
            rule,
            (*at, "rayStartParams", given[0]),
            f"resource fields should not be set in both rayStartParams and Resources for {name} group;"
            " please use only one",
            f"remove {', '.join(given)} from {scope.where(*at)}.rayStartParams, or remove {scope.where(*at)}.resources",
        )


def _label_problems(
    scope: SpecScope, group: HeadGroupSpec | WorkerGroupSpec, name: str, at: Path, rules: tuple[str, str]
) -> Iterator[Problem]:
    in_params, in_labels = rules
    if "labels" in (group.ray_start_params or {}):
        yield scope.problem(
            in_params,
            (*at, "rayStartParams", "labels"),
            f"rayStartParams['labels'] is not supported for {name} group;"
            " please use the top-level Labels field instead",
            f"move the labels to {scope.where(*at)}.labels as a map",
        )
    offenders = list(_broken_labels(group.labels or {}, name))
    if offenders:
        keys = {key for key, _ in offenders}
        yield scope.problem(
            in_labels,
            (*at, "labels", *keys) if len(keys) == 1 else (*at, "labels"),
            "; ".join(text for _, text in offenders),
            "use Kubernetes label syntax: letters, digits, '-', '_' and '.', at most 63 characters",
        )


def _broken_labels(labels: dict[str, str], group: str) -> Iterator[tuple[str, str]]:
    for key, value in labels.items():
        for found in label_key_problems(key):
            yield key, f"invalid label key for {group} group: '{key}', error: {found}"
        for found in label_value_problems(value):
            yield key, f"invalid label value for key '{key}' in {group} group: '{value}', error: {found}"


def _idle_timeout_problems(scope: SpecScope, group: WorkerGroupSpec, index: int) -> Iterator[Problem]:
    seconds, path = group.idle_timeout_seconds, group_path(index, "idleTimeoutSeconds")
    if seconds is None:
        return
    if seconds < 0:
        yield scope.problem(
            "V-S12",
            path,
            f"worker group {group.group_name}: idleTimeoutSeconds must be non-negative, got {seconds}",
            "use 0 or more seconds, or remove idleTimeoutSeconds",
        )
    if not is_autoscaler_v2(scope):
        yield scope.problem(
            "V-S13",
            path,
            f"worker group {group.group_name}: idleTimeoutSeconds is set, but autoscaler v2 is not enabled."
            f" Please set .spec.autoscalerOptions.version to 'v2' (or set {AUTOSCALER_V2_ENV} environment variable to"
            " 'true' in the head pod if using KubeRay < 1.4.0)",
            f"set {scope.where('autoscalerOptions', 'version')}: v2, or remove idleTimeoutSeconds",
        )


def _priority_problems(scope: SpecScope, group: WorkerGroupSpec, index: int) -> Iterator[Problem]:
    if not group.priority:
        return
    path, begin = group_path(index, "priority"), f"worker group {group.group_name}: priority is set"
    trouble = version_trouble(scope.spec.ray_version, PRIORITY_SINCE)
    if trouble:
        yield scope.problem(
            "V-S14",
            path,
            f"{begin}, but {trouble}",
            f"set {scope.where('rayVersion')} to 2.56.0 or later, or remove priority",
        )
    if not is_autoscaler_v2(scope):
        yield scope.problem(
            "V-S14",
            path,
            f"{begin} to {group.priority}, but autoscaler v2 is not enabled."
            " Priority is only supported with autoscaler v2 enabled",
            f"set {scope.where('autoscalerOptions', 'version')}: v2, or remove priority",
        )


def version_trouble(text: str | None, minimum: tuple[int, ...]) -> str | None:
    """Why this rayVersion does not reach ``minimum``, or None when it does."""
    needed = ".".join(map(str, minimum))
    if not text:
        return f"RayVersion was not specified. Ray version {needed} or later is required"
    version = read_ray_version(text)
    if isinstance(version, NotAVersion):
        return f"RayVersion format is invalid: {text}, {version.why}"
    return None if is_version_at_least(version, minimum) else f"minimum Ray version is {needed}, got {text}"
