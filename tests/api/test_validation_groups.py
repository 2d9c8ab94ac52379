"""V-S1 to V-S14: the head group and the worker groups."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems
from ray_documents import Tree, brief, cluster, env, group, groups, head

GROUP = "spec.workerGroupSpecs[0]"
NO_CONTAINERS: Tree = {"template": {"spec": {"containers": []}}}
V2: Tree = {"autoscalerOptions": {"version": "v2"}}
V2_BY_ENV = head(env(RAY_enable_autoscaler_v2="1")) | {"enableInTreeAutoscaling": True}
AUTOSCALING: Tree = {"enableInTreeAutoscaling": True}


def version(text: str) -> Tree:
    return {"rayVersion": text}


ACCEPTED: list[tuple[str, list[Tree]]] = [
    ("a plain cluster", []),
    ("no worker group at all", [{"workerGroupSpecs": None}]),
    ("replicas below minReplicas are clamped", [groups(group(replicas=1, minReplicas=2, maxReplicas=5))]),
    ("minReplicas equal to maxReplicas", [groups(group(minReplicas=2, maxReplicas=2))]),
    ("no bounds with autoscaling", [AUTOSCALING, groups(group(minReplicas=None, maxReplicas=None))]),
    ("resources alone", [head(resources={"CPU": "1"}), groups(group(resources={"GPU": "1"}))]),
    ("resource params alone", [head(rayStartParams={"num-cpus": "1"}), groups(group(rayStartParams={"memory": "1"}))]),
    ("an empty resource param", [head(rayStartParams={"num-cpus": ""}, resources={"CPU": "1"})]),
    ("other params beside resources", [head(rayStartParams={"port": "1"}, resources={"CPU": "1"})]),
    ("labels", [head(labels={"ray.io/zone": "a"}), groups(group(labels={"x": ""}))]),
    ("idle timeout with v2", [V2, groups(group(idleTimeoutSeconds=60))]),
    ("idle timeout of zero with v2", [V2, groups(group(idleTimeoutSeconds=0))]),
    ("idle timeout with v2 by env", [V2_BY_ENV, groups(group(idleTimeoutSeconds=60))]),
    ("priority with v2", [V2, version("2.56.0"), groups(group(priority=1))]),
    ("priority with v2 by env", [V2_BY_ENV, version("2.56.0"), groups(group(priority=1))]),
    ("priority of zero without v2", [groups(group(priority=0))]),
]


@pytest.mark.parametrize(("title", "parts"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree]) -> None:
    assert brief(cluster_problems(cluster(*parts), Settings())) == []


REFUSED: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "head without containers",
        [{"headGroupSpec": NO_CONTAINERS}],
        [("V-S1", "spec.headGroupSpec.template.spec.containers")],
        "headGroupSpec should have at least one container",
    ),
    (
        "head resources twice",
        [head(rayStartParams={"num-gpus": "1"}, resources={"GPU": "1"})],
        [("V-S2", "spec.headGroupSpec.rayStartParams.num-gpus")],
        "resource fields should not be set in both rayStartParams and Resources for Head group; please use only one",
    ),
    (
        "head labels as a param, even empty",
        [head(rayStartParams={"labels": ""})],
        [("V-S3", "spec.headGroupSpec.rayStartParams.labels")],
        "rayStartParams['labels'] is not supported for Head group; please use the top-level Labels field instead",
    ),
    (
        "bad label key on the head",
        [head(labels={"invalid_key!": "v"})],
        [("V-S4", "spec.headGroupSpec.labels[invalid_key!]")],
        "invalid label key for Head group: 'invalid_key!', error: name part must consist of alphanumeric characters",
    ),
    (
        "two bad labels on the head are one finding",
        [head(labels={"bad!": "v", "good": "invalid/value"})],
        [("V-S4", "spec.headGroupSpec.labels")],
        "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); invalid label value",
    ),
    (
        "group without containers",
        [groups(group() | NO_CONTAINERS)],
        [("V-S5", f"{GROUP}.template.spec.containers")],
        "workerGroupSpec should have at least one container",
    ),
    (
        "no minReplicas",
        [groups(group(minReplicas=None))],
        [("V-S6", f"{GROUP}.minReplicas")],
        "worker group g0 must set both minReplicas and maxReplicas when autoscaling is disabled",
    ),
    ("no maxReplicas", [groups(group(maxReplicas=None))], [("V-S6", f"{GROUP}.maxReplicas")], "must set both"),
    (
        "negative minReplicas",
        [groups(group(minReplicas=-1))],
        [("V-S7", f"{GROUP}.minReplicas")],
        "worker group g0 has negative minReplicas -1",
    ),
    (
        "negative minReplicas alone, with autoscaling",
        [AUTOSCALING, groups(group(minReplicas=-1, maxReplicas=None))],
        [("V-S7", f"{GROUP}.minReplicas")],
        "worker group g0 has negative minReplicas -1",
    ),
    (
        "negative maxReplicas",
        [groups(group(minReplicas=-2, maxReplicas=-1))],
        [("V-S7", f"{GROUP}.minReplicas"), ("V-S8", f"{GROUP}.maxReplicas")],
        "worker group g0 has negative minReplicas -2",
    ),
    (
        "negative maxReplicas alone",
        [AUTOSCALING, groups(group(minReplicas=None, maxReplicas=-1))],
        [("V-S8", f"{GROUP}.maxReplicas")],
        "worker group g0 has negative maxReplicas -1",
    ),
    (
        "minReplicas above maxReplicas, with autoscaling too",
        [AUTOSCALING, groups(group(minReplicas=5, maxReplicas=3))],
        [("V-S9", f"{GROUP}.minReplicas")],
        "worker group g0 has minReplicas 5 greater than maxReplicas 3",
    ),
    (
        "group resources twice",
        [groups(group(rayStartParams={"resources": "{}"}, resources={"CPU": "1"}))],
        [("V-S10", f"{GROUP}.rayStartParams.resources")],
        "in both rayStartParams and Resources for g0 group",
    ),
    (
        "group labels as a param",
        [groups(group(rayStartParams={"labels": "a=b"}))],
        [("V-S11", f"{GROUP}.rayStartParams.labels")],
        "rayStartParams['labels'] is not supported for g0 group",
    ),
    (
        "bad label value on a group",
        [groups(group(labels={"k": "invalid/value"}))],
        [("V-S11", f"{GROUP}.labels.k")],
        "invalid label value for key 'k' in g0 group: 'invalid/value', error: a valid label must be an empty string or",
    ),
    (
        "negative idle timeout",
        [V2, groups(group(idleTimeoutSeconds=-10))],
        [("V-S12", f"{GROUP}.idleTimeoutSeconds")],
        "worker group g0: idleTimeoutSeconds must be non-negative, got -10",
    ),
    (
        "idle timeout without v2",
        [AUTOSCALING, groups(group(idleTimeoutSeconds=60))],
        [("V-S13", f"{GROUP}.idleTimeoutSeconds")],
        (
            "worker group g0: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. Please set"
            " .spec.autoscalerOptions.version to 'v2'"
        ),
    ),
    (
        "idle timeout with v2 switched off by env",
        [AUTOSCALING, head(env(RAY_enable_autoscaler_v2="false")), groups(group(idleTimeoutSeconds=60))],
        [("V-S13", f"{GROUP}.idleTimeoutSeconds")],
        "idleTimeoutSeconds is set, but autoscaler v2 is not enabled",
    ),
    (
        "priority without a version",
        [V2, groups(group(priority=5))],
        [("V-S14", f"{GROUP}.priority")],
        "worker group g0: priority is set, but RayVersion was not specified",
    ),
    (
        "priority with an unreadable version",
        [V2, version("nightly"), groups(group(priority=5))],
        [("V-S14", f"{GROUP}.priority")],
        "worker group g0: priority is set, but RayVersion format is invalid: nightly, could not parse",
    ),
    (
        "priority with an old version",
        [V2, version("2.55.0"), groups(group(priority=1))],
        [("V-S14", f"{GROUP}.priority")],
        "worker group g0: priority is set, but minimum Ray version is 2.56.0, got 2.55.0",
    ),
    (
        "priority without v2",
        [version("2.56.0"), groups(group(priority=5))],
        [("V-S14", f"{GROUP}.priority")],
        (
            "worker group g0: priority is set to 5, but autoscaler v2 is not enabled. Priority is only supported with"
            " autoscaler v2 enabled"
        ),
    ),
    (
        "negative priority counts as set",
        [version("2.56.0"), groups(group(priority=-1))],
        [("V-S14", f"{GROUP}.priority")],
        "priority is set to -1",
    ),
]


@pytest.mark.parametrize(("title", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(cluster_problems(cluster(*parts), Settings()))
    assert brief(problems) == found
    assert text in problems[0].problem
    assert {problem.reason for problem in problems} == {"InvalidRayClusterSpec"}
    assert all(problem.fix for problem in problems)


def test_all_rules_of_a_group_come_before_the_next_group() -> None:
    broken: dict[str, Any] = {"minReplicas": 4, "idleTimeoutSeconds": -1}
    problems = cluster_problems(cluster(groups(group("a", **broken), group("b", **broken))), Settings())
    rules = ["V-S9", "V-S12", "V-S13"]
    assert [(p.rule, p.path[2]) for p in problems] == [(rule, index) for index in (0, 1) for rule in rules]


def test_advice_names_the_field_to_change() -> None:
    (problem,) = cluster_problems(cluster(groups(group(idleTimeoutSeconds=60))), Settings())
    assert problem.fix == "set spec.autoscalerOptions.version: v2, or remove idleTimeoutSeconds"
