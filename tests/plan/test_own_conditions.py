"""Conditions of our own: there while a person can mend something, gone afterwards, and never in KubeRay's place."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.kube.conditions import get_condition
from heliostat.plan.observed import INGRESS, SERVICE, Facts, ObservedCluster
from heliostat.plan.own_conditions import HINDERED, SPEC_NOT_APPLIED, Hindrance, hindered, show_own
from plan.worlds import (
    Tree,
    World,
    apply_plan,
    cluster_tree,
    creates,
    group,
    is_quiet,
    observe,
    own_conditions,
    plan_observed,
    plan_world,
    pod_template,
    run,
    stable,
    unread,
    with_gates,
)

FORBIDDEN = Hindrance("Forbidden", "create Service ns/demo-head-svc: services is forbidden", "the role grants it")
HEAD = {"rayStartParams": {}, "template": pod_template("ray-head")}
TIME, LATER = "2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z"


def blind_to(world: World, *kinds: str) -> ObservedCluster:
    seen = observe(world)
    objects = unread(seen.objects, *kinds)
    return ObservedCluster(cluster=seen.cluster, status=seen.status, pods=seen.pods, objects=objects)


def test_a_refused_write_is_told_before_there_is_anything_else_to_tell() -> None:
    world = World(cluster_tree())
    plan = plan_world(world, facts=Facts(hindrances=(FORBIDDEN,)))
    assert plan.status is not None
    (condition,) = plan.status.status["conditions"]
    assert condition == {
        "type": "Hindered",
        "status": "True",
        "reason": "Forbidden",
        "message": "create Service ns/demo-head-svc: services is forbidden; this ends when the role grants it",
        "lastTransitionTime": "2027-01-15T08:00:00Z",
    }
    assert [action.object["kind"] for action in creates(plan)][:1] == ["Service"], "it is tried again"


def test_a_hindrance_that_is_over_is_not_told_any_more() -> None:
    world = stable(cluster_tree())
    told = apply_plan(world, plan_world(world, facts=Facts(hindrances=(FORBIDDEN,))))
    assert HINDERED in told.conditions()
    assert plan_world(told, facts=Facts(hindrances=(FORBIDDEN,))).is_empty, "it is told once"
    assert run(told)[0].conditions() == world.conditions()


def test_without_the_gate_nothing_is_told() -> None:
    world = stable(cluster_tree(), with_gates(RayClusterStatusConditions=False))
    facts = Facts(hindrances=(FORBIDDEN,))
    assert plan_world(world, with_gates(RayClusterStatusConditions=False), facts).is_empty


@pytest.mark.parametrize(
    ("tree", "kind", "words"),
    [
        (cluster_tree(headGroupSpec=HEAD | {"enableIngress": True}), INGRESS, "the Ingress: it has not been read"),
        (cluster_tree(), SERVICE, "the head Service: it has not been read"),
    ],
    ids=["ingress", "service"],
)
def test_what_cannot_be_read_is_told(tree: Tree, kind: str, words: str) -> None:
    plan = plan_observed(blind_to(stable(tree), kind))
    assert plan.status is not None
    condition = get_condition(plan.status.status["conditions"], HINDERED)
    assert condition is not None
    assert (condition["reason"], words in condition["message"]) == ("NotKnown", True)


def test_a_kind_that_the_cluster_does_not_use_may_be_unknown() -> None:
    assert plan_observed(blind_to(stable(cluster_tree()), INGRESS)).is_empty


@pytest.mark.parametrize("seconds", [0.0, 30.0, 600.0])
def test_a_cluster_that_comes_up_has_nothing_to_tell(seconds: float) -> None:
    world = World(cluster_tree(group(replicas=3))).after(seconds)
    assert not any(own_conditions(plan) for plan in run(world)[1])


def test_several_hindrances_are_one_condition_and_long_words_are_cut() -> None:
    long = Hindrance("Invalid", "x" * 100_000, "it is shorter")
    told = hindered([FORBIDDEN, long, FORBIDDEN])
    assert told is not None
    assert told["reason"] == "Forbidden"
    assert told["message"].count("\n") == 1
    assert len(told["message"]) < 3000


def test_conditions_of_others_stay_as_they_are() -> None:
    others: list[dict[str, Any]] = [{"type": "HeadPodReady", "status": "True"}, {"type": "Strange", "status": "False"}]
    own = hindered([FORBIDDEN])
    assert own is not None
    shown = show_own(others, [own], TIME)
    assert [condition["type"] for condition in shown] == ["HeadPodReady", "Strange", "Hindered"]
    assert show_own(shown, [own], LATER) == shown
    assert show_own(shown, [], LATER) == others


IMAGE = {"headGroupSpec": {"template": pod_template("ray-head", hostname="other")}}


@pytest.mark.parametrize(
    ("before", "edit"),
    [
        (cluster_tree(), IMAGE),
        (cluster_tree(), {"rayVersion": "2.53.0"}),
        (cluster_tree(upgradeStrategy={"type": "None"}), IMAGE),
        (cluster_tree(suspend=False), {**IMAGE, "suspend": None}),
        (cluster_tree(), {"headServiceAnnotations": {"a": "b"}}),
    ],
    ids=["template", "version", "strategy None", "beside the suspension", "a Service's annotations"],
)
def test_an_edit_that_is_not_applied_is_told_until_it_is_taken_back(before: Tree, edit: Tree) -> None:
    world = stable(before)
    edited = world.edit_spec(**edit)
    plan = plan_world(edited)
    assert is_quiet(plan, edited)
    assert own_conditions(plan) == {SPEC_NOT_APPLIED: "UpgradeStrategyIsNotRecreate"}
    told = apply_plan(edited, plan)
    assert plan_world(told).is_empty, "it is told once"
    back = structs.replace(told, cluster=told.cluster | {"spec": world.cluster["spec"]})
    assert run(back)[0].conditions() == world.conditions()


def test_an_edit_is_applied_when_the_head_is_made_anew() -> None:
    world, _ = run(stable(cluster_tree()).edit_spec(**IMAGE))
    assert SPEC_NOT_APPLIED in world.conditions()
    headless = world.edit_objects(
        lambda tree: None if "-head-" in tree["metadata"]["name"] and tree["kind"] == "Pod" else tree
    )
    assert SPEC_NOT_APPLIED not in run(headless)[0].conditions()


@pytest.mark.parametrize(
    "edit",
    [
        {"suspend": False},
        {"suspend": True},
        {"workerGroupSpecs": cluster_tree(group(), group("added"))["spec"]["workerGroupSpecs"]},
        {"workerGroupSpecs": cluster_tree(group(replicas=5, maxReplicas=7))["spec"]["workerGroupSpecs"]},
        {"workerGroupSpecs": cluster_tree(group(suspend=True))["spec"]["workerGroupSpecs"]},
        {**IMAGE, "upgradeStrategy": {"type": "Recreate"}},
    ],
    ids=["awake", "asleep", "a new group", "another size", "a group asleep", "recreate"],
)
def test_an_edit_that_is_applied_is_not_told(edit: Tree) -> None:
    world = stable(cluster_tree()).edit_spec(**edit)
    assert not any(own_conditions(plan) for plan in run(world)[1])


def test_a_head_of_another_operator_says_nothing_about_edits() -> None:
    edited = stable(cluster_tree()).edit_spec(**IMAGE)
    assert plan_world(edited, Settings(operator_version="another")).is_empty
