"""Which Ray had the job: one that was started again in its Pod has never heard of it, and is not given it once more."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.kube.timestamps import format_timestamp
from plan.rayjob.job_worlds import JobWorld, act, begin, plan_world, run
from plan.worlds import NOW

BEGUN = NOW + 10  # the job, by the clock of the head's node


def running(mode: str = "K8sJobMode", **spec: Any) -> JobWorld:
    """Ray has told of the job, and the status names the head that did."""
    world = run(begin(submissionMode=mode, **spec))
    (head,) = world.of_kind("Pod")
    world = world.change("RayCluster", {"status": {"head": {"podName": head["metadata"]["name"]}}})
    world = act(world.with_ray(world.ray.tell("RUNNING", BEGUN)))
    assert world.status["rayClusterStatus"]["head"]["podName"] == head["metadata"]["name"]
    return world


def ray(world: JobWorld, restarts: int = 0, **states: Any) -> JobWorld:
    return world.change(
        "Pod", {"status": {"containerStatuses": [{"name": "ray-head", "restartCount": restarts, **states}]}}
    )


def begins(after: float) -> Any:
    return {"running": {"startedAt": format_timestamp(BEGUN + after)}}


def ends(after: float) -> Any:
    return {"terminated": {"exitCode": 137, "finishedAt": format_timestamp(BEGUN + after)}}


@pytest.mark.parametrize("mode", ["K8sJobMode", "SidecarMode"])
@pytest.mark.parametrize(
    ("restarts", "states"),
    [
        (0, {"state": ends(3)}),
        (1, {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ends(3)}),
        (1, {"state": begins(4), "lastState": ends(3)}),
        (1, {"state": begins(1), "lastState": ends(0)}),
        (7, {"state": begins(4)}),
    ],
)
def test_a_ray_that_ended_after_the_job_had_begun_takes_it_along(
    mode: str, restarts: int, states: dict[str, Any]
) -> None:
    """Without asking the next one: before that one denies the job, a submitter may have given it the job again."""
    world = act(ray(running(mode), restarts, **states))
    assert (world.phase, world.status["reason"], world.status["jobStatus"]) == ("Failed", "AppFailed", "RUNNING")
    assert world.status["message"].endswith("ended while it ran the job.")


@pytest.mark.parametrize(
    ("restarts", "states"),
    [
        (0, {"state": begins(-9)}),
        (0, {"state": begins(9)}),  # the first life: a clock is wrong
        (1, {"state": begins(-5), "lastState": ends(-7)}),
        (1, {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ends(-7)}),  # an old view
    ],
)
def test_what_happened_to_the_container_before_the_job_began_says_nothing(
    restarts: int, states: dict[str, Any]
) -> None:
    assert act(ray(running(), restarts, **states)).phase == "Running"


def replaced(world: JobWorld, **states: Any) -> JobWorld:
    """Another head Pod is there instead, and the cluster says so."""
    world = ray(world.change("Pod", {"metadata": {"name": "another"}}), **states)
    world = world.change("RayCluster", {"status": {"head": {"podName": "another"}}})
    return world.with_ray(structs.replace(world.ray, is_silent=True))


def test_a_head_that_was_replaced_takes_its_job_along_before_the_next_one_answers() -> None:
    """Seconds of silence are enough for a submitter's next Pod to give the job to the new head."""
    world = act(replaced(running(), state=begins(4)))
    assert (world.phase, world.status["reason"], world.status["jobStatus"]) == ("Failed", "AppFailed", "RUNNING")
    assert world.status["message"].endswith("was lost while it ran the job.")


@pytest.mark.parametrize("states", [{"state": begins(-3)}, {"state": {"waiting": {}}}, {"state": begins(0)}])
def test_a_head_that_may_have_begun_the_job_itself_is_asked(states: dict[str, Any]) -> None:
    """The status may name the head before it: the cluster's status was stale when Ray told of the job."""
    assert act(replaced(running(), **states)).phase == "Running"


def test_a_successor_that_is_told_of_alone_is_asked() -> None:
    """The former head is still in view, and works."""
    world = running().change("RayCluster", {"status": {"head": {"podName": "another"}}})
    assert act(ray(world, state=begins(-9))).phase == "Running"


def test_its_submitter_is_held_before_it_can_submit_again() -> None:
    world = act(act(ray(running(), state=ends(3))))
    (job,) = world.of_kind("Job")
    assert job["spec"]["suspend"] is True
    assert plan_world(world).is_empty


def test_an_end_that_ray_has_told_outlives_it() -> None:
    world = running()
    world = act(world.with_ray(world.ray.tell("SUCCEEDED", BEGUN)))
    world = act(ray(world, state=ends(9)))
    assert (world.phase, world.status["jobStatus"]) == ("Running", "SUCCEEDED")  # its submitter is still at work


ELSEWHERE: tuple[dict[str, Any], ...] = (
    {"spec": {"gcsFaultToleranceOptions": {}}},
    {"metadata": {"annotations": {"ray.io/ft-enabled": "true"}}},
)


@pytest.mark.parametrize("sign", ELSEWHERE)
def test_a_ray_whose_state_is_kept_elsewhere_is_asked(sign: dict[str, Any]) -> None:
    """With fault tolerance of the GCS the next one knows what the last one knew."""
    world = running().change("RayCluster", sign)
    assert act(ray(world, 1, state=begins(4), lastState=ends(3))).phase == "Running"
    assert act(replaced(world, state=begins(4))).phase == "Running"
    denied = structs.replace(world.remembered, answered_alike=0.0)
    world = structs.replace(world.with_ray(structs.replace(world.ray, jobs={})), remembered=denied)
    assert act(world.change("RayCluster", {"status": {"head": {"podName": "another"}}})).phase == "Running"
