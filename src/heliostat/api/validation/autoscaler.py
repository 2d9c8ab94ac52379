"""Rules of group suspension and the autoscaler: V-S29 to V-S36, and the one warning about autoscaler v1."""

from collections.abc import Iterator

from heliostat.api.cluster_features import is_autoscaling
from heliostat.api.validation.groups import AUTOSCALER_V2_ENV, is_autoscaler_v2_by_env
from heliostat.api.validation.pod_template import env_value, find_named, ray_container, restart_policy
from heliostat.api.validation.scope import HEAD_ENV, HEAD_TEMPLATE, SPEC_REASON, SpecScope, group_path
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

SUSPEND_GATE = "RayJobDeletionPolicy"
START_COMMAND_ENV = "KUBERAY_GEN_AUTOSCALER_START_CMD"
V1_RESTART_RULE = "R1-3.5"
_OPTIONS: Path = ("autoscalerOptions",)
_UNSET_OR_NEVER = ("", "Never")


def autoscaler_problems(scope: SpecScope) -> Iterator[Problem]:
    yield from _suspend_gate_problems(scope)
    yield from _env_without_autoscaling_problems(scope)
    if is_autoscaling(scope.spec):
        yield from _suspend_problems(scope)
        yield from _version_source_problems(scope)
        yield from _v2_restart_problems(scope)
    yield from _option_problems(scope)


def v1_restart_warnings(scope: SpecScope) -> Iterator[Problem]:
    """KubeRay: R1-3 step 5. Only with an explicit ``version: v1``; all groups in one warning."""
    options = scope.spec.autoscaler_options
    if not is_autoscaling(scope.spec) or options is None or options.version != "v1":
        return
    found = [(i, g.group_name) for i, g in enumerate(scope.groups) if restart_policy(g.template) not in _UNSET_OR_NEVER]
    if found:
        names = ", ".join(name for _, name in found)
        yield Problem(
            path=scope.at + _restart_path(found[0][0]),
            problem=f"restartPolicy for worker groups [{names}] should be Never or unset when using autoscaler V1",
            fix="remove restartPolicy from these groups: a worker that restarts in place confuses the autoscaler",
            rule=V1_RESTART_RULE,
            reason=SPEC_REASON,
            severity="warning",
        )


def _restart_path(index: int) -> Path:
    return group_path(index, "template", "spec", "restartPolicy")


def _suspend_gate_problems(scope: SpecScope) -> Iterator[Problem]:
    if scope.settings.gate(SUSPEND_GATE):
        return
    for index, group in enumerate(scope.groups):
        if group.suspend is True:
            yield scope.problem(
                "V-S29",
                group_path(index, "suspend"),
                f"worker group {group.group_name} can be suspended only when the {SUSPEND_GATE} feature gate is"
                " enabled",
                f"start the operator with --feature-gates={SUSPEND_GATE}=true, or remove suspend",
            )


def _env_without_autoscaling_problems(scope: SpecScope) -> Iterator[Problem]:
    if not is_autoscaling(scope.spec) and is_autoscaler_v2_by_env(scope):
        value = env_value(ray_container(scope.head.template).get("env"), AUTOSCALER_V2_ENV)
        yield scope.problem(
            "V-S30",
            _v2_env_path(scope),
            f"environment variable {AUTOSCALER_V2_ENV} cannot be set to '{value}' when enableInTreeAutoscaling is"
            " false. Please set enableInTreeAutoscaling: true to use autoscaler v2",
            f"set {scope.where('enableInTreeAutoscaling')}: true, or remove the variable",
        )


def _v2_env_path(scope: SpecScope) -> Path:
    found = find_named(ray_container(scope.head.template).get("env"), AUTOSCALER_V2_ENV)
    return next(((*HEAD_ENV, index) for index, _ in found), HEAD_ENV)


def _suspend_problems(scope: SpecScope) -> Iterator[Problem]:
    for index, group in enumerate(scope.groups):
        if group.suspend is True:
            yield scope.problem(
                "V-S31",
                group_path(index, "suspend"),
                f"worker group {group.group_name} cannot be suspended with Autoscaler enabled",
                f"set {scope.where('enableInTreeAutoscaling')}: false, or remove suspend",
            )


def _version_source_problems(scope: SpecScope) -> Iterator[Problem]:
    options, path = scope.spec.autoscaler_options, _v2_env_path(scope)
    if options is not None and options.version is not None and path != HEAD_ENV:
        yield scope.problem(
            "V-S32",
            path,
            f"both .spec.autoscalerOptions.version and head Pod env var {AUTOSCALER_V2_ENV} are set, please only use"
            " the former",
            f"remove the variable: {scope.where('autoscalerOptions', 'version')} decides",
        )


def _v2_restart_problems(scope: SpecScope) -> Iterator[Problem]:
    options = scope.spec.autoscaler_options
    if options is None or options.version != "v2":
        return
    end = "should be Never or unset when using autoscaler V2"
    if restart_policy(scope.head.template) not in _UNSET_OR_NEVER:
        path = (*HEAD_TEMPLATE, "restartPolicy")
        yield scope.problem("V-S33", path, f"restartPolicy for head Pod {end}", "remove restartPolicy or set Never")
    for index, group in enumerate(scope.groups):
        if restart_policy(group.template) not in _UNSET_OR_NEVER:
            yield scope.problem(
                "V-S34",
                _restart_path(index),
                f"restartPolicy for worker group {group.group_name} {end}",
                "remove restartPolicy or set Never",
            )


def _option_problems(scope: SpecScope) -> Iterator[Problem]:
    options = scope.spec.autoscaler_options
    if options is None:
        return
    if options.idle_timeout_seconds is not None and options.idle_timeout_seconds < 0:
        yield scope.problem(
            "V-S35",
            (*_OPTIONS, "idleTimeoutSeconds"),
            f"autoscalerOptions.idleTimeoutSeconds must be non-negative, got {options.idle_timeout_seconds}",
            "use 0 or more seconds",
        )
    for index, _ in find_named(options.env, START_COMMAND_ENV):
        yield scope.problem(
            "V-S36",
            (*_OPTIONS, "env", index),
            f"autoscalerOptions.env must not contain {START_COMMAND_ENV}: it is managed by KubeRay and injected"
            " automatically into the autoscaler container",
            "remove the variable; to run another command set autoscalerOptions.command and args",
        )
