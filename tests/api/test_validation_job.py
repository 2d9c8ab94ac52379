"""RayJob: names, the rules of its spec in order, the RayCluster inside, and its status."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import advice, event_of, job_problems, refusal
from ray_documents import Tree, brief, cluster_spec, group, groups, head, job

SPEC = "The RayJob spec is invalid: "
SELECTOR: Tree = {"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "c"}}
SIDECAR: Tree = {"submissionMode": "SidecarMode"}
INTERACTIVE: Tree = {"submissionMode": "InteractiveMode"}


def inside(*parts: Tree) -> Tree:
    return {"rayClusterSpec": cluster_spec(*parts)}


ACCEPTED: list[tuple[str, list[Tree]]] = [
    ("a plain job", []),
    ("a job on a cluster of its own, suspended", [{"suspend": True, "shutdownAfterJobFinishes": True}]),
    ("a time to live", [{"ttlSecondsAfterFinished": 60, "shutdownAfterJobFinishes": True}]),
    ("a time to live of zero", [{"ttlSecondsAfterFinished": 0}]),
    ("a selected cluster", [SELECTOR]),
    ("a selected cluster, no retry", [SELECTOR, {"backoffLimit": 0}]),
    ("no retry in interactive mode", [INTERACTIVE, {"backoffLimit": 0}]),
    ("retries", [{"backoffLimit": 3}]),
    ("sidecar with Never", [SIDECAR, inside(head(pod={"restartPolicy": "Never"}))]),
    ("sidecar with retries", [SIDECAR, {"backoffLimit": 3}]),
    ("a submitter template in K8sJobMode", [{"submitterPodTemplate": {}, "submitterConfig": {}}]),
    ("an unknown submission mode", [{"submissionMode": "CarrierPigeon"}]),
    ("a runtime environment", [{"runtimeEnvYAML": "pip: [requests]\nenv_vars:\n  A: y\n"}]),
    ("an empty runtime environment", [{"runtimeEnvYAML": ""}]),
    ("a runtime environment of comments", [{"runtimeEnvYAML": "# nothing\n"}]),
    ("a runtime environment in JSON", [{"runtimeEnvYAML": '{"pip": ["requests"]}'}]),
    ("deadlines", [{"activeDeadlineSeconds": 1, "preRunningDeadlineSeconds": 1}]),
    ("an upgrade strategy, which its cluster is refused for", [inside({"upgradeStrategy": {"type": "None"}})]),
]


@pytest.mark.parametrize(("title", "parts"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree]) -> None:
    assert brief(job_problems(job(*parts), Settings())) == []


REFUSED: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "suspended without shutdown",
        [{"suspend": True}],
        [("RJ-S1", "spec.suspend")],
        f"{SPEC}a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
    ),
    (
        "negative time to live",
        [{"ttlSecondsAfterFinished": -1}],
        [("RJ-S2", "spec.ttlSecondsAfterFinished")],
        f"{SPEC}TTLSecondsAfterFinished must be a non-negative integer",
    ),
    (
        "time to live without shutdown",
        [{"ttlSecondsAfterFinished": 1}],
        [("RJ-S3", "spec.ttlSecondsAfterFinished")],
        f"{SPEC}a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished",
    ),
    (
        "suspended on a selected cluster",
        [SELECTOR, {"suspend": True, "shutdownAfterJobFinishes": True}],
        [("RJ-S10", "spec.suspend")],
        f"{SPEC}the ClusterSelector mode doesn't support the suspend operation",
    ),
    (
        "no cluster at all",
        [{"rayClusterSpec": None, "clusterSelector": {}}],
        [("RJ-S11", "spec")],
        f"{SPEC}one of RayClusterSpec or ClusterSelector must be set",
    ),
    (
        "a selector without the name",
        [{"clusterSelector": {"other": "x"}}],
        [("RJ-S12", "spec.clusterSelector")],
        "cluster name in ClusterSelector should not be empty",
    ),
    (
        "a selector with an empty name",
        [{"clusterSelector": {"ray.io/cluster": ""}}],
        [("RJ-S12", "spec.clusterSelector")],
        "cluster name in ClusterSelector should not be empty",
    ),
    (
        "a selector in sidecar mode",
        [SELECTOR, SIDECAR],
        [("RJ-S12", "spec.submissionMode")],
        "ClusterSelector is not supported in SidecarMode",
    ),
    (
        "a selector with retries",
        [SELECTOR, {"backoffLimit": 1}],
        [("RJ-S12", "spec.backoffLimit")],
        f"{SPEC}BackoffLimit is incompatible with ClusterSelector mode",
    ),
    (
        "interactive with retries",
        [INTERACTIVE, {"backoffLimit": 1}],
        [("RJ-S13", "spec.backoffLimit")],
        f"{SPEC}BackoffLimit is incompatible with InteractiveMode",
    ),
    (
        "sidecar with a submitter",
        [SIDECAR, {"submitterConfig": {}, "submitterPodTemplate": {}}],
        [("RJ-S14", "spec.submitterPodTemplate"), ("RJ-S14", "spec.submitterConfig")],
        "Currently, SidecarMode doesn't support SubmitterPodTemplate",
    ),
    (
        "sidecar with a restarting head",
        [SIDECAR, inside(head(pod={"restartPolicy": "Always"}))],
        [("RJ-S14", "spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy")],
        "restartPolicy for head Pod should be Never or unset when using SidecarMode",
    ),
    (
        "Kubernetes tokens",
        [inside({"authOptions": {"mode": "token", "enableK8sTokenAuth": True}, "rayVersion": "2.55.0"})],
        [("RJ-S15", "spec.rayClusterSpec.authOptions.enableK8sTokenAuth")],
        f"{SPEC}K8s token auth mode is currently not supported for RayJob",
    ),
    (
        "a broken cluster inside",
        [inside(groups(group(minReplicas=5)))],
        [("V-S9", "spec.rayClusterSpec.workerGroupSpecs[0].minReplicas")],
        f"{SPEC}worker group g0 has minReplicas 5 greater than maxReplicas 3",
    ),
    (
        "a runtime environment that is text",
        [{"runtimeEnvYAML": "invalid_yaml_string"}],
        [("RJ-S17", "spec.runtimeEnvYAML")],
        (
            "failed to unmarshal RuntimeEnvYAML: invalid_yaml_string: error unmarshaling JSON: while decoding JSON:"
            " json: cannot unmarshal string into Go value of type map[string]interface {}"
        ),
    ),
    (
        "a runtime environment that is a list",
        [{"runtimeEnvYAML": "- a"}],
        [("RJ-S17", "spec.runtimeEnvYAML")],
        (
            "failed to unmarshal RuntimeEnvYAML: - a: error unmarshaling JSON: while decoding JSON: json: cannot"
            " unmarshal array into Go value of type map[string]interface {}"
        ),
    ),
    (
        "a runtime environment that is no YAML",
        [{"runtimeEnvYAML": "bad: [\n"}],
        [("RJ-S17", "spec.runtimeEnvYAML")],
        (
            "failed to unmarshal RuntimeEnvYAML: bad: [\n: error converting YAML to JSON: yaml: line 1: did not find"
            " expected node content"
        ),
    ),
    (
        "a runtime environment whose first line is a value of its own",
        [{"runtimeEnvYAML": "pip\nconda: x"}],
        [("RJ-S17", "spec.runtimeEnvYAML")],
        (
            "failed to unmarshal RuntimeEnvYAML: pip\nconda: x: error converting YAML to JSON: yaml: line 2: mapping"
            " values are not allowed in this context"
        ),
    ),
    (
        "a runtime environment nested beyond reason",
        [{"runtimeEnvYAML": "a: " + "[" * 100_000}],
        [("RJ-S17", "spec.runtimeEnvYAML")],
        "failed to unmarshal RuntimeEnvYAML: ",
    ),
    (
        "deadlines and retries below their bounds",
        [{"activeDeadlineSeconds": 0, "preRunningDeadlineSeconds": -1, "backoffLimit": -1}],
        [
            ("RJ-S18", "spec.activeDeadlineSeconds"),
            ("RJ-S18", "spec.preRunningDeadlineSeconds"),
            ("RJ-S18", "spec.backoffLimit"),
        ],
        f"{SPEC}activeDeadlineSeconds must be a positive integer",
    ),
]


@pytest.mark.parametrize(("title", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(job_problems(job(*parts), Settings()))
    assert brief(problems) == found
    assert problems[0].problem.startswith(text)
    assert {problem.reason for problem in problems} == {"InvalidRayJobSpec"}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (
            {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": -1},
            "TTLSecondsAfterFinished must be a non-negative integer",
        ),
        ({"preRunningDeadlineSeconds": 0}, "preRunningDeadlineSeconds must be a positive integer"),
        ({"backoffLimit": -1}, "backoffLimit must be a positive integer"),
    ],
)
def test_the_words_are_kuberays(part: Tree, text: str) -> None:
    """People and their tools find them in ``status.message`` and in the event."""
    assert [problem.problem for problem in job_problems(job(part), Settings())] == [SPEC + text]


@pytest.mark.parametrize(
    ("name", "rules"), [("a" * 47, []), ("a" * 48, ["RJ-M1"]), ("a.b", ["RJ-M2"]), ("A" * 48, ["RJ-M1", "RJ-M2"])]
)
def test_names(name: str, rules: list[str]) -> None:
    problems = list(job_problems(job(name=name), Settings()))
    assert [problem.rule for problem in problems] == rules
    assert all(problem.problem.startswith("The RayJob metadata is invalid: RayJob name should") for problem in problems)


def submitter(**container: Any) -> Tree:
    return {"submitterPodTemplate": {"spec": {"containers": [{"name": "one", "image": "x", **container}]}}}


@pytest.mark.parametrize(
    ("parts", "rules"),
    [
        ([], ["advice.entrypoint"]),
        ([INTERACTIVE], []),
        ([submitter(args=["--", "python", "x.py"])], ["advice.entrypoint"]),
        ([submitter(command=["/submitter"], args=["--", "python", "x.py"])], []),
        ([submitter(command=["/submitter"]), {"submissionMode": "K8sJobMode"}], []),
        ([submitter(command=["/submitter"]), {"submissionMode": "HTTPMode"}], ["advice.entrypoint"]),
    ],
)
def test_a_job_without_an_entrypoint_has_nothing_to_run_unless_its_submitter_brings_it(
    parts: list[Tree], rules: list[str]
) -> None:
    """A command is put into a submitter that has none."""
    found = advice(job({"entrypoint": None}, *parts))
    assert [problem.rule for problem in found] == rules


def test_the_annotations_of_the_job_count_for_its_cluster() -> None:
    subject = job(inside({"gcsFaultToleranceOptions": {}}), annotations={"ray.io/ft-enabled": "true"})
    (problem,) = job_problems(subject, Settings())
    assert brief([problem]) == [("V-S15", "metadata.annotations[ray.io/ft-enabled]")]


@pytest.mark.parametrize(
    ("mode", "state", "rules"),
    [
        ("InteractiveMode", "Waiting", []),
        ("K8sJobMode", "Running", []),
        ("K8sJobMode", "Waiting", ["RJ-T1"]),
        (None, "Waiting", ["RJ-T1"]),
    ],
)
def test_waiting_is_for_interactive_jobs(mode: str | None, state: str, rules: list[str]) -> None:
    subject = job({"submissionMode": mode}, status={"jobDeploymentStatus": state})
    problems = list(job_problems(subject, Settings()))
    assert [problem.rule for problem in problems] == rules
    text = "JobDeploymentStatus cannot be `Waiting` when SubmissionMode is not InteractiveMode"
    assert all(problem.problem == f"The RayJob status is invalid: {text}" for problem in problems)
    assert all(problem.reason == "InvalidRayJobStatus" for problem in problems)


def test_all_findings_come_in_kuberays_order() -> None:
    cluster = inside(
        head(pod={"restartPolicy": "Always"}),
        {"authOptions": {"enableK8sTokenAuth": True}},
        groups(group(minReplicas=5)),
    )
    subject = job(
        cluster,
        SIDECAR,
        {"clusterSelector": {"x": "y"}, "backoffLimit": 1, "suspend": True, "ttlSecondsAfterFinished": 5},
        {"deletionStrategy": {}, "submitterConfig": {}, "runtimeEnvYAML": "x", "activeDeadlineSeconds": 0},
        name="A",
        status={"jobDeploymentStatus": "Waiting"},
    )
    rules = " ".join(problem.rule for problem in job_problems(subject, Settings()))
    assert rules == (
        "RJ-M2 RJ-S1 RJ-S3 RJ-S9 RJ-S10 RJ-S12 RJ-S12 RJ-S12 RJ-S14 RJ-S14 RJ-S15 V-S9 V-S47 RJ-S17 RJ-S18 RJ-T1"
    )


def test_the_event_of_a_refused_job() -> None:
    problem = refusal(job_problems(job({"suspend": True}), Settings()))
    assert problem is not None
    event = event_of(problem, "ns", "demo")
    assert (event.type, event.reason, event.action) == ("Warning", "InvalidRayJobSpec", "Validate")
    assert event.note.startswith("ns/demo: The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes")


def test_an_upgrade_strategy_inside_is_advised_against() -> None:
    (warning,) = advice(job(inside({"upgradeStrategy": {"type": "Recreate"}})))
    assert (warning.severity, warning.reason) == ("warning", "")
    assert brief([warning]) == [("V-U2", "spec.rayClusterSpec.upgradeStrategy.type")]
    assert warning.fix == "remove spec.rayClusterSpec.upgradeStrategy"
    assert list(advice(job(inside({"upgradeStrategy": {}})))) == []
    assert list(advice(job(SELECTOR))) == []


@pytest.mark.parametrize("template", [{}, {"spec": {"containers": []}}])
def test_a_submitter_template_without_a_container_is_warned_of(template: Tree) -> None:
    (warning,) = advice(job({"submitterPodTemplate": template}))
    assert brief([warning]) == [("advice.submitterPodTemplate", "spec.submitterPodTemplate")]
