"""RayCluster as a whole: metadata, upgrade strategy, status, the order of rules, events, and half-broken specs."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.api.raycluster import RayCluster, RayClusterSpec
from heliostat.api.settings import GATES, Settings
from heliostat.api.validation import advice, cluster_problems, event_of, refusal, spec_problems
from ray_documents import Tree, brief, cluster, cluster_spec, env, group, groups, head, with_gates

NAME = "metadata.name"
BOTH_SUSPENDED = {
    "conditions": [
        {"type": "RayClusterSuspending", "status": "True"},
        {"type": "RayClusterSuspended", "status": "True"},
    ]
}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("demo", []),
        ("a" * 53, []),
        ("a" * 54, [("V-M1", NAME)]),
        ("1demo", [("V-M2", NAME)]),
        ("de.mo", [("V-M2", NAME)]),
        ("A" * 60, [("V-M1", NAME), ("V-M2", NAME)]),
    ],
)
def test_names(name: str, found: list[tuple[str, str]]) -> None:
    problems = list(cluster_problems(cluster(name=name), Settings()))
    assert brief(problems) == found
    assert {problem.reason for problem in problems} <= {"InvalidRayClusterMetadata"}


def test_name_texts() -> None:
    long, label = cluster_problems(cluster(name="A" * 54), Settings())
    assert long.problem == "RayCluster name should be no more than 53 characters"
    assert label.problem.startswith(
        "RayCluster name should be a valid DNS1035 label: [a DNS-1035 label must consist of"
    )


@pytest.mark.parametrize(
    ("strategy", "creator", "rules"),
    [
        ({}, "RayJob", []),
        ({"type": "Recreate"}, "", []),
        ({"type": "None"}, "RayCluster", []),
        ({"type": "Recreate"}, "somebody", []),
        ({"type": "None"}, "RayJob", ["V-U2"]),
        ({"type": "Recreate"}, "RayService", ["V-U2"]),
    ],
)
def test_upgrade_strategies(strategy: Tree, creator: str, rules: list[str]) -> None:
    subject = cluster({"upgradeStrategy": strategy}, labels={"ray.io/originated-from-crd": creator})
    problems = list(cluster_problems(subject, Settings()))
    assert [problem.rule for problem in problems] == rules
    assert [event_of(problem, "ns", "demo").note for problem in problems] == [
        "The RayCluster UpgradeStrategy is invalid ns/demo:"
        f" upgradeStrategy cannot be set when RayCluster is created by {creator}"
        for _ in rules
    ]


def test_an_unknown_upgrade_type_is_refused() -> None:
    subject = cluster({"upgradeStrategy": {"type": "None"}})
    strategy: Any = subject.spec.upgrade_strategy
    odd = msgspec.structs.replace(subject.spec, upgrade_strategy=msgspec.structs.replace(strategy, type="Rolling"))
    (problem,) = cluster_problems(msgspec.structs.replace(subject, spec=odd), Settings())
    assert (problem.rule, problem.reason) == ("V-U1", "InvalidRayClusterSpec")
    assert "Spec.UpgradeStrategy.Type value Rolling is invalid, valid options are Recreate or None" in problem.problem


def test_suspending_and_suspended_at_once_is_refused() -> None:
    (problem,) = cluster_problems(cluster(status=BOTH_SUSPENDED), Settings())
    assert (problem.rule, problem.reason) == ("V-T1", "InvalidRayClusterStatus")
    assert event_of(problem, "ns", "demo").note == (
        "The RayCluster status is invalid ns/demo, invalid RayCluster State: rayv1.RayClusterSuspending and"
        " rayv1.RayClusterSuspended conditions should not be both true"
    )


@pytest.mark.parametrize("status", [{}, {"conditions": None}, {"conditions": BOTH_SUSPENDED["conditions"][:1]}])
def test_other_statuses_are_accepted(status: Tree) -> None:
    assert brief(cluster_problems(cluster(status=status), Settings())) == []


EVERYTHING_BROKEN: list[Tree] = [
    head(env(REDIS_USERNAME="u", RAY_USE_TLS="1"), labels={"!": ""}),
    groups(group("A_b", minReplicas=5, suspend=True, pod={"restartPolicy": "Always"})),
    {"gcsFaultToleranceOptions": {"backend": "redis", "storage": {}}},
    {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v1"}},
    {"historyServerOptions": {}},
    {"authOptions": {"mode": "token"}},
    {"networkPolicy": {}},
    {"tlsOptions": {"enabled": True}},
    {"upgradeStrategy": {"type": "Recreate"}},
]


def test_all_findings_come_in_kuberays_order() -> None:
    subject = cluster(
        *EVERYTHING_BROKEN, status=BOTH_SUSPENDED, name="1", labels={"ray.io/originated-from-crd": "RayService"}
    )
    settings = msgspec.structs.replace(with_gates(RayClusterMTLS=True), cert_manager=False)
    rules = " ".join(problem.rule for problem in cluster_problems(subject, settings))
    assert rules == "V-M2 V-S4 V-S9 V-S27 V-S28 V-S31 V-S37 V-S38 V-S45 V-S48 V-S50 V-S53 R1-3.5 R1-3.6 V-U2 V-T1"


def test_the_first_error_is_the_verdict_and_later_rules_are_not_asked_for_it() -> None:
    subject = cluster(groups(group(minReplicas=9)), {"historyServerOptions": {}})
    no_gate_known = Settings(gates={})  # the rules of the history server would fail on it
    verdict = refusal(cluster_problems(subject, no_gate_known))
    assert verdict is not None
    assert verdict.rule == "V-S9"
    with pytest.raises(KeyError):
        list(cluster_problems(subject, no_gate_known))


def test_reasons_and_frames_of_events() -> None:
    problems = list(cluster_problems(cluster(groups(group(minReplicas=9)), name="1"), Settings()))
    events = [event_of(problem, "ns", "1") for problem in problems]
    assert [(event.type, event.reason, event.action) for event in events] == [
        ("Warning", "InvalidRayClusterMetadata", "Validate"),
        ("Warning", "InvalidRayClusterSpec", "Validate"),
    ]
    assert events[0].note.startswith("The RayCluster metadata is invalid ns/1: RayCluster name should be a valid")
    assert events[1].note == (
        "The RayCluster spec is invalid ns/1: worker group g0 has minReplicas 9 greater than maxReplicas 3"
    )


def test_spec_problems_point_into_the_document_that_holds_the_spec() -> None:
    spec = msgspec.convert(cluster_spec(groups(group(idleTimeoutSeconds=1))), RayClusterSpec)
    (problem,) = spec_problems(spec, None, Settings(), ("spec", "rayClusterSpec"))
    assert brief([problem]) == [("V-S13", "spec.rayClusterSpec.workerGroupSpecs[0].idleTimeoutSeconds")]
    assert problem.fix.startswith("set spec.rayClusterSpec.autoscalerOptions.version: v2")


def test_two_groups_of_one_name_are_advised_against() -> None:
    subject = cluster(groups(group("a"), group("b"), group("a")))
    assert brief(cluster_problems(subject, Settings())) == []
    (warning,) = advice(subject)
    assert (warning.severity, warning.reason) == ("warning", "")
    assert brief([warning]) == [("webhook.unique-groups", "spec.workerGroupSpecs[2].groupName")]


def test_an_autoscaler_without_worker_groups_is_advised_against() -> None:
    """Ray's own ends with KeyError: 'workerGroupSpecs', again and again, and the head is never ready."""
    for is_autoscaling, told in ((False, []), (True, [("autoscaler-without-groups", "spec.enableInTreeAutoscaling")])):
        subject = cluster({"workerGroupSpecs": None, "enableInTreeAutoscaling": is_autoscaling})
        assert brief(advice(subject)) == told


@pytest.mark.parametrize(
    ("requests", "limits", "told"),
    [
        ({"cpu": "3"}, {"cpu": "2"}, "3 is more than the limit of 2"),
        ({"cpu": 2}, {"cpu": "1500m"}, "2 is more than the limit of 1500m"),
        ({"memory": "1Gi"}, {"memory": "1G"}, "1Gi is more than the limit of 1G"),
        ({"cpu": "2"}, {"cpu": 2}, ""),
        ({"cpu": "3"}, {"memory": "1"}, ""),
        ({"cpu": "many"}, {"cpu": "1"}, ""),
        (None, [], ""),
    ],
)
def test_a_request_beyond_its_limit_is_advised_against(requests: Any, limits: Any, told: str) -> None:
    """The API server takes such a Pod from nobody, and neither KubeRay nor the schema says so before."""
    resources = {"resources": {"requests": requests, "limits": limits}}
    found = list(advice(cluster(groups(group(container=resources)))))
    at = f"spec.workerGroupSpecs[0].template.spec.containers[0].resources.requests.{next(iter(requests or ['']))}"
    assert brief(found) == ([("requests-within-limits", at)] if told else [])
    assert all(problem.problem.startswith(told) for problem in found)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "gcs-storage", "Always", "true"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "containers", "env", "name", "value", "volumeMounts", "volumes", "restartPolicy"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
TEMPLATES = st.dictionaries(st.sampled_from(["spec", "metadata"]), JUNK, max_size=2) | st.fixed_dictionaries(
    {"spec": st.dictionaries(st.sampled_from(["containers", "volumes", "restartPolicy"]), JUNK, max_size=3)}
)
ALL_GATES = [Settings(gates=dict.fromkeys(GATES, value)) for value in (True, False)]
BACKENDS = st.sampled_from(["redis", "rocksdb"])


@given(TEMPLATES, TEMPLATES, BACKENDS, st.sampled_from(["v1", "v2"]), st.booleans(), st.sampled_from(ALL_GATES))
def test_no_template_however_broken_stops_the_rules(
    head_template: Tree, worker_template: Tree, backend: str, version: str, autoscaling: bool, settings: Settings
) -> None:
    spec = cluster_spec(
        *EVERYTHING_BROKEN,
        {"headGroupSpec": {"template": head_template}},
        groups(group() | {"template": worker_template}),
        {"gcsFaultToleranceOptions": {"backend": backend}},
        {"enableInTreeAutoscaling": autoscaling, "autoscalerOptions": {"version": version}},
    )
    tree = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "demo"}, "spec": spec}
    problems = list(cluster_problems(msgspec.convert(tree, RayCluster), settings))
    assert all(problem.problem and problem.fix and problem.rule for problem in problems)
    assert "V-S45" in {problem.rule for problem in problems}
