"""Suspension: the two tables of the reference, and the whole way down and up."""

import pytest

from heliostat.plan.because import Because
from heliostat.plan.raycluster.suspend import (
    NEITHER,
    SUSPENDED,
    SUSPENDING,
    PodsFate,
    decide_pods_fate,
    next_suspend_conditions,
    suspend_status,
)
from plan.worlds import (
    World,
    apply_plan,
    cluster_tree,
    created_pods,
    deletes,
    group,
    is_quiet,
    plan_world,
    run,
    settle,
    stable,
    told,
    wait_reasons,
    with_gates,
)


@pytest.mark.parametrize(
    ("gate", "status", "suspend", "fate"),
    [
        (True, SUSPENDING, True, PodsFate.DELETE_ALL),
        (True, SUSPENDING, False, PodsFate.DELETE_ALL),
        (False, SUSPENDING, False, PodsFate.DELETE_ALL),
        (False, NEITHER, True, PodsFate.DELETE_ALL),
        (False, SUSPENDED, True, PodsFate.DELETE_ALL),
        (True, SUSPENDED, True, PodsFate.LEAVE),
        (True, SUSPENDED, False, PodsFate.LEAVE),
        (True, NEITHER, True, PodsFate.LEAVE),
        (True, NEITHER, False, PodsFate.RECONCILE),
        (False, NEITHER, False, PodsFate.RECONCILE),
        (False, SUSPENDED, False, PodsFate.RECONCILE),
    ],
)
def test_table_r5_3_what_happens_to_the_pods(gate: bool, status: str, suspend: bool, fate: PodsFate) -> None:
    assert decide_pods_fate(gate=gate, status=status, suspend=suspend) is fate


@pytest.mark.parametrize(
    ("status", "has_pods", "suspend", "moves"),
    [
        (SUSPENDING, False, True, {SUSPENDING: False, SUSPENDED: True}),
        (SUSPENDING, False, False, {SUSPENDING: False, SUSPENDED: True}),
        (SUSPENDING, True, True, {}),
        (SUSPENDING, True, False, {}),
        (SUSPENDED, False, False, {SUSPENDED: False}),
        (SUSPENDED, False, True, {}),
        (SUSPENDED, False, None, {}),
        (NEITHER, True, True, {SUSPENDED: False, SUSPENDING: True}),
        (NEITHER, True, False, {SUSPENDED: False, SUSPENDING: False}),
        (NEITHER, False, None, {SUSPENDED: False, SUSPENDING: False}),
    ],
)
def test_table_8_2_how_the_conditions_move(
    status: str, *, has_pods: bool, suspend: bool | None, moves: dict[str, bool]
) -> None:
    found = next_suspend_conditions(status, has_pods=has_pods, suspend=suspend)
    assert found == moves


def test_r8_10_suspended_is_first_written_before_suspending() -> None:
    assert list(next_suspend_conditions(NEITHER, has_pods=False, suspend=None)) == [SUSPENDED, SUSPENDING]


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ([], NEITHER),
        ([(SUSPENDING, "False"), (SUSPENDED, "True")], SUSPENDED),
        ([(SUSPENDED, "True"), (SUSPENDING, "True")], SUSPENDED),
        ([(SUSPENDING, "True"), (SUSPENDED, "True")], SUSPENDING),
        ([("HeadPodReady", "True")], NEITHER),
    ],
)
def test_r5_2_the_first_true_condition_in_list_order_counts(conditions: list[tuple[str, str]], status: str) -> None:
    assert suspend_status([{"type": type_, "status": value} for type_, value in conditions]) == status


def test_r8_12_the_whole_way_down() -> None:
    world = stable(cluster_tree(group(replicas=2))).edit_spec(suspend=True)

    first = plan_world(world)
    assert not deletes(first), "the intent is persisted before the effect"
    world = apply_plan(world, first)
    assert world.conditions()[SUSPENDING] == "True"
    assert world.cluster["status"]["state"] == "ready", "nothing is suspended yet"

    second = plan_world(world)
    assert {action.because for action in deletes(second)} == {Because.SUSPENDED}
    assert len(deletes(second)) == 3
    assert told(second) == ["Deleted Pods for RayCluster ns/demo due to suspension"]
    world = apply_plan(world, second, grace=True)

    leaving = plan_world(world)
    assert not deletes(leaving)
    assert not created_pods(leaving)
    assert wait_reasons(leaving) == ["Suspending"]
    world = settle(apply_plan(world, leaving))

    world = apply_plan(world, plan_world(world))
    assert world.conditions() == {
        "HeadPodReady": "False",
        "RayClusterProvisioned": "False",
        SUSPENDED: "True",
        SUSPENDING: "False",
    }
    assert world.cluster["status"]["state"] == "suspended"
    assert plan_world(world).is_empty
    assert wait_reasons(plan_world(world)) == ["Suspended"]
    assert world.names("Service") == ["demo-head-svc"]


def test_r8_11_resuming_takes_one_pass_to_clear_the_condition_and_one_to_create() -> None:
    world, _plans = run(stable(cluster_tree(group(replicas=2))).edit_spec(suspend=True))
    world = world.edit_spec(suspend=False)
    first = plan_world(world)
    assert not created_pods(first)
    world = apply_plan(world, first)
    assert world.conditions()[SUSPENDED] == "False"
    assert len(created_pods(plan_world(world))) == 3
    world, _plans = run(world)
    assert world.cluster["status"]["state"] == "ready"


def test_r8_11_a_suspension_cannot_be_taken_back_half_way() -> None:
    world = stable(cluster_tree(group(replicas=2))).edit_spec(suspend=True)
    world = apply_plan(world, plan_world(world))
    world = world.edit_spec(suspend=False)
    assert len(deletes(plan_world(world))) == 3
    world = settle(apply_plan(world, plan_world(world)))
    world = apply_plan(world, plan_world(world))
    assert world.conditions()[SUSPENDED] == "True"


def test_removing_the_field_does_not_resume() -> None:
    world, _plans = run(stable(cluster_tree()).edit_spec(suspend=True))
    edited = world.edit_spec(suspend=None)
    assert is_quiet(plan_world(edited), edited)


def test_a_cluster_born_suspended_gets_its_services_and_no_pods() -> None:
    world, plans = run(World(cluster_tree(suspend=True)))
    assert [created_pods(plan) for plan in plans] == [[]] * len(plans)
    assert world.cluster["status"]["state"] == "suspended"
    assert world.conditions()[SUSPENDED] == "True"
    assert "Deleted Pods for RayCluster ns/demo due to suspension" in [note for plan in plans for note in told(plan)]


def test_without_the_conditions_gate_the_pods_go_at_once() -> None:
    settings = with_gates(RayClusterStatusConditions=False)
    world = stable(cluster_tree(), settings).edit_spec(suspend=True)
    assert len(deletes(plan_world(world, settings))) == 2
    world, _plans = run(world, settings)
    assert world.cluster["status"]["state"] == "suspended"
    assert "conditions" not in world.cluster["status"]


def test_a_pod_that_never_goes_keeps_the_cluster_suspending() -> None:
    """Who counts on the capacity of a suspended cluster must find it free."""
    world = stable(cluster_tree()).edit_spec(suspend=True)
    world = apply_plan(world, plan_world(world))
    world = apply_plan(world, plan_world(world), grace=True).after(10_000)
    world = apply_plan(world, plan_world(world))
    assert world.conditions()[SUSPENDING] == "True"
    assert "Suspending" in wait_reasons(plan_world(world))
