"""Pod failure policies and success policies: which rule matches."""

from typing import Any

import pytest
from msgspec import convert

from heliostat.embedded.controllers.jobs.failure_policy import NO_RULE, FailureVerdict, judge_failure
from heliostat.embedded.controllers.jobs.index_set import NO_INDEXES
from heliostat.embedded.controllers.jobs.success_policy import match_success_policy
from heliostat.embedded.controllers.views.jobs import FailurePolicy, SuccessPolicy
from heliostat.embedded.controllers.views.pods import Pod

Rule = dict[str, Any]


def pod(main: int | None = None, init: int | None = None, **conditions: str) -> Pod:
    def statuses(name: str, code: int | None) -> list[Rule]:
        return [{"name": name, "state": {"terminated": {"exitCode": code}} if code is not None else {"running": {}}}]

    found = [{"type": type_, "status": status} for type_, status in conditions.items()]
    status = {
        "phase": "Failed",
        "containerStatuses": statuses("main", main),
        "initContainerStatuses": statuses("init", init),
        "conditions": found,
    }
    return convert({"metadata": {"name": "p", "namespace": "ns"}, "status": status}, Pod)


def codes(action: str, operator: str, *values: int, **more: str) -> Rule:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **more}}


def conditions(action: str, type_: str, status: str = "True") -> Rule:
    return {"action": action, "onPodConditions": [{"type": type_, "status": status}]}


@pytest.mark.parametrize(
    ("rules", "failed", "action"),
    [
        ([], pod(1), ""),
        ([codes("Ignore", "In", 1, 2)], pod(2), "Ignore"),
        ([codes("Ignore", "In", 1, 2)], pod(3), ""),
        ([codes("Ignore", "NotIn", 1, 2)], pod(3), "Ignore"),
        ([codes("Ignore", "NotIn", 1, 2)], pod(0), ""),
        ([codes("Ignore", "NotIn", 1)], pod(None), ""),
        ([codes("Count", "In", 7)], pod(0, 7), "Count"),
        ([codes("Count", "In", 7, containerName="main")], pod(0, 7), ""),
        ([codes("FailIndex", "In", 7, containerName="init")], pod(0, 7), "FailIndex"),
        ([conditions("Ignore", "DisruptionTarget")], pod(1, DisruptionTarget="True"), "Ignore"),
        ([conditions("Ignore", "DisruptionTarget")], pod(1, DisruptionTarget="False"), ""),
        ([conditions("Ignore", "DisruptionTarget", "False")], pod(1, DisruptionTarget="False"), "Ignore"),
        ([codes("Count", "In", 1), codes("Ignore", "In", 1)], pod(1), "Count"),
        ([codes("Explode", "In", 1), codes("Ignore", "In", 1)], pod(1), "Ignore"),
    ],
)
def test_the_first_rule_that_matches_decides(rules: list[Rule], failed: Pod, action: str) -> None:
    verdict = judge_failure(convert({"rules": rules}, FailurePolicy), failed)
    assert verdict.action == action
    assert verdict.counts == (action != "Ignore")


@pytest.mark.parametrize(
    ("rule", "failed", "message"),
    [
        (
            codes("FailJob", "In", 42),
            pod(42),
            "Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 1",
        ),
        (
            conditions("FailJob", "ConfigIssue"),
            pod(1, ConfigIssue="True"),
            "Pod ns/p has condition ConfigIssue matching FailJob rule at index 1",
        ),
    ],
)
def test_a_failed_job_says_why(rule: Rule, failed: Pod, message: str) -> None:
    policy = convert({"rules": [codes("Ignore", "In", 99), rule]}, FailurePolicy)
    assert judge_failure(policy, failed) == FailureVerdict("FailJob", message)


def test_without_a_policy_everything_counts() -> None:
    assert judge_failure(None, pod(1)) is NO_RULE


@pytest.mark.parametrize(
    ("rules", "succeeded", "matched"),
    [
        ([{"succeededIndexes": "0,2"}], {0}, None),
        ([{"succeededIndexes": "0,2"}], {0, 1, 2}, 0),
        ([{"succeededIndexes": "0-2", "succeededCount": 2}], {0, 2}, 0),
        ([{"succeededIndexes": "0-2", "succeededCount": 2}], {0, 3}, None),
        ([{"succeededCount": 2}], {0, 3}, 0),
        ([{"succeededCount": 3}], {0, 3}, None),
        ([{"succeededIndexes": "x"}, {"succeededCount": 1}], {4}, 1),
        ([{"succeededIndexes": "9"}], {4}, None),
        ([{"succeededCount": 0}], set(), None),
    ],
)
def test_success_policies(rules: list[Rule], succeeded: set[int], matched: int | None) -> None:
    policy = convert({"rules": rules}, SuccessPolicy)
    message = match_success_policy(policy, 5, NO_INDEXES.with_indexes(succeeded))
    assert message == ("" if matched is None else f"Matched rules at index {matched}")
