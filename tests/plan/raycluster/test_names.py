"""Names of new Pods: derived from the view, never used before."""

from itertools import pairwise
from typing import Any

from heliostat.desired import labels
from heliostat.kube.pods import PodView
from heliostat.plan.raycluster.names import PodNames
from heliostat.plan.raycluster.situation import Remembered
from plan.worlds import (
    NAMESPACE,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    group,
    observe,
    plan_world,
    run,
    settle,
    stable,
)


def test_the_same_view_gives_the_same_names() -> None:
    world = World(cluster_tree(group(replicas=5)))
    assert created_pods(plan_world(world)) == created_pods(plan_world(world))


def test_pods_of_one_plan_have_different_names() -> None:
    cluster = observe(World(cluster_tree())).cluster
    names = PodNames(cluster, (), ())
    assert len({names.suffix("p-", "g", index, 0) for index in range(3000)}) == 3000
    same_place = PodNames(cluster, (), ())
    assert len({same_place.suffix("p-", "g", 0, 0) for _ in range(20)}) == 20


def test_pods_that_came_and_went_have_used_their_names_up_although_the_view_is_as_before_them() -> None:
    world = World(cluster_tree(group(replicas=2, numOfHosts=2)))
    given = [
        {name for pod in created_pods(plan_world(world, remembered=remembered)) for name in names_of(pod)}
        for remembered in (
            Remembered(),
            Remembered(moves=1),
            Remembered(moves=2),
            Remembered(since=7),
            Remembered(since=7, moves=1),
        )
    ]
    assert [len(names) for names in given] == [7] * 5  # a head, two replicas and the two Pods of each
    assert len(set.union(*given)) == 35


def names_of(pod: dict[str, Any]) -> set[str]:
    replica = pod["metadata"]["labels"].get(labels.REPLICA_NAME)
    return {pod["metadata"]["name"]} | ({replica} if replica else set())


def test_a_name_has_the_shape_that_kubernetes_draws() -> None:
    suffix = PodNames(observe(World(cluster_tree())).cluster, (), ()).suffix("p-", "g", 0, 0)
    assert len(suffix) == 5
    assert set(suffix) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_a_name_in_view_or_asked_away_is_not_used_again() -> None:
    cluster = observe(World(cluster_tree())).cluster
    first = PodNames(cluster, (), ()).suffix("p-", "g", 0, 0)
    asked = PodNames(cluster, (), [f"p-{first}"]).suffix("p-", "g", 0, 0)
    seen = PodNames(cluster, [PodView(name=f"p-{first}", namespace=NAMESPACE)], ()).suffix("p-", "g", 0, 0)
    assert first not in (asked, seen)


def test_the_successor_of_a_deleted_worker_has_a_new_name_although_the_rest_stayed() -> None:
    """The autoscaler may leave the old name in workersToDelete: a reused name would be deleted over and over."""
    world = stable(cluster_tree(group(replicas=2), enableInTreeAutoscaling=True))
    generations = [{pod["metadata"]["name"] for pod in world.pods(group="g")}]
    for _ in range(3):
        victim = max(generations[-1])
        world = world.edit_group(replicas=1, scaleStrategy={"workersToDelete": [victim]})
        world, _plans = run(world)
        assert victim not in world.names("Pod")
        world, _plans = run(world.edit_group(replicas=2))
        generations.append({pod["metadata"]["name"] for pod in world.pods(group="g")})
    for before, after in pairwise(generations):
        assert len(before & after) == 1
    assert len(set.union(*generations)) == 5


def test_names_after_a_suspension_are_new() -> None:
    world = stable(cluster_tree(group(replicas=2)))
    before = set(world.names("Pod"))
    world, _plans = run(world.edit_spec(suspend=True))
    assert world.names("Pod") == []
    world, _plans = run(world.edit_spec(suspend=False))
    assert len(world.names("Pod")) == 3
    assert not before & set(world.names("Pod"))


def test_a_repeated_create_from_the_same_view_collides() -> None:
    world = World(cluster_tree(group(replicas=3)))
    plan = plan_world(world)
    once = apply_plan(world, plan)
    twice = apply_plan(once, plan)
    assert len(twice.objects) == len(once.objects)
    assert settle(twice).names("Pod") == settle(once).names("Pod")


def test_a_newer_pod_in_view_gives_other_names() -> None:
    cluster = observe(World(cluster_tree())).cluster
    views = [[PodView(name="x", resource_version=version)] for version in ("9", "10")]
    first, second = (PodNames(cluster, view, ()).suffix("p-", "g", 0, 0) for view in views)
    assert first != second
    both = PodNames(cluster, [*views[0], *views[1]], ()).suffix("p-", "g", 0, 0)
    assert both == second, "versions are compared as numbers"


def test_a_create_that_was_never_answered_is_asked_for_again_under_its_name() -> None:
    """It may land at any time: under another name there would be two Pods where one was asked for."""
    world = stable(cluster_tree(group(replicas=1))).edit_group(replicas=3)
    first, second = [pod["metadata"]["name"] for pod in created_pods(plan_world(world))]
    seen_since = world.touch_pods()
    assert first not in [pod["metadata"]["name"] for pod in created_pods(plan_world(seen_since))]
    remembered = Remembered(unanswered=frozenset({first, "demo-other-worker-xxxxx"}))
    again = [pod["metadata"]["name"] for pod in created_pods(plan_world(seen_since, remembered=remembered))]
    assert again[0] == first
    assert len(set(again)) == 2
    assert second not in again


def test_an_unanswered_name_is_not_used_when_it_is_in_view_or_asked_away() -> None:
    cluster = observe(World(cluster_tree())).cluster
    there = [PodView(name="p-bcdfg")]
    assert PodNames(cluster, (), (), ["p-bcdfg"]).suffix_again("p-", "g", 0, 0) == "bcdfg"
    assert PodNames(cluster, there, (), ["p-bcdfg"]).suffix_again("p-", "g", 0, 0) != "bcdfg"
    assert PodNames(cluster, (), ["p-bcdfg"], ["p-bcdfg"]).suffix_again("p-", "g", 0, 0) != "bcdfg"
    names = PodNames(cluster, (), (), ["p-bcdfg"])
    assert names.suffix_again("p-", "g", 0, 0) != names.suffix_again("p-", "g", 0, 1)
