"""What a changed spec does to running Pods."""

from collections.abc import Callable

import pytest

from heliostat.api.settings import Settings
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.pods import PodView
from heliostat.plan.because import Because
from heliostat.plan.own_conditions import HINDERED
from heliostat.plan.raycluster.upgrade import Upgrade, decide_upgrade
from plan.worlds import (
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    deletes,
    group,
    is_quiet,
    observe,
    own_conditions,
    patches,
    plan_world,
    pod_template,
    run,
    settle,
    stable,
    told,
    wait_reasons,
    with_gates,
)

HASH, VERSION = "ray.io/upgrade-strategy-recreate-hash", "ray.io/kuberay-version"
RECREATE = {"type": "Recreate"}
AUTOSCALER_V2: Tree = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}}


def head(**annotations: str) -> PodView:
    keys = {"hash": HASH, "version": VERSION}
    return PodView(name="h", annotations={keys[key]: value for key, value in annotations.items()})


@pytest.mark.parametrize(
    ("strategy", "head_pod", "verdict"),
    [
        (None, head(hash="old", version="v1"), Upgrade.KEEP),
        ({}, head(hash="old", version="v1"), Upgrade.KEEP),
        ({"type": "None"}, head(hash="old", version="v1"), Upgrade.KEEP),
        ({"type": "None"}, head(hash="old", version="v0"), Upgrade.KEEP),
        (RECREATE, None, Upgrade.KEEP),
        (RECREATE, head(hash="new", version="v1"), Upgrade.KEEP),
        (RECREATE, head(hash="old", version="v1"), Upgrade.RECREATE),
        (RECREATE, head(hash="old"), Upgrade.RECREATE),
        (RECREATE, head(hash="old", version="v0"), Upgrade.RESTAMP),
        (RECREATE, head(hash="new", version="v0"), Upgrade.RESTAMP),
        (RECREATE, head(version="v1"), Upgrade.KEEP),
        (RECREATE, head(), Upgrade.KEEP),
    ],
)
def test_table_6_3_when_pods_are_recreated(
    strategy: dict[str, str] | None, head_pod: PodView | None, verdict: Upgrade
) -> None:
    spec = observe(World(cluster_tree(upgradeStrategy=strategy))).cluster.spec
    assert decide_upgrade(spec, head_pod, "new", "v1") is verdict


def changed(world: World) -> World:
    return world.edit_spec(headGroupSpec={"template": pod_template("ray-head", nodeSelector={"pool": "new"})})


def test_r5_5_recreate_deletes_every_pod_and_makes_them_new() -> None:
    world = changed(stable(cluster_tree(group(replicas=2), upgradeStrategy=RECREATE)))
    old = set(world.names("Pod"))
    plan = plan_world(world)
    assert {action.because for action in deletes(plan)} == {Because.SPEC_CHANGED}
    assert {action.ref.name for action in deletes(plan)} == old
    assert told(plan) == ["Deleted all Pods for RayCluster ns/demo due to spec change with Recreate upgradeStrategy"]
    world, _plans = run(world)
    assert len(world.names("Pod")) == 3
    assert not old & set(world.names("Pod"))
    assert world.pods(node_type="head")[0]["spec"]["nodeSelector"] == {"pool": "new"}


@pytest.mark.parametrize(
    "edit",
    [
        {"networkPolicy": {"mode": "DenyAll"}},
        {"suspend": False},
        {"autoscalerOptions": {"idleTimeoutSeconds": 90}},
        {"headGroupSpec": {"enableIngress": True}},
        {"headGroupSpec": {"ingressOptions": {"host": "ray.example.com"}}},
    ],
    ids=str,
)
def test_r6_2_recreate_counts_what_running_pods_would_not_miss(edit: Tree) -> None:
    settings = with_gates(RayClusterNetworkPolicy=True)
    world = stable(cluster_tree(upgradeStrategy=RECREATE), settings).edit_spec(**edit)
    assert len(deletes(plan_world(world, settings))) == 2


@pytest.mark.parametrize("edit", [{"suspend": False}, {"priority": 3}, {"idleTimeoutSeconds": 7}], ids=str)
def test_r6_2_recreate_counts_what_only_the_autoscaler_reads_of_a_group(edit: Tree) -> None:
    tree = cluster_tree(upgradeStrategy=RECREATE, rayVersion="2.56.0", **AUTOSCALER_V2)
    assert len(deletes(plan_world(stable(tree).edit_group(**edit)))) == 2


def test_the_head_goes_last_because_it_carries_the_hash() -> None:
    world = changed(stable(cluster_tree(group(replicas=2), upgradeStrategy=RECREATE)))
    stages = {stage.name: stage for stage in plan_world(world).stages}
    assert stages["recreate-head"].needs == ("recreate-workers",)
    heads = [pod["metadata"]["name"] for pod in world.pods(node_type="head")]
    assert [action.ref.name for action in stages["recreate-head"].actions if hasattr(action, "ref")] == heads


def test_nothing_is_created_while_the_old_head_is_terminating() -> None:
    world = changed(stable(cluster_tree(group(replicas=2), upgradeStrategy=RECREATE)))
    world = apply_plan(world, plan_world(world), grace=True)
    waiting = plan_world(world)
    assert not created_pods(waiting)
    assert not deletes(waiting)
    assert "Recreating" in wait_reasons(waiting)
    assert len(created_pods(plan_world(settle(world)))) == 3


def typo_in_the_account(world: World) -> World:
    template = pod_template("ray-head", serviceAccountName="typo")
    return world.edit_spec(enableInTreeAutoscaling=True, headGroupSpec={"template": template})


def no_port_for_serve(world: World) -> World:
    template = pod_template("ray-head")
    template["spec"]["containers"][0]["ports"] = [{"name": "dash", "containerPort": 8265}]
    return world.edit_spec(headGroupSpec={"template": template}).edit_metadata(
        annotations={"ray.io/enable-serve-service": "true"}
    )


@pytest.mark.parametrize("mistake", [typo_in_the_account, no_port_for_serve])
def test_a_cluster_that_could_not_be_made_anew_is_not_taken_down(mistake: Callable[[World], World]) -> None:
    """KubeRay: R1-6, R4-1, R4-40; what comes before the Pods stops a recreate too."""
    world = stable(cluster_tree(group(replicas=2), upgradeStrategy=RECREATE))
    for _ in range(3):
        plan = plan_world(mistake(world))
        assert not deletes(plan)
        world = settle(apply_plan(mistake(world), plan))
    assert len(world.names("Pod")) == 3
    assert HINDERED in world.conditions()
    mended = world.edit_metadata(annotations=None).edit_spec(enableInTreeAutoscaling=None)
    assert deletes(plan_world(changed(mended))), "it goes on when that is mended"


def test_a_failure_to_make_what_new_pods_need_stops_the_recreate_in_the_same_plan() -> None:
    world = changed(stable(cluster_tree(group(replicas=2), upgradeStrategy=RECREATE)))
    world = world.edit_objects(lambda tree: None if tree["kind"] == "Service" else tree)
    stages = {stage.name: stage for stage in plan_world(world).stages}
    assert "head-service" in stages["recreate-workers"].needs
    assert set(stages["recreate-head"].needs) == {"head-service", "recreate-workers"}


def test_an_old_head_that_never_goes_does_not_stop_the_upgrade() -> None:
    world = changed(stable(cluster_tree(group(replicas=1), upgradeStrategy=RECREATE)))
    world = apply_plan(world, plan_world(world), grace=True)
    later = world.after(30 + 300)
    assert [pod["metadata"]["labels"]["ray.io/node-type"] for pod in created_pods(plan_world(later))] == [
        "head",
        "worker",
    ]
    assert not created_pods(plan_world(world.after(30 + 299)))


def test_r6_7_another_operator_version_renews_the_stamp_and_restarts_nothing() -> None:
    world = changed(stable(cluster_tree(group(replicas=2), upgradeStrategy=RECREATE)))
    newer = Settings(operator_version="heliostat-v9")
    plan = plan_world(world, newer)
    assert not deletes(plan)
    (patch,) = patches(plan)
    assert patch.because == Because.OPERATOR_CHANGED
    world, _plans = run(world, newer)
    annotations = world.pods(node_type="head")[0]["metadata"]["annotations"]
    assert annotations[VERSION] == "heliostat-v9"
    assert plan_world(world, newer).is_empty
    assert deletes(plan_world(changed(world).edit_spec(rayVersion="2.53.0"), newer)), "the new stamp counts from now on"


@pytest.mark.parametrize("strategy", [None, {"type": "None"}, {}])
def test_r10_1_without_recreate_only_new_pods_follow_the_spec(strategy: dict[str, str] | None) -> None:
    tree = cluster_tree(group(replicas=1), **({} if strategy is None else {"upgradeStrategy": strategy}))
    world = changed(stable(tree))
    assert is_quiet(plan_world(world), world)
    assert own_conditions(plan_world(world)) == {"SpecNotApplied": "UpgradeStrategyIsNotRecreate"}
    newer = Settings(operator_version="heliostat-v9")
    assert is_quiet(plan_world(world, newer), world), "a take-over changes nothing"


def test_a_stuck_head_beside_the_one_that_is_recreated_wakes_nobody() -> None:
    world = stable(cluster_tree(upgradeStrategy=RECREATE)).edit_spec(rayVersion="2.53.0")
    (old,) = world.pods(node_type="head")
    world = world.add(merge_patch(old, {"metadata": {"name": "stuck-head", "uid": "stuck"}}))
    world = world.edit_pod("stuck-head", {"metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z"}})
    plan = plan_world(world.after(301))
    assert Because.SPEC_CHANGED in {action.because for action in deletes(plan)}
    assert plan.wake_after is None or plan.wake_after > 0
