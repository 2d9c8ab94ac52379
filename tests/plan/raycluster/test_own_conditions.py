"""Conditions of our own: there while a person can mend something, gone afterwards, and never in KubeRay's place."""

import hashlib
from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.desired.raycluster.cluster import build_desired
from heliostat.kube.conditions import get_condition
from heliostat.kube.lookups import INGRESS, SERVICE
from heliostat.plan.own_conditions import HINDERED, SPEC_NOT_APPLIED, Hindrance, hindered, show_own
from heliostat.plan.raycluster.cluster import plan_cluster
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.situation import Remembered, Situation
from plan.worlds import (
    NOW,
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
    wait_reasons,
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
    plan = plan_world(world, remembered=Remembered(hindrances=(FORBIDDEN,)))
    assert plan.status is not None
    (condition,) = plan.status.status["conditions"]
    assert condition == {
        "type": "Hindered",
        "status": "True",
        "reason": "Forbidden",
        "message": "create Service ns/demo-head-svc: services is forbidden; this ends when the role grants it",
        "lastTransitionTime": "2027-01-15T08:00:00Z",
    }
    assert [action.object["kind"] for action in creates(plan)][:1] == ["Service"], "it is retried"


def test_a_hindrance_that_is_over_is_not_told_any_more() -> None:
    world = stable(cluster_tree())
    told = apply_plan(world, plan_world(world, remembered=Remembered(hindrances=(FORBIDDEN,))))
    assert HINDERED in told.conditions()
    assert plan_world(told, remembered=Remembered(hindrances=(FORBIDDEN,))).is_empty, "it is told once"
    assert run(told)[0].conditions() == world.conditions()


def test_without_the_gate_nothing_is_told() -> None:
    world = stable(cluster_tree(), with_gates(RayClusterStatusConditions=False))
    remembered = Remembered(hindrances=(FORBIDDEN,))
    assert plan_world(world, with_gates(RayClusterStatusConditions=False), remembered).is_empty


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
        {"networkPolicy": {"mode": "DenyAllIngress"}},
        {"autoscalerOptions": {"idleTimeoutSeconds": 90, "upscalingMode": "Aggressive"}},
        {"headGroupSpec": {"enableIngress": True, "ingressOptions": {"host": "ray.example.com"}}},
    ],
    ids=[
        "awake", "asleep", "a new group", "another size", "a group asleep", "recreate", "a network policy",
        "the autoscaler's own", "the ingress",
    ],
)  # fmt: skip
def test_an_edit_that_is_applied_is_not_told(edit: Tree) -> None:
    settings = with_gates(RayClusterNetworkPolicy=True)
    world = stable(cluster_tree(), settings).edit_spec(**edit)
    assert "Refused" not in wait_reasons(plan_world(world, settings))
    assert not any(own_conditions(plan) for plan in run(world, settings)[1])


def test_what_only_the_autoscaler_reads_of_a_group_is_not_told() -> None:
    autoscaler: Tree = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}}
    world = stable(cluster_tree(rayVersion="2.56.0", **autoscaler)).edit_group(priority=3, idleTimeoutSeconds=7)
    assert "Refused" not in wait_reasons(plan_world(world))
    assert not any(own_conditions(plan) for plan in run(world)[1])


def groups_of(*groups: Tree) -> Tree:
    return {"workerGroupSpecs": cluster_tree(*groups)["spec"]["workerGroupSpecs"]}


@pytest.mark.parametrize("asleep", [1, 2, 3])
def test_groups_may_fall_asleep_and_come_together(asleep: int) -> None:
    groups = [group(name) for name in "abc"]
    sleeping = [each | {"suspend": True} for each in groups[:asleep]]
    edit = groups_of(*sleeping, *groups[asleep:], group("d", suspend=True))
    world, plans = run(stable(cluster_tree(*groups)).edit_spec(**edit))
    assert not any(own_conditions(plan) for plan in plans)
    assert SPEC_NOT_APPLIED not in world.conditions()


@pytest.mark.parametrize(
    "groups",
    [[group("a"), group("b", rayStartParams={"num-cpus": "1"})], [group("a")], [group("b"), group("a")]],
    ids=["changed", "removed", "in another order"],
)
def test_an_edit_among_the_groups_is_told(groups: list[Tree]) -> None:
    world = stable(cluster_tree(group("a"), group("b"))).edit_spec(**groups_of(*groups))
    plan = plan_world(world, remembered=Remembered(groups_seen=frozenset({"a", "b"})))
    assert own_conditions(plan) == {SPEC_NOT_APPLIED: "UpgradeStrategyIsNotRecreate"}


def test_a_look_at_an_edited_cluster_hashes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    observed = observe(stable(cluster_tree(*map(group, "abcdef"))).edit_spec(rayVersion="2.53.0"))
    desired = build_desired(observed.cluster, Settings())

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("hashing belongs to the desired state, which is worked out once for each spec")

    monkeypatch.setattr(hashlib, "sha1", fail)
    plan = plan_cluster(
        Situation(observed=observed, desired=desired, settings=Settings(), remembered=Remembered(), now=NOW)
    )
    assert own_conditions(plan) == {SPEC_NOT_APPLIED: "UpgradeStrategyIsNotRecreate"}


def test_a_head_of_another_operator_says_nothing_about_edits() -> None:
    edited = stable(cluster_tree()).edit_spec(**IMAGE)
    plan = plan_world(edited, Settings(operator_version="another"))
    assert is_quiet(plan, edited)
    assert own_conditions(plan) == {}
