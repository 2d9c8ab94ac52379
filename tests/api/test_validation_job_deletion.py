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
        f"{SPEC}onSuccess/onFailure and deletionRules cannot be used together",
    ),
    (
        "one older policy",
        [strategy(onFailure={"policy": "DeleteSelf"})],
        [("RJ-S7", "spec.deletionStrategy.onSuccess")],
        "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set",
    ),
    (
        "an older side without its policy",
        [strategy(onSuccess={}, onFailure={"policy": "DeleteSelf"})],
        [("RJ-S7", "spec.deletionStrategy.onSuccess.policy")],
        "DeletionStrategy.OnSuccess.Policy cannot be unset",
    ),
    (
        "older cluster policies on a selected cluster",
        [SELECTOR, legacy("DeleteCluster", "DeleteWorkers")],
        [("RJ-S7", "spec.deletionStrategy.onSuccess.policy"), ("RJ-S7", "spec.deletionStrategy.onFailure.policy")],
        "DeletionStrategy.OnSuccess.Policy: DeleteCluster is not supported with clusterSelector",
    ),
    (
        "older workers policy with autoscaling",
        [AUTOSCALING, legacy("DeleteSelf", "DeleteWorkers")],
        [("RJ-S7", "spec.deletionStrategy.onFailure.policy")],
        "DeletionStrategy.OnFailure.Policy: DeleteWorkers is not supported with autoscaling enabled",
    ),
    (
        "older DeleteNone with shutdown",
        [legacy("DeleteSelf", "DeleteNone"), SHUTDOWN],
        [("RJ-S7", "spec.deletionStrategy.onFailure.policy")],
        f"{SPEC}shutdownAfterJobFinishes is set to true while the deletion policy is DeleteNone",
    ),
    (
        "a rule with both statuses",
        [rules(rule("DeleteSelf", 0, "FAILED", "Failed"))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: exactly one of jobStatus and jobDeploymentStatus must be set",
    ),
    (
        "a rule with no status",
        [rules(rule("DeleteSelf", 0, None))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: exactly one of jobStatus and jobDeploymentStatus must be set",
    ),
    (
        "a rule with a negative time",
        [rules(rule("DeleteCluster"), rule("DeleteSelf", -1))],
        [("RJ-S8", f"{RULES}[1]")],
        "deletionRules[1]: ttlSeconds must be non-negative, got -1",
    ),
    (
        "cluster rules on a selected cluster",
        [SELECTOR, rules(rule("DeleteWorkers"), rule("DeleteCluster"))],
        [("RJ-S8", RULES)],
        (
            "deletionRules[0]: DeleteWorkers is not supported with clusterSelector, whose RayCluster does not belong to"
            " the RayJob\ndeletionRules[1]: DeleteCluster is not supported with clusterSelector"
        ),
    ),
    (
        "a workers rule with autoscaling",
        [AUTOSCALING, rules(rule("DeleteWorkers"))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: DeleteWorkers is not supported with autoscaling enabled",
    ),
    (
        "a rule given twice",
        [rules(rule("DeleteSelf", 1), rule("DeleteSelf", 2))],
        [("RJ-S8", f"{RULES}[1]")],
        "deletionRules[1]: duplicate rule for policy DeleteSelf and jobStatus SUCCEEDED",
    ),
    (
        "the cluster gone before its workers",
        [rules(rule("DeleteWorkers", 20), rule("DeleteCluster", 10))],
        [("RJ-S8", RULES)],
        "for jobStatus SUCCEEDED: ttlSeconds 10 of DeleteCluster must not be below 20 of DeleteWorkers",
    ),
    (
        "the job gone before the workers, no cluster rule",
        [rules(rule("DeleteSelf", 1, None, "Failed"), rule("DeleteWorkers", 2, None, "Failed"))],
        [("RJ-S8", RULES)],
        "for jobDeploymentStatus Failed: ttlSeconds 1 of DeleteSelf must not be below 2 of DeleteWorkers",
    ),
    (
        "a wrong rule takes no part in the order",
        [AUTOSCALING, rules(rule("DeleteWorkers", 20), rule("DeleteCluster", 10))],
        [("RJ-S8", f"{RULES}[0]")],
        "deletionRules[0]: DeleteWorkers is not supported with autoscaling enabled",
    ),
    (
        "an empty strategy",
        [strategy()],
        [("RJ-S9", "spec.deletionStrategy")],
        f"{SPEC}deletionStrategy requires either",
    ),
    ("no rule", [rules()], [("RJ-S9", "spec.deletionStrategy")], f"{SPEC}deletionStrategy requires either"),
]


@pytest.mark.parametrize(("title", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(job_problems(job(*parts), Settings()))
    assert brief(problems) == found
    assert problems[0].problem.startswith(text)


def test_a_wrong_rule_is_the_only_error_in_its_text() -> None:
    subject = job(AUTOSCALING, rules(rule("DeleteWorkers", 20), rule("DeleteCluster", 10)))
    (problem,) = job_problems(subject, Settings())
    assert "\n" not in problem.problem


def test_the_strategy_needs_its_gate() -> None:
    problems = list(job_problems(job(rules(rule("DeleteSelf"))), with_gates(RayJobDeletionPolicy=False)))
    assert brief(problems) == [("RJ-S4", "spec.deletionStrategy")]
    assert problems[0].problem.startswith("RayJobDeletionPolicy feature gate must be enabled")
