"""RayService: metadata, the RayCluster inside, upgrades."""

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import advice, event_of, service_problems
from ray_documents import Tree, brief, cluster_spec, group, groups, head, service, with_gates

SPEC = "The RayService spec is invalid: "
METADATA = "The RayService metadata is invalid: "
TIMEOUT = "ray.io/initializing-timeout"
TYPES = "NewClusterWithIncrementalUpgrade, NewCluster, or None"
OPTIONS = "spec.upgradeStrategy.clusterUpgradeOptions"
AUTOSCALING: Tree = {"rayClusterConfig": cluster_spec({"enableInTreeAutoscaling": True})}


def inside(*parts: Tree) -> Tree:
    return {"rayClusterConfig": cluster_spec(*parts)}


def upgrade(kind: str | None, options: Tree | None = None) -> Tree:
    return {"upgradeStrategy": {"type": kind, "clusterUpgradeOptions": options}}


def incremental(**options: object) -> Tree:
    sound = {"stepSizePercent": 10, "intervalSeconds": 5, "gatewayClassName": "istio"}
    return upgrade("NewClusterWithIncrementalUpgrade", sound | options)


ACCEPTED: list[tuple[str, list[Tree]]] = [
    ("a plain service", []),
    ("an unnamed head service", [inside(head(headService={"metadata": {"labels": {}}}))]),
    ("no upgrade type", [upgrade(None)]),
    ("upgrades by a new cluster", [upgrade("NewCluster")]),
    ("no upgrades", [upgrade("None")]),
    ("an immediate deletion", [{"rayClusterDeletionDelaySeconds": 0}]),
    ("incremental upgrades", [AUTOSCALING, incremental()]),
    ("incremental upgrades in one step", [AUTOSCALING, incremental(maxSurgePercent=100, stepSizePercent=100)]),
    ("a step of zero", [AUTOSCALING, incremental(maxSurgePercent=0, stepSizePercent=0)]),
    ("an upgrade strategy, which its cluster is refused for", [inside({"upgradeStrategy": {"type": "None"}})]),
]


@pytest.mark.parametrize(("title", "parts"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree]) -> None:
    assert brief(service_problems(service(*parts), Settings())) == []


REFUSED: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "Kubernetes tokens",
        [inside({"authOptions": {"mode": "token", "enableK8sTokenAuth": True}, "rayVersion": "2.55.0"})],
        [("RS-3", "spec.rayClusterConfig.authOptions.enableK8sTokenAuth")],
        f"{SPEC}K8s token auth mode is currently not supported for RayService",
    ),
    (
        "a broken cluster inside",
        [inside(groups(group(minReplicas=5)))],
        [("V-S9", "spec.rayClusterConfig.workerGroupSpecs[0].minReplicas")],
        f"{SPEC}worker group g0 has minReplicas 5 greater than maxReplicas 3",
    ),
    (
        "a named head service",
        [inside(head(headService={"metadata": {"name": "mine"}}))],
        [("RS-5", "spec.rayClusterConfig.headGroupSpec.headService.metadata.name")],
        f"{SPEC}spec.rayClusterConfig.headGroupSpec.headService.metadata.name should not be set",
    ),
    (
        "an unknown upgrade type",
        [upgrade("Rolling")],
        [("RS-6", "spec.upgradeStrategy.type")],
        f"{SPEC}Spec.UpgradeStrategy.Type value Rolling is invalid, valid options are {TYPES}",
    ),
    (
        "an empty upgrade type",
        [upgrade("")],
        [("RS-6", "spec.upgradeStrategy.type")],
        f"{SPEC}Spec.UpgradeStrategy.Type value  is invalid, valid options are {TYPES}",
    ),
    (
        "a negative deletion delay",
        [{"rayClusterDeletionDelaySeconds": -1}],
        [("RS-7", "spec.rayClusterDeletionDelaySeconds")],
        f"{SPEC}Spec.RayClusterDeletionDelaySeconds should be a non-negative integer, got -1",
    ),
    (
        "incremental upgrades without autoscaling and options",
        [upgrade("NewClusterWithIncrementalUpgrade")],
        [("RS-8", "spec.rayClusterConfig.enableInTreeAutoscaling"), ("RS-8", OPTIONS)],
        f"{SPEC}Ray Autoscaler is required for NewClusterWithIncrementalUpgrade",
    ),
    (
        "percentages out of range",
        [AUTOSCALING, incremental(maxSurgePercent=101, stepSizePercent=-1)],
        [("RS-8", f"{OPTIONS}.maxSurgePercent"), ("RS-8", f"{OPTIONS}.stepSizePercent")],
        f"{SPEC}maxSurgePercent must be between 0 and 100",
    ),
    (
        "a step above the surge",
        [AUTOSCALING, incremental(maxSurgePercent=10, stepSizePercent=20)],
        [("RS-8", f"{OPTIONS}.stepSizePercent")],
        f"{SPEC}stepSizePercent must be less than or equal to maxSurgePercent",
    ),
    (
        "a step above 100 by default surge",
        [AUTOSCALING, incremental(stepSizePercent=101)],
        [("RS-8", f"{OPTIONS}.stepSizePercent"), ("RS-8", f"{OPTIONS}.stepSizePercent")],
        f"{SPEC}stepSizePercent must be between 0 and 100",
    ),
    (
        "no interval and no class",
        [AUTOSCALING, incremental(intervalSeconds=0, gatewayClassName="")],
        [("RS-8", f"{OPTIONS}.intervalSeconds"), ("RS-8", f"{OPTIONS}.gatewayClassName")],
        f"{SPEC}intervalSeconds must be greater than 0",
    ),
    (
        "no class",
        [AUTOSCALING, incremental(gatewayClassName="")],
        [("RS-8", f"{OPTIONS}.gatewayClassName")],
        f"{SPEC}gatewayClassName is required for NewClusterWithIncrementalUpgrade",
    ),
    (
        "no options",
        [AUTOSCALING, upgrade("NewClusterWithIncrementalUpgrade")],
        [("RS-8", OPTIONS)],
        f"{SPEC}ClusterUpgradeOptions are required for NewClusterWithIncrementalUpgrade",
    ),
]


@pytest.mark.parametrize(("title", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(service_problems(service(*parts), Settings()))
    assert brief(problems) == found
    assert problems[0].problem == text, "KubeRay's words: they stand in the condition and in the event"
    assert {problem.reason for problem in problems} == {"InvalidRayServiceSpec"}


@pytest.mark.parametrize("name", ["a" * 48, "a.b"])
def test_names(name: str) -> None:
    (problem,) = service_problems(service(name=name), Settings())
    assert (problem.rule, problem.reason) == ("RS-1", "InvalidRayServiceMetadata")
    assert problem.problem.startswith(f"{METADATA}RayService name should be")


@pytest.mark.parametrize("text", ["", "5m", "300", "1h30m", "+5", "0.5s"])
def test_timeouts(text: str) -> None:
    assert brief(service_problems(service(annotations={TIMEOUT: text}), Settings())) == []


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("invalid", "has invalid format: invalid. Expected Go duration format (e.g., '5m', '1h') or positive integer"),
        ("5 m", "has invalid format: 5 m."),
        ("1.5", "has invalid format: 1.5."),
        ("-5m", "must be a positive duration, got: -5m"),
        ("0", "must be a positive duration, got: 0"),
        ("-100", "must be a positive integer (seconds), got: -100"),
        ("00", "must be a positive integer (seconds), got: 00"),
    ],
)
def test_timeouts_that_are_refused(text: str, trouble: str) -> None:
    (problem,) = service_problems(service(annotations={TIMEOUT: text}), Settings())
    assert brief([problem]) == [("RS-2", f"metadata.annotations[{TIMEOUT}]")]
    assert problem.problem.startswith(f"{METADATA}RayService annotations is invalid: annotation {TIMEOUT} {trouble}")


def test_the_rules_of_incremental_upgrades_sleep_without_the_gate() -> None:
    subject = service(upgrade("NewClusterWithIncrementalUpgrade"))
    assert brief(service_problems(subject, with_gates(RayServiceIncrementalUpgrade=False))) == []


def test_all_findings_come_in_kuberays_order() -> None:
    subject = service(
        inside(
            head(headService={"metadata": {"name": "x"}}),
            {"authOptions": {"enableK8sTokenAuth": True}},
            groups(group(minReplicas=5)),
        ),
        {"rayClusterDeletionDelaySeconds": -1},
        incremental(intervalSeconds=0),
        name="A",
        annotations={TIMEOUT: "x"},
    )
    rules = " ".join(problem.rule for problem in service_problems(subject, Settings()))
    assert rules == "RS-1 RS-2 RS-3 V-S9 V-S47 RS-5 RS-7 RS-8 RS-8"


def test_the_event_of_a_refused_service() -> None:
    (problem,) = service_problems(service(name="a.b"), Settings())
    assert event_of(problem, "ns", "a.b").note.startswith("ns/a.b: The RayService metadata is invalid: RayService name")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("applications: [{}, {}]", "two applications have the name default; give each its own; "),
        ("nonsense", "the text has to be a map with a list of applications; it is 'nonsense'; "),
    ],
)
def test_what_is_wrong_with_a_configuration_follows_on_the_name_of_its_field(text: str, told: str) -> None:
    (warning,) = advice(service({"serveConfigV2": text}))
    assert warning.problem == f"{told}nothing of it is given to Serve"


@pytest.mark.parametrize("text", ["applications: [", "nonsense", "applications: {}", "applications: [{}, {}]"])
def test_a_configuration_that_serve_cannot_be_given_is_accepted_and_warned_of(text: str) -> None:
    subject = service({"serveConfigV2": text})
    assert list(service_problems(subject, Settings())) == []
    (warning,) = advice(subject)
    assert brief([warning]) == [("rayservice-config-checked", "spec.serveConfigV2")]
    assert (warning.severity, "route_prefix of its own" in warning.fix) == ("warning", True)


def test_an_upgrade_strategy_inside_is_advised_against() -> None:
    (warning,) = advice(service(inside({"upgradeStrategy": {"type": "Recreate"}})))
    assert brief([warning]) == [("V-U2", "spec.rayClusterConfig.upgradeStrategy.type")]
    assert "created by RayService" in warning.problem
