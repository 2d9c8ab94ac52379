"""RayJob clean-up: deletionStrategy in its older and its newer form (RJ-S4 to RJ-S9)."""

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import job_problems
from ray_documents import Tree, brief, cluster_spec, job, with_gates

SPEC = "The RayJob spec is invalid: "
SELECTOR: Tree = {"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "c"}}
AUTOSCALING: Tree = {"rayClusterSpec": cluster_spec({"enableInTreeAutoscaling": True})}
SHUTDOWN: Tree = {"shutdownAfterJobFinishes": True}
RULES = "spec.deletionStrategy.deletionRules"
EMPTY = "DeletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field (cannot be empty)"


def strategy(**fields: object) -> Tree:
    return {"deletionStrategy": fields}


def legacy(success: str, failure: str) -> Tree:
    return strategy(onSuccess={"policy": success}, onFailure={"policy": failure})


def rule(policy: str, ttl: int | None = None, status: str | None = "SUCCEEDED", deployment: str | None = None) -> Tree:
    condition = {"jobStatus": status, "jobDeploymentStatus": deployment, "ttlSeconds": ttl}
    return {"policy": policy, "condition": {key: value for key, value in condition.items() if value is not None}}


def rules(*items: Tree) -> Tree:
    return strategy(deletionRules=list(items))


ACCEPTED: list[tuple[str, list[Tree]]] = [
    ("both older policies", [legacy("DeleteCluster", "DeleteNone")]),
    ("older policies with shutdown", [legacy("DeleteCluster", "DeleteSelf"), SHUTDOWN]),
    ("older workers policy without autoscaling", [legacy("DeleteWorkers", "DeleteWorkers")]),
    ("older self policy on a selected cluster", [SELECTOR, legacy("DeleteSelf", "DeleteNone")]),
    (
        "rules in the order of time, for both results",
        [
            rules(
                rule("DeleteWorkers", 10),
                rule("DeleteCluster", 20),
                rule("DeleteSelf", 30),
                rule("DeleteWorkers", 0, "FAILED"),
                rule("DeleteCluster", 0, "FAILED"),
            )
        ],
    ),
    (
        "rules of different statuses are not compared",
        [rules(rule("DeleteWorkers", 30), rule("DeleteSelf", 1, "FAILED"))],
    ),
    (
        "a job status and a deployment status",
        [rules(rule("DeleteSelf", 5, "FAILED"), rule("DeleteSelf", 1, None, "Failed"))],
    ),
    ("DeleteNone at any time", [rules(rule("DeleteNone", 0), rule("DeleteWorkers", 5))]),
    ("rules without times", [rules(rule("DeleteSelf"))]),
    ("a self rule on a selected cluster", [SELECTOR, rules(rule("DeleteSelf"))]),
]


@pytest.mark.parametrize(("title", "parts"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree]) -> None:
    assert brief(job_problems(job(*parts), Settings())) == []


REFUSED: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "rules with shutdown",
        [rules(rule("DeleteSelf")), SHUTDOWN],
        [("RJ-S5", "spec.shutdownAfterJobFinishes")],
        f"{SPEC}spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are mutually exclusive",
    ),
    (
        "rules and an older policy",
        [strategy(onSuccess={"policy": "DeleteSelf"}, deletionRules=[rule("DeleteSelf")])],
        [("RJ-S6", "spec.deletionStrategy"), ("RJ-S7", "spec.deletionStrategy.onFailure")],
        f"{SPEC}Cannot use both legacy onSuccess/onFailure fields and deletionRules simultaneously",
    ),
    (
        "one older policy",
        [strategy(onFailure={"policy": "DeleteSelf"})],
        [("RJ-S7", "spec.deletionStrategy.onSuccess")],
        (
            "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set when using the legacy deletion"
            " policy fields of DeletionStrategy"
        ),
    ),
    (
        "an older side without its policy",
        [strategy(onSuccess={}, onFailure={"policy": "DeleteSelf"})],
        [("RJ-S7", "spec.deletionStrategy.onSuccess.policy")],
        "the DeletionPolicyType field of DeletionStrategy.OnSuccess cannot be unset when DeletionStrategy is enabled",
    ),
    (
        "older cluster policies on a selected cluster",
        [SELECTOR, legacy("DeleteCluster", "DeleteWorkers")],
        [("RJ-S7", "spec.deletionStrategy.onSuccess.policy"), ("RJ-S7", "spec.deletionStrategy.onFailure.policy")],
        "the ClusterSelector mode doesn't support DeletionStrategy=DeleteCluster on success",
    ),
    (
        "older workers policy with autoscaling",
        [AUTOSCALING, legacy("DeleteSelf", "DeleteWorkers")],
        [("RJ-S7", "spec.deletionStrategy.onFailure.policy")],
        "DeletionStrategy=DeleteWorkers currently does not support RayCluster with autoscaling enabled",
    ),
    (
        "older DeleteNone with shutdown",
        [legacy("DeleteSelf", "DeleteNone"), SHUTDOWN],
        [("RJ-S7", "spec.deletionStrategy.onFailure.policy")],
        f"{SPEC}shutdownAfterJobFinshes is set to 'true' while deletion policy is 'DeleteNone'",
    ),
    (
        "a rule with both statuses",
        [rules(rule("DeleteSelf", 0, "FAILED", "Failed"))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: cannot set both JobStatus and JobDeploymentStatus at the same time",
    ),
    (
        "a rule with no status",
        [rules(rule("DeleteSelf", 0, None))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: exactly one of JobStatus and JobDeploymentStatus must be set",
    ),
    (
        "a rule with a negative time",
        [rules(rule("DeleteCluster"), rule("DeleteSelf", -1))],
        [("RJ-S8", f"{RULES}[1]")],
        "deletionRules[1]: TTLSeconds must be non-negative",
    ),
    (
        "cluster rules on a selected cluster",
        [SELECTOR, rules(rule("DeleteWorkers"), rule("DeleteCluster"))],
        [("RJ-S8", RULES)],
        (
            "deletionRules[0]: DeletionPolicyType 'DeleteWorkers' not supported when ClusterSelector is set\n"
            "deletionRules[1]: DeletionPolicyType 'DeleteCluster' not supported when ClusterSelector is set"
        ),
    ),
    (
        "a workers rule with autoscaling",
        [AUTOSCALING, rules(rule("DeleteWorkers"))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled",
    ),
    (
        "a rule given twice",
        [rules(rule("DeleteSelf", 1), rule("DeleteSelf", 2))],
        [("RJ-S8", f"{RULES}[1]")],
        "deletionRules[1]: duplicate rule for DeletionPolicyType 'DeleteSelf' and JobStatus 'SUCCEEDED'",
    ),
    (
        "the cluster gone before its workers",
        [rules(rule("DeleteWorkers", 20), rule("DeleteCluster", 10))],
        [("RJ-S8", RULES)],
        "for JobStatus 'SUCCEEDED': DeleteCluster TTL (10) must be >= DeleteWorkers TTL (20)",
    ),
    (
        "the job gone before the workers, no cluster rule",
        [rules(rule("DeleteSelf", 1, None, "Failed"), rule("DeleteWorkers", 2, None, "Failed"))],
        [("RJ-S8", RULES)],
        "for JobDeploymentStatus 'Failed': DeleteSelf TTL (1) must be >= DeleteWorkers TTL (2)",
    ),
    (
        "a wrong rule takes no part in the order",
        [AUTOSCALING, rules(rule("DeleteWorkers", 20), rule("DeleteCluster", 10))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled",
    ),
    (
        "the job's status before its deployment status",
        [
            rules(
                rule("DeleteSelf", 1, None, "Failed"),
                rule("DeleteCluster", 2, None, "Failed"),
                rule("DeleteSelf", 3),
                rule("DeleteCluster", 4),
            )
        ],
        [("RJ-S8", RULES)],
        (
            "for JobStatus 'SUCCEEDED': DeleteSelf TTL (3) must be >= DeleteCluster TTL (4)\n"
            "for JobDeploymentStatus 'Failed': DeleteSelf TTL (1) must be >= DeleteCluster TTL (2)"
        ),
    ),
    (
        "an older policy that is missing comes before one that does not fit",
        [SELECTOR, strategy(onSuccess={"policy": "DeleteCluster"}, onFailure={})],
        [("RJ-S7", "spec.deletionStrategy.onFailure.policy"), ("RJ-S7", "spec.deletionStrategy.onSuccess.policy")],
        "the DeletionPolicyType field of DeletionStrategy.OnFailure cannot be unset when DeletionStrategy is enabled",
    ),
    (
        "an empty strategy",
        [strategy()],
        [("RJ-S9", "spec.deletionStrategy")],
        f"{SPEC}{EMPTY}",
    ),
    ("no rule", [rules()], [("RJ-S9", "spec.deletionStrategy")], f"{SPEC}{EMPTY}"),
]


@pytest.mark.parametrize(("title", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(job_problems(job(*parts), Settings()))
    assert brief(problems) == found
    assert problems[0].problem == text


def test_a_wrong_rule_is_the_only_error_in_its_text() -> None:
    subject = job(AUTOSCALING, rules(rule("DeleteWorkers", 20), rule("DeleteCluster", 10)))
    (problem,) = job_problems(subject, Settings())
    assert "\n" not in problem.problem


def test_the_strategy_needs_its_gate() -> None:
    problems = list(job_problems(job(rules(rule("DeleteSelf"))), with_gates(RayJobDeletionPolicy=False)))
    assert brief(problems) == [("RJ-S4", "spec.deletionStrategy")]
    assert problems[0].problem == "RayJobDeletionPolicy feature gate must be enabled to use DeletionStrategy"
