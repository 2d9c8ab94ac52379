"""Ray knows no such job: when that counts, and when the job may still be offered."""

from typing import Any

from msgspec import structs

from heliostat.kube.plan import Effect
from plan.rayjob.job_worlds import JobWorld, act, begin, plan_world, run, settle

QUICK_END = {"exitCode": 0, "finishedAt": "2027-01-15T08:00:00Z"}


def running(**spec: Any) -> JobWorld:
    world = run(begin(submissionMode="HTTPMode", **spec))
    world = act(world.with_ray(world.ray.tell("RUNNING")))
    assert (world.phase, world.status["jobStatus"]) == ("Running", "RUNNING")
    return world


def denied_for(world: JobWorld, seconds: float, **remembered: Any) -> JobWorld:
    known = structs.replace(world.remembered, answered_alike=seconds, **remembered)
    return structs.replace(world.with_ray(structs.replace(world.ray, jobs={})), remembered=known)


def head(world: JobWorld, name: str) -> JobWorld:
    return world.change("RayCluster", {"status": {"head": {"podName": name}}})


def test_a_denial_counts_once_ray_has_kept_to_it() -> None:
    """A dashboard that lags denies what it has told of: nothing ends by that."""
    world = denied_for(running(), 0.0)
    assert act(world).phase == "Running"
    assert plan_world(world).wake_after == 6.0
    assert act(denied_for(world, 5.9)).phase == "Running"
    assert plan_world(denied_for(world, 5.999)).wake_after == 1.0  # a doubt ends with an answer, and not by looking
    assert act(denied_for(world, 6.0)).phase == "Failed"


def test_a_denial_that_does_not_count_yet_ends_no_silence() -> None:
    """A Ray that is silent, denies the job once, and is silent again has its time-out, counted from the first time."""
    world = running()
    silent = act(world.with_ray(structs.replace(world.ray, is_silent=True)))
    since = silent.status["jobStatusCheckFailureStartTime"]
    denied = act(denied_for(silent.with_ray(world.ray).after(100), 0.0))
    assert (denied.phase, denied.status["jobStatusCheckFailureStartTime"]) == ("Running", since)
    heard = act(silent.with_ray(world.ray).after(100))
    assert "jobStatusCheckFailureStartTime" not in heard.status
    again = act(denied.with_ray(structs.replace(denied.ray, is_silent=True)).after(250))
    assert again.status["reason"] == "JobStatusCheckTimeoutExceeded"


def test_the_denial_of_another_head_counts_at_once() -> None:
    world = run(begin(submissionMode="HTTPMode"))
    world = head(world, "first")
    world = act(world.with_ray(world.ray.tell("RUNNING")))
    assert world.status["rayClusterStatus"]["head"]["podName"] == "first"
    assert act(head(denied_for(world, 0.0), "first")).phase == "Running"
    assert act(head(denied_for(world, 0.0), "second")).phase == "Failed"


def test_a_submitter_that_has_ended_is_believed_once_ray_has_kept_to_its_denial() -> None:
    world = run(begin(submissionMode="SidecarMode"))
    world = world.change("Pod", {"status": {"containerStatuses": [_submitter()]}})
    assert act(denied_for(world.after(5), 0.0)).phase == "Running"
    assert act(denied_for(world.after(5), 6.0)).status["reason"] == "AppFailed"


def test_what_ray_has_taken_is_not_offered_again_though_its_head_is_gone_before_anybody_looked() -> None:
    world = _reached(begin(submissionMode="HTTPMode"), "Running")
    assert any(isinstance(action, Effect) for action in plan_world(world).actions())
    taken = denied_for(act(world), 0.0, is_accepted=True)
    assert not list(plan_world(taken).actions())
    assert act(denied_for(taken, 6.0, is_accepted=True)).status["reason"] == "AppFailed"


def test_a_sidecar_that_ends_before_its_cluster_is_ready_has_its_job_followed_all_the_same() -> None:
    """Its Pod is never ready again, and so neither is the cluster."""
    world = _reached(begin(submissionMode="SidecarMode"), "Initializing")
    world = settle(act(world)).change("RayCluster", {"status": {"state": ""}})
    assert act(world).phase == "Initializing"
    world = act(world.change("Pod", {"status": {"containerStatuses": [_submitter()]}}))
    assert world.phase == "Running"
    world = act(world.with_ray(world.ray.tell("SUCCEEDED")))
    assert act(world).phase == "Complete"


def _submitter() -> dict[str, Any]:
    return {"name": "ray-job-submitter", "state": {"terminated": QUICK_END}}


def _reached(world: JobWorld, phase: str) -> JobWorld:
    for _ in range(8):
        if world.phase == phase:
            return world
        world = settle(act(world))
    raise AssertionError(world.status)
