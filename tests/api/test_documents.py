"""Taking a ray.io document in: what is refused and why, what is filled in, and that the input stays as it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.api.documents import Accepted, Refused, accept, is_ray_document
from heliostat.api.raycluster import RayCluster
from heliostat.api.raycronjob import RayCronJob
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.kube.jsontree import copy_tree
from heliostat.kube.paths import format_path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import MAX_PROBLEMS

Tree = dict[str, Any]

TEMPLATE: Tree = {"spec": {"containers": [{"name": "ray", "image": "ray:2.52.0", "ports": [{"containerPort": 6379}]}]}}
CLUSTER_SPEC: Tree = {
    "rayVersion": "2.52.0",
    "headGroupSpec": {"rayStartParams": {}, "template": TEMPLATE},
    "workerGroupSpecs": [{"groupName": "small", "rayStartParams": {}, "template": TEMPLATE}],
}


def document(kind: str = "RayCluster", spec: Any = CLUSTER_SPEC, version: str = "v1", **fields: Any) -> Tree:
    tree = {"apiVersion": f"ray.io/{version}", "kind": kind, "metadata": {"name": "demo"}, "spec": spec} | fields
    copy: Tree = copy_tree(tree)
    return copy


def taken(tree: Any) -> Accepted:
    answer = accept(tree)
    assert isinstance(answer, Accepted), answer
    return answer


def problems_of(tree: Any) -> tuple[Problem, ...]:
    answer = accept(tree)
    assert isinstance(answer, Refused)
    return answer.problems


def only_problem(tree: Any) -> Problem:
    problems = problems_of(tree)
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    ("tree", "struct"),
    [
        (document(), RayCluster),
        (document("RayJob", {"rayClusterSpec": CLUSTER_SPEC, "entrypoint": "python a.py"}), RayJob),
        (document("RayService", {"rayClusterConfig": CLUSTER_SPEC}), RayService),
        (document("RayCronJob", {"schedule": "@daily", "jobTemplate": {"entrypoint": "x"}}), RayCronJob),
    ],
)
def test_each_kind_is_read_as_its_struct(tree: Tree, struct: type) -> None:
    answer = taken(tree)
    assert type(answer.object) is struct
    assert answer.warnings == ()
    assert answer.object.metadata.name == "demo"


def test_defaults_are_in_the_tree_and_in_the_object() -> None:
    answer = taken(document())
    group = answer.tree["spec"]["workerGroupSpecs"][0]
    assert {name: group[name] for name in ("replicas", "minReplicas", "maxReplicas", "numOfHosts", "priority")} == {
        "replicas": 0,
        "minReplicas": 0,
        "maxReplicas": 2147483647,
        "numOfHosts": 1,
        "priority": 0,
    }
    assert group["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 6379, "protocol": "TCP"}]
    assert isinstance(answer.object, RayCluster)
    assert answer.object.spec.worker_group_specs is not None
    assert answer.object.spec.worker_group_specs[0].max_replicas == 2147483647


def test_defaults_come_only_where_the_parent_is() -> None:
    assert "networkPolicy" not in taken(document()).tree["spec"]
    assert taken(document(spec=CLUSTER_SPEC | {"networkPolicy": {}})).tree["spec"]["networkPolicy"] == {
        "mode": "DenyAll"
    }


def test_a_null_counts_as_absent() -> None:
    answer = taken(
        document(spec=CLUSTER_SPEC | {"suspend": None}, metadata={"name": "demo", "creationTimestamp": None})
    )
    assert "suspend" not in answer.tree["spec"]
    assert answer.tree["metadata"] == {"name": "demo"}


def test_a_float_without_fraction_is_an_integer() -> None:
    spec = copy_tree(CLUSTER_SPEC)
    spec["workerGroupSpecs"][0]["replicas"] = 2.0
    replicas = taken(document(spec=spec)).tree["spec"]["workerGroupSpecs"][0]["replicas"]
    assert (replicas, type(replicas)) == (2, int)


@pytest.mark.parametrize(
    ("tree", "path", "fix"),
    [
        (None, "(document)", "write apiVersion, kind, metadata and spec"),
        ([], "(document)", "write apiVersion, kind, metadata and spec"),
        ({}, "kind", "use one of RayCluster, RayJob, RayService, RayCronJob"),
        ({"kind": 1}, "kind", "use one of RayCluster, RayJob, RayService, RayCronJob"),
        (document("RayClutser"), "kind", "did you mean RayCluster?"),
        (document("Pod"), "kind", "use one of RayCluster, RayJob, RayService, RayCronJob"),
        (document(version="v2"), "apiVersion", "write apiVersion: ray.io/v1"),
        (document("RayCronJob", version="v1alpha1"), "apiVersion", "write apiVersion: ray.io/v1"),
        ({"kind": "RayJob"}, "apiVersion", "write apiVersion: ray.io/v1"),
        ({"kind": "RayJob", "apiVersion": ["ray.io/v1"]}, "apiVersion", "write apiVersion: ray.io/v1"),
    ],
)
def test_an_unknown_kind_or_version_is_told_with_what_to_write(tree: Any, path: str, fix: str) -> None:
    problem = only_problem(tree)
    assert (format_path(problem.path), problem.fix, problem.rule) == (path, fix, "document.version")


@pytest.mark.parametrize(
    ("metadata", "path", "rule"),
    [
        ({}, "metadata.name", "metadata.required"),
        (None, "metadata", "schema.required"),
        ([], "metadata", "schema.type"),
        ({"name": 1}, "metadata.name", "schema.type"),
        ({"name": "Demo"}, "metadata.name", "metadata.name"),
        ({"name": "demo", "namespace": "a.b"}, "metadata.namespace", "metadata.name"),
        ({"name": "demo", "labels": {"x": True}}, "metadata.labels.x", "schema.type"),
        ({"name": "demo", "labels": {"x": "a b"}}, "metadata.labels.x", "metadata.name"),
        ({"name": "demo", "labels": {"a b": "x"}}, "metadata.labels[a b]", "metadata.name"),
        ({"name": "demo", "annotations": {"a b": "x"}}, "metadata.annotations[a b]", "metadata.name"),
        ({"name": "demo", "annotations": {"x": 1}}, "metadata.annotations.x", "schema.type"),
    ],
)
def test_metadata_is_held_to_the_rules_of_every_kubernetes_object(metadata: Any, path: str, rule: str) -> None:
    problem = only_problem(document(metadata=metadata))
    assert (format_path(problem.path), problem.rule, problem.severity) == (path, rule, "error")


def test_a_generated_name_has_its_length_before_it_has_its_letters() -> None:
    answer = taken(document(metadata={"generateName": "demo-"}))
    assert answer.object.metadata.name == answer.tree["metadata"]["name"] == "demo-xxxxx"


def test_every_schema_error_is_told_not_only_the_first() -> None:
    spec = copy_tree(CLUSTER_SPEC)
    spec["suspend"] = "true"
    spec["workerGroupSpecs"][0]["replicas"] = "2"
    spec["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["image"] = 7
    del spec["headGroupSpec"]["template"]
    assert [format_path(problem.path) for problem in problems_of(document(spec=spec))] == [
        "spec.headGroupSpec.template",
        "spec.workerGroupSpecs[0].template.spec.containers[0].image",
        "spec.workerGroupSpecs[0].replicas",
        "spec.suspend",
    ]


def test_a_misspelt_field_is_a_warning_and_stays_in_the_tree() -> None:
    spec = copy_tree(CLUSTER_SPEC)
    spec["headGroupSpec"]["rayStartParam"] = {}
    answer = taken(document(spec=spec))
    (warning,) = answer.warnings
    assert (format_path(warning.path), warning.fix) == (
        "spec.headGroupSpec.rayStartParam",
        "did you mean rayStartParams?",
    )
    assert "rayStartParam" in answer.tree["spec"]["headGroupSpec"]


RULE_CASES: list[tuple[Tree, str | None]] = [
    ({"managedBy": "ray.io/kuberay-operator"}, None),
    ({"managedBy": "kueue.x-k8s.io/multikueue"}, None),
    ({"managedBy": "me"}, "spec.managedBy"),
    ({"deletionStrategy": {"onSuccess": {}, "onFailure": {}}}, None),
    ({"deletionStrategy": {"onSuccess": {}}}, "spec.deletionStrategy"),
    ({"deletionStrategy": {}}, "spec.deletionStrategy"),
    (
        {
            "deletionStrategy": {
                "onSuccess": {},
                "deletionRules": [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}],
            }
        },
        "spec.deletionStrategy",
    ),
    ({"deletionStrategy": {"deletionRules": [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}]}}, None),
    (
        {"deletionStrategy": {"deletionRules": [{"policy": "DeleteSelf", "condition": {}}]}},
        "spec.deletionStrategy.deletionRules[0].condition",
    ),
    (
        {
            "deletionStrategy": {
                "deletionRules": [
                    {"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}}
                ]
            }
        },
        "spec.deletionStrategy.deletionRules[0].condition",
    ),
]


@pytest.mark.parametrize(("fields", "path"), RULE_CASES)
def test_the_rules_for_new_objects_hold(fields: Tree, path: str | None) -> None:
    tree = document("RayJob", {"rayClusterSpec": CLUSTER_SPEC, **fields})
    if path is None:
        taken(tree)
    else:
        problem = only_problem(tree)
        assert (format_path(problem.path), problem.rule) == (path, "schema.rule")


@pytest.mark.parametrize(
    ("kind", "version", "spec"),
    [
        ("RayCluster", "v1", None),
        ("RayJob", "v1", None),
        ("RayService", "v1", None),
        ("RayCronJob", "v1", None),
        ("RayService", "v1alpha1", {"serveConfigV2": ""}),
    ],
)
def test_a_spec_that_the_schema_lets_one_leave_out_is_read_as_an_empty_one(kind: str, version: str, spec: Any) -> None:
    answer = taken(document(kind, spec, version))
    assert answer.tree.get("spec", {}).keys() <= {"serveConfigV2"}


class TestV1alpha1:
    def test_it_is_read_as_v1_with_a_warning(self) -> None:
        answer = taken(document(version="v1alpha1"))
        (warning,) = answer.warnings
        assert warning.rule == "document.deprecated"
        assert warning.problem.startswith("ray.io/v1alpha1 RayCluster is deprecated; use ray.io/v1 RayCluster.")
        assert type(answer.object) is RayCluster
        assert answer.tree["apiVersion"] == answer.object.api_version == "ray.io/v1"

    def test_it_gets_the_defaults_of_v1(self) -> None:
        assert taken(document(version="v1alpha1")).tree["spec"]["workerGroupSpecs"][0]["numOfHosts"] == 1

    def test_its_own_schema_decides_what_is_required(self) -> None:
        spec = copy_tree(CLUSTER_SPEC)
        del spec["headGroupSpec"]["rayStartParams"]
        taken(document(spec=spec))
        errors = [
            problem for problem in problems_of(document(spec=spec, version="v1alpha1")) if problem.severity == "error"
        ]
        assert [format_path(problem.path) for problem in errors] == ["spec.headGroupSpec.rayStartParams"]

    def test_fields_it_does_not_have_are_dropped_with_a_warning(self) -> None:
        answer = taken(document(spec=CLUSTER_SPEC | {"tlsOptions": {"enabled": True}}, version="v1alpha1"))
        assert [warning.rule for warning in answer.warnings] == ["document.deprecated", "schema.unknown-field"]
        assert isinstance(answer.object, RayCluster)
        assert answer.object.spec.tls_options is None


@pytest.mark.parametrize(
    ("tree", "is_ours"),
    [
        (document(), True),
        ({"apiVersion": "ray.io/v7"}, True),
        ({"kind": "RayJob"}, True),
        ({"apiVersion": "v1", "kind": "Service"}, False),
        ([], False),
        ({"kind": ["RayJob"]}, False),
    ],
)
def test_a_document_that_means_to_be_ours_is_recognised(tree: Any, is_ours: bool) -> None:
    assert is_ray_document(tree) is is_ours


def test_nesting_beyond_all_bounds_is_refused_and_no_crash() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    assert only_problem(document(spec=None) | {"spec": {"x": deep}}).problem == "is nested too deeply"


def test_a_document_full_of_mistakes_is_refused_before_its_metadata_is_looked_at() -> None:
    spec = CLUSTER_SPEC | {f"mistake{number}": 1 for number in range(2 * MAX_PROBLEMS)}
    tree = {
        "spec": spec,
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "a", "labels": {"x": 1}},
    }
    assert len(problems_of(tree)) == MAX_PROBLEMS + 1


scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
spec_fields = st.dictionaries(
    st.sampled_from(["suspend", "rayVersion", "workerGroupSpecs", "headGroupSpec", "managedBy", "networkPolicy", "x"]),
    trees,
    max_size=4,
)
versions = st.sampled_from(["v1", "v1alpha1"])


@given(spec_fields, versions, st.sampled_from(["RayCluster", "RayJob", "RayService"]))
def test_the_given_tree_is_never_changed(fields: Tree, version: str, kind: str) -> None:
    tree = document(kind, CLUSTER_SPEC | fields, version)
    before = json.dumps(tree)
    accept(tree)
    assert json.dumps(tree) == before


@given(spec_fields, st.dictionaries(st.text(), trees, max_size=3))
def test_an_accepted_document_keeps_every_field_value_and_order(fields: Tree, unknown: Tree) -> None:
    tree = document(spec=CLUSTER_SPEC | {"unknownPart": unknown} | fields)
    answer = accept(tree)
    if isinstance(answer, Accepted):
        kept = [name for name in answer.tree["spec"] if name in tree["spec"]]
        assert kept == [name for name, value in tree["spec"].items() if value is not None or name == "x"]
        assert json.dumps(answer.tree["spec"]["unknownPart"]) == json.dumps(unknown)


@given(trees)
def test_any_tree_gets_an_answer_with_fixes(tree: Any) -> None:
    answer = accept({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "a"}, "spec": tree})
    found = answer.problems if isinstance(answer, Refused) else answer.warnings
    assert all(problem.problem and problem.fix and problem.rule for problem in found)


def test_accepting_what_was_accepted_changes_nothing_more() -> None:
    once = taken(document()).tree
    assert taken(once).tree == once
