"""How far the submitter is (rayjob.md §3.3 and the restart rows of §21), and what its end means."""

import pytest
from msgspec import structs

from heliostat.kube.pods import ContainerState, ContainerStatus, Terminated
from heliostat.plan.rayjob.phase_inputs import Submitter
from heliostat.plan.rayjob.submitter import judge_container
from plan.rayjob.job_worlds import JobWorld, act, begin, end_submitter, plan_world, run

ENDED = ContainerState(terminated=Terminated(exit_code=1, finished_at="2027-01-15T08:00:00Z"))
WELL = ContainerState(terminated=Terminated(exit_code=0, finished_at="2027-01-15T08:00:00Z"))


@pytest.mark.parametrize(
    ("restarts", "state", "last", "limit", "expected"),
    [
        (0, ContainerState(), ContainerState(), None, Submitter.AT_WORK),
        (0, ENDED, ContainerState(), None, Submitter.FAILED),
        (0, WELL, ContainerState(), None, Submitter.SUCCEEDED),
        (0, ENDED, ContainerState(), 2, Submitter.AT_WORK),
        (1, ENDED, ENDED, 2, Submitter.AT_WORK),
        (2, ENDED, ENDED, 2, Submitter.FAILED),
        (2, ContainerState(), ENDED, 2, Submitter.FAILED),
        (3, WELL, ENDED, 2, Submitter.SUCCEEDED),
    ],
)
def test_when_a_sidecar_counts_as_failed(
    restarts: int, state: ContainerState, last: ContainerState, limit: int | None, expected: Submitter
) -> None:
    status = ContainerStatus("ray-job-submitter", restart_count=restarts, state=state, last_state=last)
    assert judge_container(status, limit).at is expected


def running() -> JobWorld:
    world = run(begin())
    world = act(world.with_ray(world.ray.tell("RUNNING")))
    assert world.phase == "Running"
    return world


def forgetful(world: JobWorld) -> JobWorld:
    return world.with_ray(structs.replace(world.ray, jobs={}))


def test_a_submitter_that_ends_while_the_job_runs_is_given_thirty_seconds() -> None:
    world = end_submitter(running())
    assert plan_world(world).wake_after == 30
    assert act(world.after(29)).phase == "Running"
    world = act(world.after(31))
    assert (world.phase, world.status["jobStatus"]) == ("Failed", "FAILED")
    assert world.status["reason"] == "JobDeploymentStatusTransitionGracePeriodExceeded"
    assert world.status["message"] == (
        "The RayJob submitter finished at 2027-01-15 08:00:00 but the ray job did not reach terminal state within 30s"
    )


def test_a_job_that_succeeded_while_the_operator_was_away_is_complete() -> None:
    world = end_submitter(running()).after(3600)
    world = world.with_ray(world.ray.tell("SUCCEEDED", world.now - 3000))
    assert act(world).phase == "Complete"


def test_a_failed_submitter_says_nothing_about_a_job_that_runs() -> None:
    world = act(end_submitter(running(), "Failed").after(60))
    assert world.phase == "Running"
    world = act(world.with_ray(world.ray.tell("SUCCEEDED", world.now)))
    assert (world.phase, world.status["jobStatus"]) == ("Complete", "SUCCEEDED")


def test_a_submitter_that_failed_before_it_submitted_fails_the_job() -> None:
    world = begin()
    for _ in range(5):
        world = act(world)
    world = run(begin(submitterConfig={"backoffLimit": 0}), passes=20)
    unseen = {key: value for key, value in world.status.items() if key not in ("jobStatus", "rayJobInfo", "message")}
    assert world.job is not None
    world = forgetful(structs.replace(world, job={**world.job, "status": unseen}))
    world = act(end_submitter(world, "Failed").after(2))
    assert (world.phase, world.status["reason"], world.status.get("jobStatus")) == ("Failed", "SubmissionFailed", None)
    assert world.status["message"] == "Job submission has failed. Reason: R. Message: m"  # tools look for these words


def test_a_sidecar_that_failed_is_told_in_kuberays_words() -> None:
    state = ContainerState(terminated=Terminated(exit_code=7, reason="Error"))
    told = judge_container(ContainerStatus("ray-job-submitter", state=state), None).why
    assert told == "Ray head pod container ray-job-submitter terminated with exit code 7: Error"


def test_a_submitter_job_that_was_deleted_is_made_again() -> None:
    world = running().without("Job")
    assert act(world).of_kind("Job")


def test_a_head_that_was_lost_takes_its_job_along() -> None:
    world = act(forgetful(running()))
    assert (world.phase, world.status["reason"]) == ("Failed", "AppFailed")
    assert "the head that ran it was lost" in world.status["message"]


def test_a_submitter_that_outlives_a_lost_head_does_not_begin_the_job_anew() -> None:
    world = run(act(forgetful(running())), passes=3)
    (job,) = world.of_kind("Job")
    assert job["spec"]["suspend"] is True
    assert plan_world(world).is_empty


@pytest.mark.parametrize("type_", ["Complete", "Failed"])
def test_a_submitter_that_has_ended_is_left_alone(type_: str) -> None:
    world = act(forgetful(end_submitter(running(), type_)))
    assert world.phase == "Failed"
    assert plan_world(world).is_empty


def test_a_submitter_of_a_job_that_only_took_too_long_goes_on() -> None:
    world = run(begin(activeDeadlineSeconds=60))
    world = act(act(world.with_ray(world.ray.tell("RUNNING"))).after(60))
    assert world.status["reason"] == "DeadlineExceeded"
    assert plan_world(world).is_empty


def test_in_sidecar_mode_a_head_that_is_gone_ends_the_job() -> None:
    world = run(begin(submissionMode="SidecarMode"))
    world = act(world.with_ray(world.ray.tell("RUNNING")))
    world = act(world.without("Pod"))
    assert (world.phase, world.status["message"]) == ("Failed", "Ray head pod not found.")
    assert world.status["jobStatus"] == "RUNNING"


def test_a_submitter_that_hangs_after_the_end_is_waited_for_and_then_left() -> None:
    world = running()
    world = act(world.with_ray(world.ray.tell("SUCCEEDED")))
    assert (world.phase, world.status["jobStatus"]) == ("Running", "SUCCEEDED")
    assert plan_world(world).wake_after == 300
    world = act(world.after(300))
    assert (world.phase, world.status["jobStatus"]) == ("Complete", "SUCCEEDED")
    assert world.status["reason"] == "JobDeploymentStatusTransitionGracePeriodExceeded"
    assert world.status["message"] == (
        "JobDeploymentStatus does not transition to Complete or Failed within the grace period after JobStatus reaches"
        " a terminal state."
    )


def silent(world: JobWorld) -> JobWorld:
    return world.with_ray(structs.replace(world.ray, is_silent=True))


@pytest.mark.parametrize("type_", ["Complete", "Failed"])
def test_silence_after_the_submitters_end_is_silence_and_no_result(type_: str) -> None:
    """KubeRay fails the job here, which may have succeeded: its truth is Ray's to tell, for as long as one may wait."""
    world = act(silent(end_submitter(running(), type_).after(3600)))
    assert act(world.after(299)).phase == "Running"
    answered = world.after(299)
    answered = act(answered.with_ray(structs.replace(answered.ray, is_silent=False).tell("SUCCEEDED", world.now)))
    assert (answered.phase, answered.status["jobStatus"]) == ("Complete", "SUCCEEDED")
    world = act(world.after(300))
    assert (world.phase, world.status["reason"]) == ("Failed", "JobStatusCheckTimeoutExceeded")
    assert world.status["jobStatus"] == "RUNNING"


def test_a_submitter_that_failed_and_a_ray_that_was_never_heard_failed_together() -> None:
    """Another attempt may go better, so the reason is the one that is tried again."""
    world = run(begin(backoffLimit=1))
    unseen = {key: value for key, value in world.status.items() if key not in ("jobStatus", "rayJobInfo", "message")}
    assert world.job is not None
    world = act(silent(end_submitter(structs.replace(world, job={**world.job, "status": unseen}), "Failed")))
    assert act(world.after(299)).phase == "Running"
    world = act(world.after(300))
    assert (world.phase, world.status["reason"], world.status["failed"]) == ("Retrying", "SubmissionFailed", 1)
    assert world.status["message"].startswith("Job submission has failed.")
