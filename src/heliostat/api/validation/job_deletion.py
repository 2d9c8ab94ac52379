"""Rules of a RayJob's clean-up: deletionStrategy against the gate, the older switches and the cluster (S4 to S9).

There are two ways to say it, the older ``onSuccess``/``onFailure`` and ``deletionRules``. A rule of the second kind
that is wrong by itself takes no part in the checks between rules; all their errors are one finding, as KubeRay reports
them.
"""

from collections.abc import Iterator
from itertools import pairwise

from heliostat.api.rayjob import DeletionRule, DeletionStrategy
from heliostat.api.validation.job_scope import JobScope
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

DELETION_GATE = "RayJobDeletionPolicy"
ON_CLUSTER = ("DeleteCluster", "DeleteWorkers")  # policies that act on a cluster of the RayJob's own
TTL_ORDER = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")  # each must not come before the one before it
_STRATEGY: Path = ("deletionStrategy",)
_RULES: Path = (*_STRATEGY, "deletionRules")
_SHUTDOWN = "shutdownAfterJobFinishes"
_JOB_STATUS = "JobStatus"
_AFTER = {"onSuccess": "on success", "onFailure": "on failure"}


def deletion_problems(scope: JobScope) -> Iterator[Problem]:
    strategy = scope.spec.deletion_strategy
    if strategy is None:
        return
    if not scope.settings.gate(DELETION_GATE):
        yield scope.bare_problem(
            "RJ-S4",
            _STRATEGY,
            f"{DELETION_GATE} feature gate must be enabled to use DeletionStrategy",
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
            "DeletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field (cannot be"
            " empty)",
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
            "Cannot use both legacy onSuccess/onFailure fields and deletionRules simultaneously",
            "remove onSuccess and onFailure",
        )


def _legacy_problems(scope: JobScope, strategy: DeletionStrategy) -> Iterator[Problem]:
    """KubeRay looks at both sides for one rule before it comes to the next one."""
    sides = (("onSuccess", strategy.on_success), ("onFailure", strategy.on_failure))
    for side, given in sides:
        if given is None:
            text = (
                "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set when using the legacy"
                " deletion policy fields of DeletionStrategy"
            )
            yield scope.bare_problem(
                "RJ-S7", (*_STRATEGY, side), text, f"add {side} with its policy, or use deletionRules"
            )
    policies: list[tuple[str, str]] = []
    for side, given in sides:
        if given is not None and given.policy is None:
            text = (
                f"the DeletionPolicyType field of DeletionStrategy.{side[0].upper()}{side[1:]} cannot be unset when"
                " DeletionStrategy is enabled"
            )
            yield scope.bare_problem("RJ-S7", _policy_path(side), text, "name a policy such as DeleteCluster")
        elif given is not None and given.policy is not None:
            policies.append((side, given.policy))
    yield from _legacy_policy_problems(scope, policies)


def _policy_path(side: str) -> Path:
    return (*_STRATEGY, side, "policy")


def _legacy_policy_problems(scope: JobScope, policies: list[tuple[str, str]]) -> Iterator[Problem]:
    fix = "use DeleteSelf or DeleteNone"
    for side, policy in policies:
        if scope.spec.cluster_selector and policy in ON_CLUSTER:
            text = f"the ClusterSelector mode doesn't support DeletionStrategy={policy} {_AFTER[side]}"
            yield scope.bare_problem("RJ-S7", _policy_path(side), text, fix)
    for side, policy in policies:
        if scope.is_autoscaling and policy == "DeleteWorkers":
            text = "DeletionStrategy=DeleteWorkers currently does not support RayCluster with autoscaling enabled"
            yield scope.bare_problem("RJ-S7", _policy_path(side), text, fix)
    for side, policy in policies:
        if policy == "DeleteNone" and scope.spec.shutdown_after_job_finishes:
            text = (
                "shutdownAfterJobFinshes is set to 'true' while deletion policy is 'DeleteNone'"  # KubeRay's spelling
            )
            yield scope.problem("RJ-S7", _policy_path(side), text, f"remove {_SHUTDOWN}, or choose another policy")


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
        return f"{_JOB_STATUS} '{rule.condition.job_status}'"
    return f"JobDeploymentStatus '{rule.condition.job_deployment_status}'"


def _rule_troubles(scope: JobScope, rule: DeletionRule, sound: dict[tuple[str, str], int]) -> Iterator[str]:
    condition = rule.condition
    if condition.job_status and condition.job_deployment_status:
        yield "cannot set both JobStatus and JobDeploymentStatus at the same time"
    if not condition.job_status and not condition.job_deployment_status:
        yield "exactly one of JobStatus and JobDeploymentStatus must be set"
    if (condition.ttl_seconds or 0) < 0:
        yield "TTLSeconds must be non-negative"
    if scope.spec.cluster_selector and rule.policy in ON_CLUSTER:
        yield f"DeletionPolicyType '{rule.policy}' not supported when ClusterSelector is set"
    if scope.is_autoscaling and rule.policy == "DeleteWorkers":
        yield "DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled"
    if (_status_of(rule), rule.policy) in sound:
        yield f"duplicate rule for DeletionPolicyType '{rule.policy}' and {_status_of(rule)}"


def _order_troubles(sound: dict[tuple[str, str], int]) -> Iterator[str]:
    """KubeRay: rules about the job's status are looked at before those about its deployment status."""
    statuses = dict.fromkeys(status for status, _ in sound)
    for status in sorted(statuses, key=lambda status: not status.startswith(_JOB_STATUS)):
        given = [(policy, sound[status, policy]) for policy in TTL_ORDER if (status, policy) in sound]
        for (early, early_ttl), (late, late_ttl) in pairwise(given):
            if late_ttl < early_ttl:
                yield f"for {status}: {late} TTL ({late_ttl}) must be >= {early} TTL ({early_ttl})"
