"""V-S29 to V-S36 and the warning about autoscaler v1: group suspension and the autoscaler."""

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems, event_of, refusal
from ray_documents import Tree, brief, cluster, env, group, groups, head, with_gates

ON: Tree = {"enableInTreeAutoscaling": True}
HEAD_ENV = "spec.headGroupSpec.template.spec.containers[0].env"
WITHOUT_SUSPEND = with_gates(RayJobDeletionPolicy=False)
ALWAYS: Tree = {"restartPolicy": "Always"}


def scaler(**options: object) -> Tree:
    return ON | {"autoscalerOptions": options}


ACCEPTED: list[tuple[str, list[Tree]]] = [
    ("a suspended group without autoscaling", [groups(group(suspend=True))]),
    ("suspend: false with autoscaling", [ON, groups(group(suspend=False))]),
    ("the variable with autoscaling", [ON, head(env(RAY_enable_autoscaler_v2="true"))]),
    ("the variable switched off without autoscaling", [head(env(RAY_enable_autoscaler_v2="0"))]),
    ("the variable in another spelling without autoscaling", [head(env(RAY_enable_autoscaler_v2="True"))]),
    (
        "the variable with a version, autoscaling off",
        [{"autoscalerOptions": {"version": "v1"}}, head(env(RAY_enable_autoscaler_v2="0"))],
    ),
    (
        "v2 with Never",
        [scaler(version="v2"), head(pod={"restartPolicy": "Never"}), groups(group(pod={"restartPolicy": ""}))],
    ),
    ("restart policies without a version", [ON, head(pod=ALWAYS), groups(group(pod=ALWAYS))]),
    ("restart policies with v2 but autoscaling off", [{"autoscalerOptions": {"version": "v2"}}, head(pod=ALWAYS)]),
    ("v1 with a restarting head", [scaler(version="v1"), head(pod=ALWAYS)]),
    ("v1 with autoscaling off", [{"autoscalerOptions": {"version": "v1"}}, groups(group(pod=ALWAYS))]),
    ("an idle timeout of zero", [scaler(idleTimeoutSeconds=0)]),
    ("other variables for the autoscaler", [scaler(env=[{"name": "A", "value": "1"}])]),
]


@pytest.mark.parametrize(("title", "parts"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree]) -> None:
    assert brief(cluster_problems(cluster(*parts), Settings())) == []


REFUSED: list[tuple[str, Settings, list[Tree], list[tuple[str, str]], str]] = [
    (
        "suspension without its gate",
        WITHOUT_SUSPEND,
        [groups(group("a"), group("b", suspend=True))],
        [("V-S29", "spec.workerGroupSpecs[1].suspend")],
        "RayJobDeletionPolicy feature gate",
    ),
    (
        "v2 by env without autoscaling",
        Settings(),
        [head(env(RAY_enable_autoscaler_v2="true"))],
        [("V-S30", f"{HEAD_ENV}[0]")],
        "environment variable RAY_enable_autoscaler_v2 cannot be set to 'true' when enableInTreeAutoscaling is false.",
    ),
    (
        "suspension with autoscaling",
        Settings(),
        [ON, groups(group("a"), group("b", suspend=True))],
        [("V-S31", "spec.workerGroupSpecs[1].suspend")],
        "worker group b cannot be suspended with Autoscaler enabled",
    ),
    (
        "version and variable",
        Settings(),
        [scaler(version="v1"), head(env(A="1", RAY_enable_autoscaler_v2="0"))],
        [("V-S32", f"{HEAD_ENV}[1]")],
        "both .spec.autoscalerOptions.version and head Pod env var RAY_enable_autoscaler_v2 are set, please only use",
    ),
    (
        "v2 with a restarting head",
        Settings(),
        [scaler(version="v2"), head(pod=ALWAYS)],
        [("V-S33", "spec.headGroupSpec.template.spec.restartPolicy")],
        "restartPolicy for head Pod should be Never or unset when using autoscaler V2",
    ),
    (
        "v2 with a restarting group",
        Settings(),
        [scaler(version="v2"), head(pod={"restartPolicy": "Never"}), groups(group(pod={"restartPolicy": "OnFailure"}))],
        [("V-S34", "spec.workerGroupSpecs[0].template.spec.restartPolicy")],
        "restartPolicy for worker group g0 should be Never or unset when using autoscaler V2",
    ),
    (
        "negative idle timeout, autoscaling off",
        Settings(),
        [{"autoscalerOptions": {"idleTimeoutSeconds": -1}}],
        [("V-S35", "spec.autoscalerOptions.idleTimeoutSeconds")],
        "autoscalerOptions.idleTimeoutSeconds must be non-negative, got -1",
    ),
    (
        "the start command",
        Settings(),
        [scaler(env=[{"name": "A"}, {"name": "KUBERAY_GEN_AUTOSCALER_START_CMD", "value": "x"}])],
        [("V-S36", "spec.autoscalerOptions.env[1]")],
        "KUBERAY_GEN_AUTOSCALER_START_CMD: it is managed by KubeRay and injected automatically into the autoscaler",
    ),
]


@pytest.mark.parametrize(("title", "settings", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, settings: Settings, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(cluster_problems(cluster(*parts), settings))
    assert brief(problems) == found
    assert text in problems[0].problem


def test_v1_with_restarting_workers_is_accepted_with_one_warning() -> None:
    workers = groups(group("a", pod=ALWAYS), group("b"), group("c", pod={"restartPolicy": "OnFailure"}))
    subject = cluster(scaler(version="v1"), workers)
    (warning,) = cluster_problems(subject, Settings())
    assert (warning.severity, warning.reason) == ("warning", "InvalidRayClusterSpec")
    assert refusal(cluster_problems(subject, Settings())) is None
    assert event_of(warning, "ns", "demo").note == (
        "RayCluster spec warning ns/demo: restartPolicy for worker groups [a, c] should be Never or unset when using"
        " autoscaler V1"
    )


def test_suspension_without_gate_and_with_autoscaling_gives_both_gate_first() -> None:
    problems = cluster_problems(cluster(ON, groups(group(suspend=True))), WITHOUT_SUSPEND)
    assert [problem.rule for problem in problems] == ["V-S29", "V-S31"]
