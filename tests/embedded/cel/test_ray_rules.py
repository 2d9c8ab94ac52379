"""The rules of the ray.io definitions."""

from typing import Any

import pytest

from heliostat.api.crds import build_crd
from heliostat.embedded.cel import CompiledRules, check_rules, compile_rules
from heliostat.kube.jsontree import JsonObject

OURS, MULTIKUEUE = "ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"
WRONG_MANAGER = "the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'"
NOT_BOTH = (
    "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together within the same deletionStrategy"
)
NEITHER = "deletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field (cannot be empty)"
TWO_CONDITIONS = "JobStatus and JobDeploymentStatus cannot be used together within the same deletion condition."
NO_CONDITION = "the deletion condition requires either the JobStatus or the JobDeploymentStatus field."
POLICY = {"policy": "DeleteCluster"}


@pytest.fixture(scope="module")
def rules() -> dict[str, CompiledRules]:
    found = {}
    for kind in ("RayCluster", "RayJob", "RayService", "RayCronJob"):
        versions = build_crd(kind)["spec"]["versions"]
        schema = next(version["schema"]["openAPIV3Schema"] for version in versions if version["name"] == "v1")
        found[kind] = compile_rules(schema)
    return found


def lines(rules: CompiledRules, new: JsonObject, old: JsonObject | None = None) -> list[str]:
    return [f"{problem.field}: {problem.problem}" for problem in check_rules(rules, new, old)]


def test_every_definition_is_accepted(rules: dict[str, CompiledRules]) -> None:
    assert {kind: compiled.problems for kind, compiled in rules.items()} == dict.fromkeys(rules, ())


def test_a_version_without_rules_needs_no_walk() -> None:
    versions = build_crd("RayCluster")["spec"]["versions"]
    schema = next(version["schema"]["openAPIV3Schema"] for version in versions if version["name"] == "v1alpha1")
    assert compile_rules(schema).root is None


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ({}, None, []),
        ({"managedBy": OURS}, None, []),
        ({"managedBy": "me"}, None, [f'spec.managedBy: Invalid value: "string": {WRONG_MANAGER}']),
        ({"managedBy": OURS}, {"managedBy": OURS}, []),
        ({"managedBy": OURS}, {}, []),
        ({}, {"managedBy": OURS}, []),
        (
            {"managedBy": OURS},
            {"managedBy": MULTIKUEUE},
            ['spec.managedBy: Invalid value: "string": the managedBy field is immutable'],
        ),
        (
            {"gcsFaultToleranceOptions": {"backend": "redis"}},
            {"gcsFaultToleranceOptions": {"backend": "rocksdb"}},
            [
                (
                    'spec.gcsFaultToleranceOptions.backend: Invalid value: "string": '
                    "gcsFaultToleranceOptions.backend is immutable"
                )
            ],
        ),
        ({"gcsFaultToleranceOptions": {"backend": "redis"}}, {"gcsFaultToleranceOptions": {}}, []),
    ],
)
def test_the_manager_and_the_backend_of_a_cluster_stay(
    rules: dict[str, CompiledRules], new: JsonObject, old: JsonObject | None, expected: list[str]
) -> None:
    assert lines(rules["RayCluster"], {"spec": new}, None if old is None else {"spec": old}) == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"onSuccess": POLICY, "onFailure": POLICY}, []),
        ({"deletionRules": [{"condition": {"jobStatus": "FAILED"}}]}, []),
        ({"onSuccess": POLICY}, [NEITHER]),
        ({}, [NEITHER]),
        ({"onSuccess": POLICY, "deletionRules": []}, [NOT_BOTH]),
        ({"deletionRules": [{"condition": {}}, {"condition": {"jobStatus": "FAILED"}}]}, [NO_CONDITION]),
        (
            {"deletionRules": [{"condition": {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}}]},
            [TWO_CONDITIONS],
        ),
    ],
)
def test_a_job_is_deleted_the_old_way_or_the_new_one(
    rules: dict[str, CompiledRules], strategy: JsonObject, expected: list[str]
) -> None:
    for kind, path in (("RayJob", ("spec",)), ("RayCronJob", ("spec", "jobTemplate"))):
        tree: Any = {"deletionStrategy": strategy}
        for step in reversed(path):
            tree = {step: tree}
        found = [problem.problem for problem in check_rules(rules[kind], tree)]
        assert found == [f'Invalid value: "object": {text}' for text in expected]


def test_the_place_of_a_broken_rule_is_a_path_into_the_object(rules: dict[str, CompiledRules]) -> None:
    tree = {
        "spec": {"deletionStrategy": {"deletionRules": [{"condition": {"jobStatus": "FAILED"}}, {"condition": {}}]}}
    }
    (problem,) = check_rules(rules["RayJob"], tree)
    assert problem.path == ("spec", "deletionStrategy", "deletionRules", 1, "condition")
    assert problem.field == "spec.deletionStrategy.deletionRules[1].condition"
    assert problem.fix == "make this hold: has(self.jobStatus) || has(self.jobDeploymentStatus)"
    assert (problem.rule, problem.reason, problem.severity) == ("schema.rule", "FieldValueInvalid", "error")
