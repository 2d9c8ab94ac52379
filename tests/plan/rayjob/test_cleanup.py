"""What goes after the end of a job (rayjob.md §15)."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings, default_gates
from heliostat.plan.rayjob.cleanup import describe_schedule
from plan.rayjob.job_worlds import JobWorld, act, begin, job_tree, plan_world, run, typed
from plan.worlds import Tree


def over(said: str = "SUCCEEDED", settings: Settings | None = None, **spec: Any) -> JobWorld:
    """At the moment of its end."""
    world = run(begin(settings, submissionMode="HTTPMode", **spec))
    world = act(world.with_ray(world.ray.tell(said, world.now)))
    assert world.phase in ("Complete", "Failed"), world.status
    return world


def rule(policy: str, ttl: int, **condition: str) -> Tree:
    return {"policy": policy, "condition": {"ttlSeconds": ttl, **(condition or {"jobStatus": "SUCCEEDED"})}}


def has_cluster(world: JobWorld) -> bool:
    return bool(world.of_kind("RayCluster"))


def has_workers(world: JobWorld) -> bool:
    return any(
        not group.get("suspend") for tree in world.of_kind("RayCluster") for group in tree["spec"]["workerGroupSpecs"]
    )


def test_without_a_wish_everything_stays() -> None:
    plan = plan_world(over())
    assert plan.is_empty
    assert plan.wake_after is None


def test_shutdown_takes_the_cluster_when_the_time_is_over() -> None:
    world = over(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=10)
    assert plan_world(world).wake_after == 10
    assert has_cluster(run(world.after(9)))
    world = run(world.after(10))
    assert not has_cluster(world)
    assert world.phase == "Complete"
    assert plan_world(world).is_empty


def test_shutdown_takes_the_rayjob_where_the_operator_is_told_so() -> None:
    settings = Settings(delete_rayjob_after_finish=True)
    assert run(over(settings=settings, shutdownAfterJobFinishes=True)).job is None


def test_rules_are_carried_out_one_after_the_other() -> None:
    rules = [rule("DeleteWorkers", 0), rule("DeleteCluster", 5), rule("DeleteSelf", 10)]
    world = run(over(deletionStrategy={"deletionRules": rules}))
    assert (has_workers(world), has_cluster(world)) == (False, True)
    assert plan_world(world).wake_after == 5
    world = run(world.after(5))
    assert not has_cluster(world)
    assert plan_world(world).wake_after == 5
    assert run(world.after(5)).job is None


def test_of_several_rules_that_are_due_the_one_that_takes_most_counts() -> None:
    rules = [rule("DeleteWorkers", 0), rule("DeleteCluster", 5), rule("DeleteSelf", 10)]
    plan = plan_world(over(deletionStrategy={"deletionRules": rules}).after(60))
    (action,) = plan.actions()
    assert action.ref.kind == "RayJob"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "condition", "goes"),
    [
        ("SUCCEEDED", {"jobStatus": "SUCCEEDED"}, True),
        ("SUCCEEDED", {"jobStatus": "FAILED"}, False),
        ("FAILED", {"jobStatus": "FAILED"}, True),
        ("FAILED", {"jobDeploymentStatus": "Failed"}, True),
        ("STOPPED", {"jobStatus": "SUCCEEDED"}, False),
    ],
)
def test_which_rules_match(said: str, condition: dict[str, str], goes: bool) -> None:
    world = run(over(said, deletionStrategy={"deletionRules": [rule("DeleteCluster", 0, **condition)]}))
    assert has_cluster(world) is not goes


@pytest.mark.parametrize(("said", "goes"), [("SUCCEEDED", False), ("FAILED", True), ("STOPPED", False)])
def test_the_older_policies_look_at_rays_word_alone(said: str, goes: bool) -> None:
    strategy = {"onSuccess": {"policy": "DeleteNone"}, "onFailure": {"policy": "DeleteCluster"}}
    assert has_cluster(run(over(said, deletionStrategy=strategy))) is not goes


def test_workers_are_suspended_once() -> None:
    strategy = {"onSuccess": {"policy": "DeleteWorkers"}, "onFailure": {"policy": "DeleteWorkers"}}
    world = run(over(deletionStrategy=strategy))
    assert not has_workers(world)
    assert plan_world(world).is_empty


def test_a_deadline_matches_the_rule_for_failed_deployments() -> None:
    rules = [rule("DeleteCluster", 0, jobDeploymentStatus="Failed")]
    world = run(begin(submissionMode="HTTPMode", activeDeadlineSeconds=60, deletionStrategy={"deletionRules": rules}))
    assert not has_cluster(run(world.after(60)))


def test_a_gate_turns_the_strategy_off() -> None:
    settings = Settings(gates=default_gates() | {"RayJobDeletionPolicy": False})
    world = over(deletionStrategy={"deletionRules": [rule("DeleteCluster", 0)]})
    assert plan_world(structs.replace(world, settings=settings)).is_empty


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "nothing goes"),
        ({"shutdownAfterJobFinishes": True}, "cluster at +0 s"),
        ({"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 90}, "cluster at +90 s"),
        (
            {"deletionStrategy": {"deletionRules": [rule("DeleteCluster", 1800), rule("DeleteWorkers", 0)]}},
            "workers at +0 s, cluster at +30 min",
        ),
        ({"deletionStrategy": {"deletionRules": [rule("DeleteSelf", 86400)]}}, "the RayJob at +1 d"),
    ],
)
def test_the_schedule_is_told_in_words(spec: dict[str, Any], said: str) -> None:
    schedule = dict(describe_schedule(typed(job_tree(**spec)), Settings()))
    assert schedule["SUCCEEDED"] == said
