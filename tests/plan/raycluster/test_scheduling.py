"""PodGroups and Workloads."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.lookups import WORKLOAD, WORKLOAD_GROUP
from heliostat.plan.because import Because
from heliostat.plan.raycluster.scheduling import PROTECTION
from plan.worlds import (
    NAMESPACE,
    Tree,
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    creates,
    deletes,
    group,
    observe,
    owned,
    patches,
    plan_observed,
    plan_world,
    run,
    settle,
    stable,
    unread,
    wait_reasons,
    with_gates,
)

VOLCANO = Settings(batch_scheduler="volcano")
PLUGINS = Settings(batch_scheduler="scheduler-plugins")
WAS = with_gates(KubernetesWAS=True)
GANG = {"labels": {"ray.io/gang-scheduling-enabled": "true"}}


def pod_group(world: World) -> Tree:
    (found,) = world.of_kind("PodGroup")
    return found


def test_r13_2_volcano_the_size_follows_the_spec_and_nothing_else_does() -> None:
    tree = cluster_tree(group(replicas=2), metadata={"labels": {"volcano.sh/queue-name": "q1"}})
    world = stable(tree, VOLCANO)
    assert pod_group(world)["spec"] == {
        "minMember": 3,
        "minResources": {"cpu": "1500m", "memory": "3Gi"},
        "queue": "q1",
    }
    moved = world.edit_metadata(labels={"volcano.sh/queue-name": "q2"}).edit_group(replicas=4)
    (patch,) = patches(plan_world(moved, VOLCANO))
    assert patch.because == Because.DRIFTED
    assert patch.changes == {"spec": {"minMember": 5, "minResources": {"cpu": "2500m", "memory": "5Gi"}}}
    assert pod_group(run(moved, VOLCANO)[0])["spec"]["queue"] == "q1"


def test_r13_2_volcano_equal_quantities_are_no_difference() -> None:
    world = stable(cluster_tree(group(replicas=2)), VOLCANO)
    spelled = {"spec": {"minResources": {"cpu": "1.5", "memory": "3072Mi"}}}
    same = world.edit_objects(lambda tree: merge_patch(tree, spelled) if tree["kind"] == "PodGroup" else tree)
    assert plan_world(same, VOLCANO).is_empty


def test_r13_2_volcano_a_resource_that_is_no_longer_asked_for_goes() -> None:
    world = stable(cluster_tree(), VOLCANO)
    extra = {"spec": {"minResources": {"nvidia.com/gpu": "3"}}}
    world = world.edit_objects(lambda tree: merge_patch(tree, extra) if tree["kind"] == "PodGroup" else tree)
    assert "nvidia.com/gpu" not in pod_group(run(world, VOLCANO)[0])["spec"]["minResources"]


def test_volcano_a_foreign_group_under_our_name_is_left_alone_and_the_pods_wait() -> None:
    foreign = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "ray-demo-pg", "namespace": NAMESPACE},
        "spec": {"minMember": 99},
    }
    plan = plan_world(World(cluster_tree()).add(foreign), VOLCANO)
    assert not patches(plan)
    assert not created_pods(plan)
    assert "NameTaken" in wait_reasons(plan)


def test_r13_2_volcano_an_impossible_topology_stops_the_pods() -> None:
    labels = {"volcano.sh/network-topology-mode": "hard", "volcano.sh/network-topology-highest-tier-allowed": "high"}
    plan = plan_world(World(cluster_tree(metadata={"labels": labels})), VOLCANO)
    assert not created_pods(plan)
    assert "Impossible" in wait_reasons(plan)


def test_r13_1_pods_need_their_group() -> None:
    plan = plan_world(World(cluster_tree()), VOLCANO)
    needs = {stage.name: stage.needs for stage in plan.stages}
    assert "scheduling" in needs["head-pod"]
    assert "scheduling" in needs["workers/g"]


def test_r13_1_a_suspended_cluster_gets_no_group() -> None:
    world = stable(cluster_tree(suspend=True), VOLCANO)
    assert not world.of_kind("PodGroup")


def test_r13_5_scheduler_plugins_made_once_and_never_changed() -> None:
    world = stable(cluster_tree(group(replicas=2), metadata=GANG), PLUGINS)
    assert pod_group(world)["spec"]["minMember"] == 3
    moved, plans = run(world.edit_group(replicas=4), PLUGINS)
    assert pod_group(moved)["spec"]["minMember"] == 3
    assert not any(patches(plan) for plan in plans)
    assert len(moved.pods()) == 5


def gang_tree(*groups: Tree, **fields: Any) -> Tree:
    return cluster_tree(*(groups or (group(replicas=2),)), metadata=GANG, **fields)


def sizes(world: World) -> list[int]:
    (workload,) = world.of_kind("Workload")
    of_workload = workload["spec"]["podGroupTemplates"][0]["schedulingPolicy"]["gang"]["minCount"]
    return [of_workload, pod_group(world)["spec"]["schedulingPolicy"]["gang"]["minCount"]]


def test_r13_6_workload_and_group_are_made_before_the_pods() -> None:
    world = stable(gang_tree(), WAS)
    assert sizes(world) == [3, 3]
    assert len(world.pods()) == 3


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        (lambda world: world.edit_group(replicas=3), True),
        (lambda world: world.edit_group(numOfHosts=2), True),
        (lambda world: world.edit_group(suspend=True), True),
        (lambda world: world.edit_group(groupName="renamed"), False),
        (lambda world: world.edit_group(maxReplicas=50), False),
    ],
)
def test_table_16_10_what_makes_a_gang_stale(change: Any, *, stale: bool) -> None:
    plan = plan_world(change(stable(gang_tree(), WAS)), WAS)
    assert (Because.IMMUTABLE in [action.because for action in deletes(plan)]) is stale


def test_r13_6_a_stale_gang_goes_group_first_and_comes_back_with_the_new_size() -> None:
    world = stable(gang_tree(), WAS).edit_group(replicas=3)
    world = world.edit_objects(
        lambda tree: (
            merge_patch(tree, {"metadata": {"finalizers": [PROTECTION]}}) if tree["kind"] == "PodGroup" else tree
        )
    )
    first = plan_world(world, WAS)
    assert [patch.changes for patch in patches(first)] == [{"metadata": {"finalizers": None}}]
    assert not deletes(first)
    world = apply_plan(world, first)
    second = plan_world(world, WAS)
    assert [action.ref.kind for action in deletes(second)] == ["PodGroup"]
    assert not created_pods(second), "Pods wait for their group"
    world = apply_plan(world, second)
    third = plan_world(world, WAS)
    assert [action.ref.kind for action in deletes(third)] == ["Workload"]
    world, _plans = run(apply_plan(world, third), WAS)
    assert sizes(world) == [4, 4]
    assert len(world.pods()) == 4


def test_r13_6_a_group_that_is_still_terminating_is_waited_for() -> None:
    world = stable(gang_tree(), WAS).edit_group(replicas=3)
    leaving = {"metadata": {"deletionTimestamp": "2027-01-15T08:00:30Z"}}
    world = world.edit_objects(lambda tree: merge_patch(tree, leaving) if tree["kind"] == "PodGroup" else tree)
    plan = plan_world(world, WAS)
    assert not deletes(plan)
    assert not creates(plan)
    assert "Blocked" in wait_reasons(plan)


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.edit_metadata(labels={"ray.io/gang-scheduling-enabled": "false"}),
        lambda world: world.edit_spec(enableInTreeAutoscaling=True),
    ],
)
def test_r13_6_a_cluster_that_is_no_gang_any_more_loses_both(change: Any) -> None:
    world, plans = run(change(stable(gang_tree(), WAS)), WAS)
    assert not world.of_kind("PodGroup")
    assert not world.of_kind("Workload")
    reasons = [action.because for plan in plans for action in deletes(plan)]
    assert reasons == [Because.NOT_WANTED, Because.NOT_WANTED]


def test_r13_6_foreign_objects_under_our_names_are_left_alone() -> None:
    foreign: Tree = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": "demo", "namespace": NAMESPACE},
        "spec": {},
    }
    for tree in (foreign, owned(foreign, "another-cluster")):
        plan = plan_world(World(gang_tree()).add(tree), WAS)
        assert not deletes(plan)
        assert not created_pods(plan)
        assert "NameTaken" in wait_reasons(plan)
    assert settle(World(gang_tree()).add(foreign)).of_kind("Workload")


@pytest.mark.parametrize("kind", [WORKLOAD, WORKLOAD_GROUP])
def test_only_gangs_wait_for_objects_that_cannot_be_read(kind: str) -> None:
    for tree, waits in ((cluster_tree(), False), (gang_tree(), True)):
        seen = observe(World(tree))
        plan = plan_observed(structs.replace(seen, objects=unread(seen.objects, kind)), WAS)
        assert "NotKnown" in wait_reasons(plan)
        assert (not created_pods(plan)) is waits
