"""A job that has been Initializing for long: it says what it waits for, and ends only by a deadline that is set."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from plan.rayjob.job_worlds import JobWorld, act, begin, plan_world
from plan.worlds import NOW


def initializing(settings: Settings | None = None, **spec: Any) -> JobWorld:
    """Its cluster is there and does not become ready."""
    world = begin(settings, submissionMode="HTTPMode", **spec)
    for _ in range(3):
        world = act(world)
    assert (world.phase, len(world.of_kind("RayCluster"))) == ("Initializing", 1)
    return world


def told(world: JobWorld) -> list[str]:
    return [event.note for event in plan_world(world).events if event.reason == "StillInitializing"]


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {"status": {"conditions": [{"type": type_, "status": status, "reason": reason, "message": message}]}}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({}, "is not ready"),
        (condition("HeadPodReady", "False", "ImagePullBackOff"), "its head Pod is not ready (ImagePullBackOff)"),
        (condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: gpus"), "exceeded quota: gpus"),
        (
            {"status": {**condition("HeadPodReady", "True", "")["status"], "desiredWorkerReplicas": 3}},
            "0 of 3 workers are ready",
        ),
    ],
)
def test_after_five_minutes_it_says_what_it_waits_for(status: dict[str, Any], words: str) -> None:
    world = initializing().change("RayCluster", status)
    assert plan_world(world).wake_after == 300
    assert told(world.after(299)) == []
    (note,) = told(world.after(300))
    assert note.startswith("Initializing since 2027-01-15T08:00:00Z: RayCluster ")
    assert note.endswith(words)
    assert told(world.after(86_400)) == [note], "the same words: they are counted, and not told again and again"
    assert plan_world(world.after(86_400)).wake_after is None


def test_a_cluster_that_was_chosen_and_is_not_there_is_told_as_well() -> None:
    world = act(act(begin(rayClusterSpec=None, clusterSelector={"ray.io/cluster": "absent"})))
    (note,) = told(world.after(300))
    assert "absent does not exist" in note


def test_it_waits_for_room_as_long_as_it_likes_unless_somebody_bounds_it() -> None:
    assert act(initializing().after(7 * 86_400)).phase == "Initializing"


def test_the_operators_bound_is_for_jobs_that_have_none() -> None:
    bounded = Settings(rayjob_pre_running_seconds=600)
    world = initializing(bounded)
    assert act(world.after(599)).phase == "Initializing"
    world = act(world.after(600))
    assert (world.phase, world.status["reason"]) == ("Failed", "PreRunningDeadlineExceeded")
    assert world.status["message"].endswith("PreRunningDeadlineSeconds: 600")
    assert act(initializing(bounded, preRunningDeadlineSeconds=6000).after(601)).phase == "Initializing"
    retried = act(initializing(bounded, backoffLimit=1).after(600))
    assert retried.phase == "Retrying"


def test_nothing_is_said_of_a_job_that_runs() -> None:
    world = initializing()
    world = structs.replace(
        world, job={**(world.job or {}), "status": {**world.status, "jobDeploymentStatus": "Running"}}
    )
    assert told(structs.replace(world, now=NOW + 900)) == []
