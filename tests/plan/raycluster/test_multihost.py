"""Multi-host groups: a replica is several Pods that live and die together."""

from collections import defaultdict
from typing import Any

import pytest

from heliostat.api.settings import Settings
from heliostat.plan.because import Because
from plan.worlds import (
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    deletes,
    group,
    names_of,
    plan_world,
    run,
    settle,
    stable,
    told,
    wait_reasons,
)

NAME, INDEX, HOST = "ray.io/worker-group-replica-name", "ray.io/worker-group-replica-index", "ray.io/replica-host-index"


def replicas(world: World) -> dict[str, list[Tree]]:
    found: dict[str, list[Tree]] = defaultdict(list)
    for pod in world.pods(group="g"):
        found[pod["metadata"]["labels"][NAME]].append(pod)
    return dict(found)


def pod_names(pods: list[Tree]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}


def slices(count: int = 3, hosts: int = 4, **spec: Any) -> World:
    return stable(cluster_tree(group(replicas=count, numOfHosts=hosts, maxReplicas=4), **spec))


def lose(world: World, name: str) -> World:
    return world.edit_objects(lambda tree: None if tree["metadata"]["name"] == name else tree)


def check_complete(world: World, count: int, hosts: int) -> None:
    found = replicas(world)
    assert sorted(pods[0]["metadata"]["labels"][INDEX] for pods in found.values()) == [str(i) for i in range(count)]
    for pods in found.values():
        assert len({pod["metadata"]["labels"][INDEX] for pod in pods}) == 1
        assert {pod["metadata"]["labels"][HOST] for pod in pods} == {str(host) for host in range(hosts)}
        assert len(pods) == hosts


def test_envtest_three_replicas_of_four_hosts() -> None:
    world = slices()
    check_complete(world, 3, 4)
    status = world.cluster["status"]
    assert (status["desiredWorkerReplicas"], status.get("minWorkerReplicas"), status["maxWorkerReplicas"]) == (
        12,
        None,
        16,
    )
    assert all(name.startswith("g-") and len(name) == len("g-") + 5 for name in replicas(world))
    assert "demo-headless" in world.names("Service")


def test_r5_51_a_replica_that_lost_a_pod_is_replaced_as_a_whole_when_it_is_gone() -> None:
    world = slices()
    name, pods = next(iter(replicas(world).items()))
    world = lose(world, pods[0]["metadata"]["name"])
    plan = plan_world(world)
    assert names_of(deletes(plan)) == pod_names(pods[1:])
    assert {action.because for action in deletes(plan)} == {Because.INCOMPLETE_REPLICA}
    assert not created_pods(plan)
    assert all(note.endswith("for group g: cleanup of incomplete multi-host group") for note in told(plan))
    leaving = apply_plan(world, plan, grace=True)
    assert not created_pods(plan_world(leaving))
    assert not deletes(plan_world(leaving))
    world, _plans = run(settle(leaving))
    check_complete(world, 3, 4)
    assert name not in replicas(world)


def test_c10_a_replica_with_a_terminating_pod_goes_as_a_whole() -> None:
    world = slices(2, 2)
    name, pods = next(iter(replicas(world).items()))
    world = world.edit_pod(pods[0]["metadata"]["name"], {"metadata": {"deletionTimestamp": "2027-01-15T08:00:30Z"}})
    plan = plan_world(world)
    assert names_of(deletes(plan)) == pod_names(pods[1:])
    assert not created_pods(plan)
    world, _plans = run(settle(apply_plan(world, plan, grace=True)))
    check_complete(world, 2, 2)
    assert name not in replicas(world)


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_r5_52_an_ended_pod_takes_its_replica_along_which_is_replaced_in_the_same_pass(phase: str) -> None:
    world = slices()
    pods = replicas(world)[sorted(replicas(world))[1]]
    world = world.edit_pod(pods[2]["metadata"]["name"], {"status": {"phase": phase}})
    plan = plan_world(world)
    assert names_of(deletes(plan)) == pod_names(pods)
    assert {action.because for action in deletes(plan)} == {Because.UNHEALTHY}
    assert len(created_pods(plan)) == 4
    assert {pod["metadata"]["labels"][INDEX] for pod in created_pods(plan)} == {pods[0]["metadata"]["labels"][INDEX]}
    leaving = apply_plan(world, plan, grace=True)
    assert not created_pods(plan_world(leaving)), "it is replaced once"
    world, _plans = run(settle(leaving))
    check_complete(world, 3, 4)


def test_r5_53_a_named_pod_takes_its_whole_replica_along() -> None:
    world = slices(enableInTreeAutoscaling=True)
    _name, pods = next(iter(replicas(world).items()))
    asked = [pods[3]["metadata"]["name"], "ghost"]
    world = world.edit_group(replicas=2, scaleStrategy={"workersToDelete": asked})
    plan = plan_world(world)
    assert names_of(deletes(plan)) == pod_names(pods)
    assert {action.because for action in deletes(plan)} == {Because.ASKED_FOR}
    assert all(note.endswith("for group g: autoscaler scale-down request") for note in told(plan))
    world, _plans = run(world)
    assert len(replicas(world)) == 2


@pytest.mark.parametrize(
    ("autoscaling", "random_delete", "left"), [(False, False, 1), (True, True, 1), (True, False, 3)]
)
def test_r5_56_whole_replicas_are_surplus(*, autoscaling: bool, random_delete: bool, left: int) -> None:
    settings = Settings(random_pod_delete=random_delete)
    tree = cluster_tree(group(replicas=3, numOfHosts=2), enableInTreeAutoscaling=autoscaling)
    world = stable(tree, settings).edit_group(replicas=1)
    before = replicas(world)
    world, plans = run(world, settings)
    assert len(replicas(world)) == left
    assert all(len(pods) == 2 for pods in replicas(world).values())
    assert replicas(world).items() <= before.items()
    reasons = {note.rsplit(": ", 1)[-1] for plan in plans for note in told(plan)}
    assert reasons == ({"scaling down"} if left == 1 else set())


def test_the_replica_with_a_pod_that_is_not_ready_is_the_first_victim() -> None:
    world = slices(3, 2)
    weak = replicas(world)[sorted(replicas(world))[1]]
    world = world.edit_pod(
        weak[1]["metadata"]["name"], {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    )
    assert names_of(deletes(plan_world(world.edit_group(replicas=2)))) == pod_names(weak)


def test_r5_50_a_pod_without_a_replica_name_is_neither_counted_nor_deleted() -> None:
    world = stable(cluster_tree(group(replicas=2))).edit_group(numOfHosts=2)
    plan = plan_world(world)
    assert not deletes(plan)
    assert len(created_pods(plan)) == 4
    assert "LeftoverPods" in wait_reasons(plan)


def test_r5_58_more_pods_than_hosts_are_no_fault() -> None:
    world = slices(2, 4).edit_group(numOfHosts=2)
    assert not deletes(plan_world(world))
    assert not created_pods(plan_world(world))


def test_l3_a_replica_of_which_only_stuck_pods_are_left_is_replaced() -> None:
    world = slices(1, 2)
    for pod in world.pods(group="g"):
        world = world.edit_pod(pod["metadata"]["name"], {"metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z"}})
    assert not created_pods(plan_world(world.after(59)))
    assert len(created_pods(plan_world(world.after(60)))) == 2


def test_a_stuck_pod_of_a_replica_that_is_leaving_wakes_nobody() -> None:
    world = slices(1, 2)
    stuck, leaving = (pod["metadata"]["name"] for pod in world.pods(group="g"))
    world = world.edit_pod(stuck, {"metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z"}})
    world = world.edit_pod(leaving, {"metadata": {"deletionTimestamp": "2027-01-15T08:01:30Z"}})
    shown = apply_plan(world.after(100), plan_world(world.after(100)))
    assert plan_world(shown).wake_after == 50.0


def test_a_replica_beyond_all_limits_is_refused_not_half_built() -> None:
    plan = plan_world(World(cluster_tree(group(replicas=1, numOfHosts=2147483647))))
    assert "TooMany" in wait_reasons(plan)
    assert [pod["metadata"]["labels"]["ray.io/node-type"] for pod in created_pods(plan)] == ["head"]
