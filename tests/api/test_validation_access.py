"""V-S45 to V-S54 and cert-manager: token authentication, network policies, mutual TLS."""

import msgspec
import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems, event_of
from ray_documents import Tree, brief, cluster, env, group, groups, head, with_gates

ON = with_gates(RayClusterNetworkPolicy=True, RayClusterMTLS=True)
RULES: list[Tree] = [{}]
CONTAINER = "template.spec.containers[0]"


def auth(version: str | None = None, **options: object) -> Tree:
    return {"authOptions": options} | ({} if version is None else {"rayVersion": version})


def policy(**fields: object) -> Tree:
    return {"networkPolicy": fields}


def tls(*, enabled: bool = True) -> Tree:
    return {"tlsOptions": {"enabled": enabled}}


def mount(**fields: str) -> Tree:
    return {"volumeMounts": [fields]}


ACCEPTED: list[tuple[str, list[Tree]]] = [
    ("token with the first version", [auth("2.52.0", mode="token")]),
    ("token with a release candidate", [auth("2.52.0rc1", mode="token")]),
    ("token with a later version", [auth("3.0.0", mode="token", secretName="s")]),
    ("disabled with an old version", [auth("2.9.0", mode="disabled")]),
    ("no mode", [auth()]),
    ("Kubernetes tokens", [auth("2.55.0", mode="token", enableK8sTokenAuth=True, secretName="")]),
    ("Kubernetes tokens switched off", [auth(mode="disabled", enableK8sTokenAuth=False)]),
    ("a policy without rules", [policy()]),
    ("rules for the restricted direction", [policy(mode="DenyAllEgress", head={"egressRules": RULES})]),
    ("no rules in a list", [policy(mode="DenyAllEgress", head={"ingressRules": []})]),
    ("rules for both directions", [policy(mode="DenyAll", worker={"ingressRules": RULES, "egressRules": RULES})]),
    ("rules for a group", [policy(workerGroups=[{"groupName": "g0", "ingressRules": RULES}])]),
    ("a group name with a digit first", [policy(), groups(group("0a"))]),
    ("a group name that is no label, without a policy", [groups(group("A_b"))]),
    ("TLS", [tls()]),
    ("TLS off with its variables", [tls(enabled=False), head(env(RAY_USE_TLS="1"))]),
    ("TLS with a mount elsewhere", [tls(), head(mount(name="x", mountPath="/etc/ray/tls2"))]),
]


@pytest.mark.parametrize(("title", "parts"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree]) -> None:
    assert brief(cluster_problems(cluster(*parts), ON)) == []


AUTH: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "token without a version",
        [auth("", mode="token")],
        [("V-S45", "spec.authOptions.mode")],
        "authOptions.mode is 'token' but RayVersion was not specified. Ray version 2.52.0 or later is required",
    ),
    (
        "token with an unreadable version",
        [auth("invalid-version", mode="token")],
        [("V-S45", "spec.authOptions.mode")],
        (
            "authOptions.mode is 'token' but RayVersion format is invalid: invalid-version, could not parse"
            ' "invalid-version" as version'
        ),
    ),
    (
        "token with an old version",
        [auth("2.50.0", mode="token")],
        [("V-S45", "spec.authOptions.mode")],
        "authOptions.mode is 'token' but minimum Ray version is 2.52.0, got 2.50.0",
    ),
    (
        "Kubernetes tokens with an old version",
        [auth("2.52.0", mode="token", enableK8sTokenAuth=True)],
        [("V-S46", "spec.authOptions.enableK8sTokenAuth")],
        "authOptions.enableK8sTokenAuth is enabled but minimum Ray version is 2.55.0, got 2.52.0",
    ),
    (
        "Kubernetes tokens with a secret",
        [auth("2.55.0", mode="token", enableK8sTokenAuth=True, secretName="s")],
        [("V-S46", "spec.authOptions.secretName")],
        "authOptions.enableK8sTokenAuth is enabled and authOptions.secretName is also set",
    ),
    (
        "everything about Kubernetes tokens at once",
        [auth("2.50.0", mode="token", enableK8sTokenAuth=True, secretName="s")],
        [
            ("V-S45", "spec.authOptions.mode"),
            ("V-S46", "spec.authOptions.enableK8sTokenAuth"),
            ("V-S46", "spec.authOptions.secretName"),
        ],
        "minimum Ray version is 2.52.0",
    ),
    (
        "Kubernetes tokens without the mode",
        [auth("2.55.0", enableK8sTokenAuth=True)],
        [("V-S47", "spec.authOptions.enableK8sTokenAuth")],
        "authOptions.enableK8sTokenAuth is enabled but authOptions.mode not set to 'token'",
    ),
]
POLICIES: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "ingress rules for the head in egress mode",
        [policy(mode="DenyAllEgress", head={"ingressRules": RULES})],
        [("V-S49", "spec.networkPolicy.head.ingressRules")],
        'networkPolicy.head.ingressRules cannot be set when mode is "DenyAllEgress" (ingress is not restricted)',
    ),
    (
        "egress rules for workers in ingress mode",
        [policy(mode="DenyAllIngress", worker={"egressRules": RULES})],
        [("V-S49", "spec.networkPolicy.worker.egressRules")],
        'networkPolicy.worker.egressRules cannot be set when mode is "DenyAllIngress" (egress is not restricted)',
    ),
    (
        "egress rules for a group in ingress mode",
        [policy(mode="DenyAllIngress", workerGroups=[{"groupName": "g0", "egressRules": RULES}])],
        [("V-S49", "spec.networkPolicy.workerGroups[0].egressRules")],
        'networkPolicy.workerGroups["g0"].egressRules cannot be set when mode is "DenyAllIngress"',
    ),
    (
        "a group name that is no label",
        [policy(), groups(group("A_b"))],
        [("V-S50", "spec.workerGroupSpecs[0].groupName")],
        'worker group name "A_b" must be a valid DNS1123 label when networkPolicy is enabled (it is embedded in',
    ),
    (
        "rules for a group that is not there",
        [policy(workerGroups=[{"groupName": "g9"}])],
        [("V-S51", "spec.networkPolicy.workerGroups[0].groupName")],
        'networkPolicy.workerGroups["g9"] does not match any group name in workerGroupSpecs',
    ),
    (
        "what a group may not say before a group that is not there",
        [policy(mode="DenyAllIngress", workerGroups=[{"groupName": "g9", "egressRules": RULES}])],
        [
            ("V-S49", "spec.networkPolicy.workerGroups[0].egressRules"),
            ("V-S51", "spec.networkPolicy.workerGroups[0].groupName"),
        ],
        'networkPolicy.workerGroups["g9"].egressRules cannot be set',
    ),
    (
        "head, then names, then entries",
        [
            policy(mode="DenyAllEgress", head={"ingressRules": RULES}, workerGroups=[{"groupName": "g9"}]),
            groups(group("A_b")),
        ],
        [
            ("V-S49", "spec.networkPolicy.head.ingressRules"),
            ("V-S50", "spec.workerGroupSpecs[0].groupName"),
            ("V-S51", "spec.networkPolicy.workerGroups[0].groupName"),
        ],
        "networkPolicy.head.ingressRules",
    ),
]
TLS: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "a variable on the head",
        [tls(), head(env(RAY_USE_TLS="0"))],
        [("V-S53", f"spec.headGroupSpec.{CONTAINER}.env[0]")],
        "cannot set RAY_USE_TLS environment variable in head Pod when tlsOptions is set - the operator manages",
    ),
    (
        "variables in KubeRay's order",
        [tls(), head(env(RAY_TLS_CA_CERT="x", RAY_USE_TLS="0"))],
        [
            ("V-S53", f"spec.headGroupSpec.{CONTAINER}.env[1]"),
            ("V-S53", f"spec.headGroupSpec.{CONTAINER}.env[0]"),
        ],
        "cannot set RAY_USE_TLS environment variable in head Pod when tlsOptions is set",
    ),
    (
        "a variable in a group",
        [tls(), groups(group("a", env(RAY_TLS_CA_CERT="x")))],
        [("V-S53", f"spec.workerGroupSpecs[0].{CONTAINER}.env[0]")],
        'cannot set RAY_TLS_CA_CERT environment variable in worker group "a" when tlsOptions is set',
    ),
    (
        "a variable of the autoscaler",
        [tls(), {"autoscalerOptions": env(RAY_TLS_SERVER_KEY="x")}],
        [("V-S53", "spec.autoscalerOptions.env[0]")],
        "cannot set RAY_TLS_SERVER_KEY environment variable in autoscalerOptions.env when tlsOptions is set - the",
    ),
    (
        "a mount of the name on the head",
        [tls(), head(mount(name="ray-tls", mountPath="/x"))],
        [("V-S54", f"spec.headGroupSpec.{CONTAINER}.volumeMounts[0]")],
        'cannot use volume mount named "ray-tls" in head Pod when tlsOptions is set',
    ),
    (
        "a mount at the path in a group",
        [tls(), groups(group("a", mount(name="x", mountPath="/etc/ray/tls")))],
        [("V-S54", f"spec.workerGroupSpecs[0].{CONTAINER}.volumeMounts[0]")],
        'cannot use volume mount at path "/etc/ray/tls" in worker group "a" when tlsOptions is set',
    ),
    (
        "a mount of the autoscaler",
        [tls(), {"autoscalerOptions": mount(name="ray-tls", mountPath="/x")}],
        [("V-S54", "spec.autoscalerOptions.volumeMounts[0]")],
        'cannot use volume mount named "ray-tls" in autoscalerOptions.volumeMounts when tlsOptions is set - the',
    ),
    (
        "variables and mounts alternate, group by group",
        [
            tls(),
            head(env(RAY_USE_TLS="0") | mount(name="ray-tls", mountPath="/x")),
            groups(group("a", env(RAY_USE_TLS="0") | mount(name="ray-tls", mountPath="/x"))),
        ],
        [
            ("V-S53", f"spec.headGroupSpec.{CONTAINER}.env[0]"),
            ("V-S54", f"spec.headGroupSpec.{CONTAINER}.volumeMounts[0]"),
            ("V-S53", f"spec.workerGroupSpecs[0].{CONTAINER}.env[0]"),
            ("V-S54", f"spec.workerGroupSpecs[0].{CONTAINER}.volumeMounts[0]"),
        ],
        "in head Pod",
    ),
]
REFUSED = AUTH + POLICIES + TLS


@pytest.mark.parametrize(("title", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(cluster_problems(cluster(*parts), ON))
    assert brief(problems) == found
    assert text in problems[0].problem


@pytest.mark.parametrize(
    ("part", "rule", "text"),
    [
        (policy(), "V-S48", "spec.networkPolicy requires the RayClusterNetworkPolicy feature gate to be enabled"),
        (tls(enabled=False), "V-S52", "spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled"),
    ],
)
def test_what_needs_a_gate(part: Tree, rule: str, text: str) -> None:
    (problem,) = cluster_problems(cluster(part), Settings())
    assert (problem.rule, problem.problem) == (rule, text)


def test_tls_without_cert_manager_is_refused_after_the_spec_and_before_the_upgrade_strategy() -> None:
    without = msgspec.structs.replace(ON, cert_manager=False)
    broken = cluster(
        tls(),
        auth(mode="token"),
        {"upgradeStrategy": {"type": "None"}},
        labels={"ray.io/originated-from-crd": "RayJob"},
    )
    problems = list(cluster_problems(broken, without))
    assert [problem.rule for problem in problems] == ["V-S45", "R1-3.6", "V-U2"]
    assert event_of(problems[1], "ns", "demo").note.startswith("The RayCluster spec is invalid ns/demo: tlsOptions is")
    assert brief(cluster_problems(cluster(tls(enabled=False)), without)) == []
