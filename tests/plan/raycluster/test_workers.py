"""Worker groups with one Pod per replica."""

from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.plan.because import Because
from heliostat.plan.raycluster.places import MAX_NEW_PODS
from plan.worlds import (
    UID,
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    creates,
    deletes,
    group,
    names_of,
    owned,
    plan_world,
    pod_template,
    run,
    settle,
    stable,
    told,
    wait_reasons,
    with_gates,
)

INDEX = "ray.io/worker-group-replica-index"


def workers(world: World, name: str = "g") -> list[str]:
    return [pod["metadata"]["name"] for pod in world.pods(group=name)]


def indices(world: World, name: str = "g") -> list[int]:
    return sorted(int(pod["metadata"]["labels"][INDEX]) for pod in world.pods(group=name))


@pytest.mark.parametrize(
    ("replicas", "low", "high", "hosts", "pods"),
    [
        (None, 1, 5, 1, 1),
        (3, 1, 5, 1, 3),
        (6, 1, 5, 1, 5),
        (0, 1, 5, 1, 1),
        (5, 1, 5, 4, 20),
        (1, 2, 5, 1, 2),
        (3, 0, 5, 0, 0),
    ],
)
def test_table_r5_40_how_many_pods_a_group_gets(
    replicas: int | None, low: int, high: int, hosts: int, pods: int
) -> None:
    wish = group(replicas=replicas, minReplicas=low, maxReplicas=high, numOfHosts=hosts)
    tree = cluster_tree(wish)
    if replicas is None:
        del tree["spec"]["workerGroupSpecs"][0]["replicas"]
    assert len(stable(tree).pods(group="g")) == pods


# KubeRay: the random-delete tables of §5.3, five workers, three wanted, autoscaler on.
@pytest.mark.parametrize(
    ("random_delete", "asked", "left"),
    [
        (True, [0, 1], 3),
        (True, [2, 3], 3),
        (True, [0, 4], 3),
        (True, [1, "ghost"], 3),
        (True, ["ghost", "phantom"], 3),
        (True, [2], 3),
        (False, [1, 2], 3),
        (False, [1, "ghost"], 4),
        (False, ["ghost", "phantom"], 5),
        (False, [2], 4),
    ],
)
def test_table_random_delete_under_the_autoscaler(*, random_delete: bool, asked: list[int | str], left: int) -> None:
    settings = Settings(random_pod_delete=random_delete)
    world = stable(cluster_tree(group(replicas=5), enableInTreeAutoscaling=True), settings)
    before = workers(world)
    names = [before[item] if isinstance(item, int) else item for item in asked]
    world, plans = run(world.edit_group(replicas=3, scaleStrategy={"workersToDelete": names}), settings)
    assert len(workers(world)) == left
    assert not set(names) & set(workers(world))
    by_reason = [action.because for plan in plans for action in deletes(plan)]
    real = [name for name in names if name in before]
    assert by_reason.count(Because.ASKED_FOR) == len(real)
    assert by_reason.count(Because.SCALE_DOWN) == 5 - left - len(real)


def test_without_the_autoscaler_the_surplus_goes() -> None:
    world = stable(cluster_tree(group(replicas=5)))
    plan = plan_world(world.edit_group(replicas=3))
    assert len(deletes(plan)) == 2
    assert {action.because for action in deletes(plan)} == {Because.SCALE_DOWN}
    assert set(told(plan)) == {f"Deleted Pod ns/{action.ref.name}" for action in deletes(plan)}


def test_c8_the_autoscaler_alone_chooses_victims() -> None:
    world = stable(cluster_tree(group(replicas=5), enableInTreeAutoscaling=True)).edit_group(replicas=3)
    plan = plan_world(world)
    assert not deletes(plan)
    assert "AutoscalerChooses" in wait_reasons(plan)


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_r5_25_an_ended_worker_goes_and_is_replaced_under_its_index(phase: str) -> None:
    world = stable(cluster_tree(group(replicas=3)))
    ended = workers(world)[1]
    world = world.edit_pod(ended, {"status": {"phase": phase}})
    plan = plan_world(world)
    assert [(action.ref.name, action.because) for action in deletes(plan)] == [(ended, Because.UNHEALTHY)]
    assert [pod["metadata"]["labels"][INDEX] for pod in created_pods(plan)] == ["1"]
    assert f"Deleted worker Pod ns/{ended}; Pod status: {phase};" in told(plan)[0]
    leaving = apply_plan(world, plan, grace=True)
    assert not created_pods(plan_world(leaving)), "it is replaced once, not once per pass"
    world, _plans = run(settle(leaving))
    assert indices(world) == [0, 1, 2]


def test_an_ended_worker_of_one_group_does_not_hold_up_another() -> None:
    world = stable(cluster_tree(group("a", 2), group("b", 1)))
    world = world.edit_pod(workers(world, "a")[0], {"status": {"phase": "Failed"}}).edit_group(1, replicas=3)
    created = [pod["metadata"]["labels"]["ray.io/group"] for pod in created_pods(plan_world(world))]
    assert created == ["a", "b", "b"]


def test_r5_26_a_named_worker_goes_whatever_its_state_and_replicas() -> None:
    world = stable(cluster_tree(group(replicas=3)))
    healthy, ended, pending = workers(world)
    world = world.edit_pod(ended, {"status": {"phase": "Failed"}})
    world = world.edit_pod(pending, {"status": {"phase": "Pending"}})
    world = world.edit_group(scaleStrategy={"workersToDelete": [pending, ended, healthy]})
    plan = plan_world(world)
    assert names_of(deletes(plan)) == {healthy, ended, pending}
    assert len(created_pods(plan)) == 3, "replicas still says three"
    assert f"Deleted pod ns/{healthy}" in told(plan)


def test_r5_26_a_name_that_stays_in_the_list_is_answered_once() -> None:
    world = stable(cluster_tree(group(replicas=2), enableInTreeAutoscaling=True))
    victim = workers(world)[0]
    world, _plans = run(world.edit_group(replicas=1, scaleStrategy={"workersToDelete": [victim]}))
    assert plan_world(world).is_empty
    assert len(workers(world)) == 1


def foreign_pod(name: str, **labels: str) -> Tree:
    tree: Tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name, "labels": labels}}
    return tree | {"spec": pod_template("x")["spec"], "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    "stranger",
    [
        foreign_pod("stranger"),
        foreign_pod("stranger", **{"ray.io/cluster": "demo", "ray.io/group": "g", "ray.io/node-type": "worker"}),
        owned(foreign_pod("stranger", **{"ray.io/cluster": "demo", "ray.io/group": "g"}), uid="another-cluster"),
    ],
)
def test_workers_to_delete_never_reaches_a_foreign_pod(stranger: Tree) -> None:
    """Differs from KubeRay: R5-26, which deletes any Pod of that name in the namespace."""
    world = stable(cluster_tree(group(replicas=2))).add(stranger)
    assert not deletes(plan_world(world.edit_group(scaleStrategy={"workersToDelete": ["stranger"]})))


def test_c4_workers_to_delete_never_reaches_the_head() -> None:
    world = stable(cluster_tree(group(replicas=2)))
    head = world.pods(node_type="head")[0]["metadata"]["name"]
    assert not deletes(plan_world(world.edit_group(scaleStrategy={"workersToDelete": [head]})))


def test_a_worker_named_under_another_group_goes_and_its_own_group_replaces_it() -> None:
    world = stable(cluster_tree(group("a", 2), group("b", 1)))
    victim = workers(world, "a")[0]
    plan = plan_world(world.edit_group(1, scaleStrategy={"workersToDelete": [victim]}))
    assert names_of(deletes(plan)) == {victim}
    assert [pod["metadata"]["labels"]["ray.io/group"] for pod in created_pods(plan)] == ["a"]


def test_r5_28_free_indices_are_filled_from_below() -> None:
    world = stable(cluster_tree(group(replicas=5)))
    by_index = {pod["metadata"]["labels"][INDEX]: pod["metadata"]["name"] for pod in world.pods(group="g")}
    gone = {by_index["1"], by_index["3"]}
    world = world.edit_objects(lambda tree: None if tree["metadata"]["name"] in gone else tree)
    created = [pod["metadata"]["labels"][INDEX] for pod in created_pods(plan_world(world.edit_group(replicas=6)))]
    assert created == ["1", "3", "5"]


def test_r5_28_without_the_gate_there_are_no_index_labels() -> None:
    settings = with_gates(RayMultiHostIndexing=False)
    world = stable(cluster_tree(group(replicas=2)), settings)
    assert all(INDEX not in pod["metadata"]["labels"] for pod in world.pods(group="g"))


def test_r5_59_without_the_gate_a_multi_host_group_is_many_single_pods() -> None:
    settings = with_gates(RayMultiHostIndexing=False)
    world = stable(cluster_tree(group(replicas=2, numOfHosts=3)), settings)
    assert len(workers(world)) == 6
    lost = workers(world)[0]
    world = world.edit_objects(lambda tree: None if tree["metadata"]["name"] == lost else tree)
    assert len(created_pods(plan_world(world, settings))) == 1
    assert not deletes(plan_world(world, settings))


def test_a_terminating_worker_keeps_its_place_until_it_is_gone() -> None:
    world = stable(cluster_tree(group(replicas=3)))
    leaving = world.edit_pod(workers(world)[0], {"metadata": {"deletionTimestamp": "2027-01-15T08:00:30Z"}})
    plan = plan_world(leaving)
    assert not created_pods(plan)
    assert "Terminating" in wait_reasons(plan)
    assert plan.wake_after is not None
    assert plan.wake_after <= 90
    assert len(created_pods(plan_world(settle(leaving)))) == 1


def test_l3_a_worker_stuck_in_termination_is_replaced_after_the_patience() -> None:
    world = stable(cluster_tree(group(replicas=3)))
    leaving = world.edit_pod(workers(world)[0], {"metadata": {"deletionTimestamp": "2027-01-15T08:00:30Z"}})
    assert not created_pods(plan_world(leaving.after(89)))
    assert len(created_pods(plan_world(leaving.after(90)))) == 1
    stuck = settle_but_keep_terminating(apply_plan(leaving.after(90), plan_world(leaving.after(90))))
    later = apply_plan(stuck, plan_world(stuck))
    assert later.cluster["status"]["state"] == "ready", "the stuck Pod no longer counts"
    assert plan_world(later).is_empty


def settle_but_keep_terminating(world: World) -> World:
    terminating = [pod for pod in world.objects if pod["metadata"].get("deletionTimestamp")]
    return settle(world).add(*terminating)


def test_c3_terminating_pods_are_not_counted_as_available_for_deletion() -> None:
    """Scaling 10 -> 9 while one is already leaving must not delete a second one."""
    world = stable(cluster_tree(group(replicas=10)))
    world = world.edit_group(replicas=9)
    world = apply_plan(world, plan_world(world), grace=True)
    assert not deletes(plan_world(world))
    once_more = plan_world(world.edit_group(replicas=8))
    assert len(deletes(once_more)) == 1


def test_r5_23_a_suspended_group_loses_its_pods_and_no_other_does() -> None:
    world = stable(cluster_tree(group("a", 2), group("b", 1)))
    world = world.edit_group(suspend=True)
    plan = plan_world(world)
    assert names_of(deletes(plan)) == set(workers(world, "a"))
    assert told(plan) == ["Deleted all pods for suspended worker group a in RayCluster ns/demo"]
    world, _plans = run(world)
    assert world.cluster["status"]["desiredWorkerReplicas"] == 1
    assert world.cluster["status"]["state"] == "ready"


def test_r5_22_a_group_named_like_the_heads_does_not_take_the_head_for_a_worker() -> None:
    world = stable(cluster_tree(group("headgroup", 1)))
    assert len(world.names("Pod")) == 2
    assert plan_world(world).is_empty


def test_two_groups_of_one_name_do_not_fight() -> None:
    """Differs from KubeRay: R5-22, where each takes the other's Pods for its own."""
    world = stable(cluster_tree(group("g", 1), group("g", 3)))
    assert len(workers(world)) == 1
    assert "DuplicateGroup" in wait_reasons(plan_world(world))


def test_a_huge_group_comes_in_batches() -> None:
    world = World(cluster_tree(group(replicas=2147483647, maxReplicas=2147483647)))
    plan = plan_world(world)
    assert len(created_pods(plan)) == MAX_NEW_PODS + 1
    assert "Batch" in wait_reasons(plan)
    again = plan_world(settle(apply_plan(world, plan)))
    assert len(created_pods(again)) == MAX_NEW_PODS


def test_created_workers_carry_their_report() -> None:
    plan = plan_world(World(cluster_tree(group(replicas=1))))
    worker = creates(plan)[-1]
    assert worker.report.success is not None
    assert worker.report.failure is not None
    assert worker.report.success.note == f"Created worker Pod ns/{worker.ref.name}"
    assert worker.report.failure.note == "Failed to create worker Pod for the cluster ns/demo"
    assert worker.report.failure_tag == "FailedCreateWorkerPod"
    owner: dict[str, Any] = worker.object["metadata"]["ownerReferences"][0]
    assert (owner["uid"], owner["controller"]) == (UID, True)


def test_the_least_useful_worker_is_the_first_victim() -> None:
    world = stable(cluster_tree(group(replicas=4)))
    for weak in sorted(workers(world)):
        pending = world.edit_pod(weak, {"status": {"phase": "Pending", "conditions": None}})
        assert names_of(deletes(plan_world(pending.edit_group(replicas=3)))) == {weak}
