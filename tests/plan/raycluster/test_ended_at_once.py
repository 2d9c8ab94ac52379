"""Pods that end as soon as they are made: how fast a place gets new ones is bounded by the Pod in view."""

from typing import Any

import pytest

from heliostat.explain.waits import tell_waits
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.raycluster.pod_health import SHORTEST_LIFE
from plan.worlds import NOW, Tree, World, cluster_tree, created_pods, deletes, group, plan_world, stable, wait_reasons

OUT_OF_CPU: Tree = {"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"}
REFUSED: Tree = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
NO_SUCH_IMAGE: Tree = {
    "phase": "Running",
    "containerStatuses": [{"name": "ray-worker", "state": {"terminated": {"exitCode": 128, "reason": "StartError"}}}],
}


def with_ended(world: World, name: str, status: Tree, age: float) -> World:
    metadata = {"creationTimestamp": format_timestamp(world.now - age)}
    return world.edit_pod(name, {"metadata": metadata, "spec": {"restartPolicy": "Never"}, "status": status})


def a_pod(world: World, **labels: str) -> str:
    return str(world.pods(**labels)[0]["metadata"]["name"])


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("status", [OUT_OF_CPU, REFUSED, NO_SUCH_IMAGE])
def test_a_worker_that_ended_at_once_is_replaced_when_it_is_old_enough(status: Tree, hosts: int) -> None:
    world = stable(cluster_tree(group("g", replicas=1, numOfHosts=hosts)))
    world = with_ended(world, a_pod(world, group="g"), status, age=3)
    plan = plan_world(world)
    assert (created_pods(plan), deletes(plan)) == ([], [])
    assert "EndedAtOnce" in wait_reasons(plan)
    assert plan.wake_after is not None
    assert plan.wake_after <= SHORTEST_LIFE - 3
    later = plan_world(world.after(SHORTEST_LIFE - 3))
    assert (len(created_pods(later)), len(deletes(later))) == (hosts, hosts)


def test_a_head_that_ended_at_once_is_replaced_when_it_is_old_enough() -> None:
    world = stable(cluster_tree())
    head = a_pod(world, node_type="head")
    world = with_ended(world, head, OUT_OF_CPU, age=0)
    plan = plan_world(world)
    assert (created_pods(plan), deletes(plan)) == ([], [])
    assert "EndedAtOnce" in wait_reasons(plan)
    assert [delete.ref.name for delete in deletes(plan_world(world.after(SHORTEST_LIFE)))] == [head]


def test_a_node_that_takes_no_pod_gets_one_for_each_place_in_that_time() -> None:
    """Every change wakes the cluster; fifty looks in ten seconds made fifty Pods."""
    world = stable(cluster_tree(group("g", replicas=1)))
    world = with_ended(world, a_pod(world, group="g"), OUT_OF_CPU, age=0)
    made = [pod for tick in range(50) for pod in created_pods(plan_world(world.touch_pods().after(tick * 0.2)))]
    assert made == []


@pytest.mark.parametrize("created", [None, "yesterday", format_timestamp(NOW + 3600)])
def test_a_pod_whose_age_nobody_can_tell_is_replaced_at_once(created: Any) -> None:
    world = stable(cluster_tree(group("g", replicas=1)))
    ended = a_pod(world, group="g")
    world = with_ended(world, ended, OUT_OF_CPU, age=0).edit_pod(ended, {"metadata": {"creationTimestamp": created}})
    assert len(created_pods(plan_world(world))) == 1


def test_who_asks_is_told_which_pod_it_is_and_why_it_ended() -> None:
    world = stable(cluster_tree(group("g", replicas=1)))
    ended = a_pod(world, group="g")
    (told,) = tell_waits(plan_world(with_ended(world, ended, OUT_OF_CPU, age=0)).waits)
    assert told.what == "a Pod terminated right after its start, and is replaced with a delay (back-off)"
    assert ended in told.why
    assert "OutOfcpu: Node didn't have enough resource: cpu" in told.why
    assert "it is 10 s old" in told.fix
