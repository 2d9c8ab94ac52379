"""Pods of worker groups that the spec no longer has."""

from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.plan.because import Because
from heliostat.plan.raycluster.situation import Remembered
from plan.worlds import (
    apply_plan,
    cluster_tree,
    deletes,
    group,
    names_of,
    own_conditions,
    plan_world,
    run,
    stable,
    told,
    wait_reasons,
)


def test_a_group_whose_removal_was_seen_loses_its_pods() -> None:
    """Differs from KubeRay: R5-41, which leaves them for ever."""
    world = stable(cluster_tree(group("a", 2), group("b", 1)))
    orphans = {pod["metadata"]["name"] for pod in world.pods(group="b")}
    world = world.edit_spec(workerGroupSpecs=world.cluster["spec"]["workerGroupSpecs"][:1])
    remembered = Remembered(groups_seen=frozenset({"a", "b"}))
    plan = plan_world(world, remembered=remembered)
    assert names_of(deletes(plan)) == orphans
    assert {action.because for action in deletes(plan)} == {Because.GROUP_REMOVED}
    assert "worker group b is no longer in the spec" in told(plan)[0]
    world, _plans = run(world, remembered=remembered)
    assert world.cluster["status"]["state"] == "ready"
    assert not world.pods(group="b")


def test_leftovers_found_at_a_take_over_are_only_reported() -> None:
    world = stable(cluster_tree(group("a", 2), group("b", 1)))
    world = world.edit_spec(workerGroupSpecs=world.cluster["spec"]["workerGroupSpecs"][:1])
    # Another operator made them: nobody can say what else was edited since.
    newer, remembered = Settings(operator_version="heliostat-v9"), Remembered(groups_seen=frozenset({"a"}))
    plan = plan_world(world, newer, remembered)
    assert not deletes(plan)
    assert "LeftoverPods" in wait_reasons(plan)
    assert own_conditions(plan) == {"Hindered": "LeftoverPods"}
    told_world = apply_plan(world, plan)
    backwards = structs.replace(told_world, objects=told_world.objects[::-1])
    assert plan_world(backwards, newer, remembered).is_empty, "it is told once, in whatever order they are seen"
    gone = told_world.edit_objects(lambda tree: None if tree in told_world.pods(group="b") else tree)
    assert "Hindered" not in run(gone, newer, remembered)[0].conditions()


def test_leftovers_that_are_on_their_way_out_are_nobodys_business() -> None:
    world = stable(cluster_tree(group("a", 2), group("b", 1)))
    world = world.edit_spec(workerGroupSpecs=world.cluster["spec"]["workerGroupSpecs"][:1])
    (pod,) = world.pods(group="b")
    leaving = {"metadata": {"deletionTimestamp": "2027-01-15T09:00:00Z"}}
    plan = plan_world(
        world.edit_pod(pod["metadata"]["name"], leaving), remembered=Remembered(groups_seen=frozenset({"a"}))
    )
    assert "LeftoverPods" not in wait_reasons(plan)


def test_a_group_that_is_in_the_spec_is_never_a_leftover() -> None:
    world = stable(cluster_tree(group("a", 2)))
    assert plan_world(world, remembered=Remembered(groups_seen=frozenset({"a", "b"}))).is_empty
