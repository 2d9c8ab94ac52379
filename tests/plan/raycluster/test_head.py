"""The head Pod: exactly one."""

import pytest

from heliostat.api.settings import Settings
from heliostat.kube.jsontree import copy_tree
from heliostat.plan.because import Because
from plan.worlds import (
    NAME,
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    deletes,
    group,
    is_quiet,
    own_conditions,
    plan_world,
    run,
    settle,
    stable,
    told,
    wait_reasons,
)


def head_of(world: World) -> Tree:
    (head,) = world.pods(node_type="head")
    return head


def without_head(world: World) -> World:
    name = head_of(world)["metadata"]["name"]
    return world.edit_objects(lambda tree: None if tree["metadata"]["name"] == name else tree)


def second_head(world: World) -> World:
    twin = copy_tree(head_of(world))
    twin["metadata"] |= {"name": f"{NAME}-head-zzzzz", "uid": "twin"}
    return world.add(twin)


def test_table_5_1_no_head_one_is_created_and_workers_in_the_same_pass() -> None:
    plan = plan_world(World(cluster_tree(group(replicas=2))))
    types = [pod["metadata"]["labels"]["ray.io/node-type"] for pod in created_pods(plan)]
    assert types == ["head", "worker", "worker"]
    head = created_pods(plan)[0]["metadata"]
    assert f"Created head Pod ns/{head['name']}" in told(plan)
    assert head["annotations"]["ray.io/upgrade-strategy-recreate-hash"]


def test_table_5_1_a_healthy_head_is_left_alone() -> None:
    assert plan_world(stable(cluster_tree())).is_empty


@pytest.mark.parametrize("policy", ["Always", "Never", ""])
@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_table_5_1_an_ended_head_is_deleted_first_and_created_again_when_it_is_gone(phase: str, policy: str) -> None:
    world = stable(cluster_tree())
    name = head_of(world)["metadata"]["name"]
    world = world.edit_pod(name, {"status": {"phase": phase}, "spec": {"restartPolicy": policy}})
    plan = plan_world(world)
    (delete,) = deletes(plan)
    assert (delete.ref.name, delete.because) == (name, Because.UNHEALTHY)
    assert not created_pods(plan)
    (note,) = told(plan)
    assert note == (
        f"Deleted head Pod ns/{name}; Pod status: {phase}; Pod restart policy: {policy}; "
        "Ray container terminated status: nil"
    )
    assert delete.report.failure_tag == "FailedDeleteHeadPod"
    leaving = apply_plan(world, plan, grace=True)
    assert not created_pods(plan_world(leaving))
    (head,) = created_pods(plan_world(settle(leaving)))
    assert head["metadata"]["name"] != name


def test_table_5_1_of_two_heads_none_is_touched() -> None:
    world = second_head(stable(cluster_tree(group(replicas=1)))).edit_group(replicas=3)
    plan = plan_world(world)
    assert is_quiet(plan, world), "neither head nor workers nor what is counted"
    assert own_conditions(plan) == {"Hindered": "SeveralHeads"}
    assert wait_reasons(plan) == ["SeveralHeads"]
    assert f"{NAME}-head-zzzzz" in plan.waits[0].message


def test_one_head_and_one_terminating_head_are_one_head() -> None:
    world = second_head(stable(cluster_tree()))
    world = world.edit_pod(f"{NAME}-head-zzzzz", {"metadata": {"deletionTimestamp": "2027-01-15T08:00:10Z"}})
    assert not deletes(plan_world(world))
    assert not created_pods(plan_world(world))
    assert "SeveralHeads" not in wait_reasons(plan_world(world))


def test_workers_go_on_while_a_head_is_terminating() -> None:
    world = stable(cluster_tree(group(replicas=1)))
    world = world.edit_pod(
        head_of(world)["metadata"]["name"], {"metadata": {"deletionTimestamp": "2027-01-15T08:00:10Z"}}
    )
    plan = plan_world(world.edit_group(replicas=2))
    assert [pod["metadata"]["labels"]["ray.io/node-type"] for pod in created_pods(plan)] == ["worker"]
    assert "Terminating" in wait_reasons(plan)


def test_l3_a_head_stuck_in_termination_is_replaced_after_the_patience() -> None:
    world = stable(cluster_tree(group(replicas=1)))
    world = world.edit_pod(
        head_of(world)["metadata"]["name"], {"metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z"}}
    )
    early = plan_world(world.after(299))
    assert not created_pods(early)
    assert early.wake_after == pytest.approx(1)
    assert len(created_pods(plan_world(world.after(300)))) == 1


@pytest.mark.parametrize(
    ("annotation", "provisioned", "created"),
    [("true", True, False), ("true", False, True), ("false", True, True), ("True", True, True), (None, True, True)],
)
def test_a_provisioned_head_is_not_restarted_when_the_annotation_forbids_it(
    annotation: str | None, *, provisioned: bool, created: bool
) -> None:
    metadata = {"annotations": {"ray.io/disable-provisioned-head-restart": annotation}} if annotation else {}
    world = without_head(stable(cluster_tree(metadata=metadata))).edit_group(replicas=5)
    if not provisioned:
        world.cluster["status"]["conditions"][1]["status"] = "False"
    plan = plan_world(world)
    assert bool(created_pods(plan)) is created
    assert ("HeadNotRestarted" in wait_reasons(plan)) is not created


def test_a_head_with_a_fixed_name_is_made_under_it() -> None:
    settings = Settings(deterministic_head_name=True)
    world = stable(cluster_tree(), settings)
    assert head_of(world)["metadata"]["name"] == f"{NAME}-head"
    world, _plans = run(without_head(world), settings)
    assert head_of(world)["metadata"]["name"] == f"{NAME}-head"


def test_a_foreign_pod_with_the_heads_labels_is_neither_counted_nor_touched() -> None:
    world = stable(cluster_tree())
    stranger = copy_tree(head_of(world))
    stranger["metadata"] |= {"name": "stranger", "uid": "stranger", "ownerReferences": []}
    stranger["status"]["phase"] = "Failed"
    assert plan_world(world.add(stranger)).is_empty
    assert len(created_pods(plan_world(without_head(world).add(stranger)))) == 1


def test_workers_are_not_looked_at_in_the_pass_that_deletes_the_head() -> None:
    world = stable(cluster_tree(group(replicas=1))).edit_group(replicas=3)
    plan = plan_world(world.edit_pod(head_of(world)["metadata"]["name"], {"status": {"phase": "Failed"}}))
    assert len(deletes(plan)) == 1
    assert not created_pods(plan)
