"""Rules of a RayJob's clean-up: deletionStrategy against the gate, the older switches and the cluster (S4 to S9).

There are two ways to say it, the older ``onSuccess``/``onFailure`` and ``deletionRules``. A rule of the second kind
that is wrong by itself takes no part in the checks between rules; all their errors are one finding, as KubeRay reports
them.
"""

from collections.abc import Iterator
from itertools import pairwise

from heliostat.api.rayjob import DeletionPolicy, DeletionRule, DeletionStrategy
from heliostat.api.validation.job_scope import JobScope
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

DELETION_GATE = "RayJobDeletionPolicy"
ON_CLUSTER = ("DeleteCluster", "DeleteWorkers")  # policies that act on a cluster of the RayJob's own
TTL_ORDER = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")  # each must not come before the one before it
_STRATEGY: Path = ("deletionStrategy",)
_RULES: Path = (*_STRATEGY, "deletionRules")
_SHUTDOWN = "shutdownAfterJobFinishes"


def deletion_problems(scope: JobScope) -> Iterator[Problem]:
    strategy = scope.spec.deletion_strategy
    if strategy is None:
        return
    if not scope.settings.gate(DELETION_GATE):
        yield scope.bare_problem(
            "RJ-S4",
            _STRATEGY,
            f"{DELETION_GATE} feature gate must be enabled to use the DeletionStrategy feature",
            f"start the operator with --feature-gates={DELETION_GATE}=true, or remove deletionStrategy",
        )
    yield from _mixture_problems(scope, strategy)
    if _is_legacy(strategy):
        yield from _legacy_problems(scope, strategy)
    if strategy.deletion_rules:
        yield from _rules_problems(scope, strategy.deletion_rules)
    elif not _is_legacy(strategy):
        yield scope.problem(
            "RJ-S9",
            _STRATEGY,
            "deletionStrategy requires either both onSuccess and onFailure, or a non-empty deletionRules",
            "add deletionRules, or remove deletionStrategy",
        )


def _is_legacy(strategy: DeletionStrategy) -> bool:
    return strategy.on_success is not None or strategy.on_failure is not None


def _mixture_problems(scope: JobScope, strategy: DeletionStrategy) -> Iterator[Problem]:
    if strategy.deletion_rules and scope.spec.shutdown_after_job_finishes:
        yield scope.problem(
            "RJ-S5",
            (_SHUTDOWN,),
            f"spec.{_SHUTDOWN} and spec.deletionStrategy.deletionRules are mutually exclusive",
            f"remove {_SHUTDOWN}: deletionRules say what is deleted and when",
        )
    if strategy.deletion_rules and _is_legacy(strategy):
        yield scope.problem(
            "RJ-S6",
            _STRATEGY,
            "onSuccess/onFailure and deletionRules cannot be used together within the same deletionStrategy",
            "remove onSuccess and onFailure",
        )


def _legacy_problems(scope: JobScope, strategy: DeletionStrategy) -> Iterator[Problem]:
    sides: tuple[tuple[str, DeletionPolicy | None], ...] = (
        ("onSuccess", strategy.on_success),
        ("onFailure", strategy.on_failure),
    )
    for side, policy in sides:
        if policy is None:
            text = "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set"
            yield scope.bare_problem(
                "RJ-S7", (*_STRATEGY, side), text, f"add {side} with its policy, or use deletionRules"
            )
    for side, policy in sides:
        if policy is not None:
            yield from _legacy_side_problems(scope, side, policy)


def _legacy_side_problems(scope: JobScope, side: str, policy: DeletionPolicy) -> Iterator[Problem]:
    path: Path = (*_STRATEGY, side, "policy")
    label = f"DeletionStrategy.{side[0].upper()}{side[1:]}"
    if policy.policy is None:
        yield scope.bare_problem(
            "RJ-S7", path, f"{label}.Policy cannot be unset", "name a policy such as DeleteCluster"
        )
    for trouble in _policy_troubles(scope, policy.policy):
        yield scope.bare_problem("RJ-S7", path, f"{label}.Policy: {trouble}", "use DeleteSelf or DeleteNone")
    if policy.policy == "DeleteNone" and scope.spec.shutdown_after_job_finishes:
        text = f"{_SHUTDOWN} is set to true while the deletion policy is DeleteNone"
        yield scope.problem("RJ-S7", path, text, f"remove {_SHUTDOWN}, or choose another policy")


def _policy_troubles(scope: JobScope, policy: str | None) -> Iterator[str]:
    if scope.spec.cluster_selector and policy in ON_CLUSTER:
        yield f"{policy} is not supported with clusterSelector, whose RayCluster does not belong to the RayJob"
    if scope.is_autoscaling and policy == "DeleteWorkers":
        yield "DeleteWorkers is not supported with autoscaling enabled"


def _rules_problems(scope: JobScope, rules: list[DeletionRule]) -> Iterator[Problem]:
    errors: list[tuple[int | None, str]] = []
    sound: dict[tuple[str, str], int] = {}  # (status, policy) -> its time to live
    for index, rule in enumerate(rules):
        trouble = next(_rule_troubles(scope, rule, sound), None)
        if trouble is None:
            sound[_status_of(rule), rule.policy] = rule.condition.ttl_seconds or 0
        else:
            errors.append((index, f"deletionRules[{index}]: {trouble}"))
    errors.extend((None, text) for text in _order_troubles(sound))
    if errors:
        only = errors[0][0] if len(errors) == 1 else None
        yield scope.bare_problem(
            "RJ-S8",
            _RULES if only is None else (*_RULES, only),
            "\n".join(text for _, text in errors),
            "give each rule one status, one policy that fits this job, and times in the order workers, cluster, self",
        )


def _status_of(rule: DeletionRule) -> str:
    if rule.condition.job_status:
        return f"jobStatus {rule.condition.job_status}"
    return f"jobDeploymentStatus {rule.condition.job_deployment_status}"


def _rule_troubles(scope: JobScope, rule: DeletionRule, sound: dict[tuple[str, str], int]) -> Iterator[str]:
    condition = rule.condition
    if bool(condition.job_status) == bool(condition.job_deployment_status):
        yield "exactly one of jobStatus and jobDeploymentStatus must be set in the condition"
    if (condition.ttl_seconds or 0) < 0:
        yield f"ttlSeconds must be non-negative, got {condition.ttl_seconds}"
    yield from _policy_troubles(scope, rule.policy)
    if (_status_of(rule), rule.policy) in sound:
        yield f"duplicate rule for policy {rule.policy} and {_status_of(rule)}"


def _order_troubles(sound: dict[tuple[str, str], int]) -> Iterator[str]:
    for status in dict.fromkeys(status for status, _ in sound):
        given = [(policy, sound[status, policy]) for policy in TTL_ORDER if (status, policy) in sound]
        for (early, early_ttl), (late, late_ttl) in pairwise(given):
            if late_ttl < early_ttl:
                yield f"for {status}: ttlSeconds {late_ttl} of {late} must not be below {early_ttl} of {early}"
