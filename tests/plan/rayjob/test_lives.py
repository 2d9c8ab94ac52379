"""Whole lives of RayJobs on an imagined world: each mode to its end, retries, suspension, deadlines, deletion."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.plan.rayjob.answers import JobInfo
from heliostat.plan.rayjob.observed import Remembered
from heliostat.plan.rayjob.reasons import Hold
from plan.rayjob.job_worlds import FINALIZER, JobWorld, act, begin, end_submitter, plan_world, run, settle
from plan.worlds import NAMESPACE, Tree, pod_template

MODES = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")


def in_running(**spec: Any) -> JobWorld:
    world = run(begin(**spec))
    assert world.phase == "Running", world.status
    return world


def finish(world: JobWorld, status: str) -> JobWorld:
    """Ray has ended the job, and then so does whoever submitted it."""
    world = world.with_ray(world.ray.tell(status, world.now))
    world = end_submitter(act(world))
    world = world.change("Pod", {"status": {"containerStatuses": [_ended_submitter(world)]}})
    return run(world.after(2))


def _ended_submitter(world: JobWorld) -> dict[str, Any]:
    return {"name": "ray-job-submitter", "state": {"terminated": {"exitCode": 0, "finishedAt": "2027-01-15T08:00:00Z"}}}


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "SidecarMode"])
@pytest.mark.parametrize(("said", "phase"), [("SUCCEEDED", "Complete"), ("STOPPED", "Complete"), ("FAILED", "Failed")])
def test_a_job_ends_as_ray_says(mode: str, said: str, phase: str) -> None:
    world = finish(in_running(submissionMode=mode), said)
    assert (world.phase, world.status["jobStatus"]) == (phase, said)
    assert world.status["endTime"]
    assert world.status.get("reason") == ("AppFailed" if said == "FAILED" else None)
    assert list(world.ray.accepted.values()) == [1]
    assert world.status["succeeded"] == (said == "SUCCEEDED")
    assert world.status["failed"] == (said == "FAILED")


def test_names_are_in_the_status_before_anything_is_made() -> None:
    world = act(begin())
    assert world.job is not None
    assert world.job["metadata"]["finalizers"] == [FINALIZER]
    assert world.status == {}
    world = act(world)
    assert world.phase == "Initializing"
    assert world.objects == ()
    world = act(world)
    (cluster,) = world.of_kind("RayCluster")
    assert cluster["metadata"]["name"] == world.status["rayClusterName"]


def test_an_interactive_job_waits_for_its_id_and_follows_that_job() -> None:
    world = run(begin(submissionMode="InteractiveMode"))
    assert (world.phase, world.status.get("jobId")) == ("Waiting", None)
    world = world.with_ray(structs.replace(world.ray, jobs={"mine": JobInfo("RUNNING")}))
    world = run(world.edit(jobId="mine"))
    assert (world.phase, world.status["jobStatus"]) == ("Running", "RUNNING")
    assert finish(world, "SUCCEEDED").phase == "Complete"
    assert world.ray.accepted == {}


def test_a_failed_attempt_begins_again_with_another_cluster_and_id() -> None:
    world = in_running(submissionMode="HTTPMode", backoffLimit=1)
    first = world.status["rayClusterName"], world.status["jobId"]
    world = world.with_ray(world.ray.tell("FAILED", world.now))
    world = act(world)
    assert (world.phase, world.status["failed"]) == ("Retrying", 1)
    assert "endTime" not in world.status
    world = run(world)
    assert world.phase == "Running"
    assert (world.status["rayClusterName"], world.status["jobId"]) != first
    assert len(world.of_kind("RayCluster")) == 1
    world = finish(world, "FAILED")
    assert (world.phase, world.status["failed"], world.status["reason"]) == ("Failed", 2, "AppFailed")
    assert sorted(world.ray.accepted.values()) == [1, 1]


@pytest.mark.parametrize("limit", [None, 0])
def test_without_a_limit_there_is_one_attempt(limit: int | None) -> None:
    world = finish(in_running(submissionMode="HTTPMode", backoffLimit=limit), "FAILED")
    assert (world.phase, world.status["failed"]) == ("Failed", 1)


def job_service(world: JobWorld) -> Tree:
    (service,) = [tree for tree in world.of_kind("Service") if tree["metadata"]["name"] == "job-head-svc"]
    return service


def test_the_service_at_the_head_follows_the_job_to_its_next_cluster() -> None:
    world = in_running(submissionMode="HTTPMode", backoffLimit=1)
    world = run(world.with_ray(world.ray.tell("FAILED", world.now)))
    assert job_service(world)["spec"]["selector"]["ray.io/cluster"] == world.status["rayClusterName"]


def with_dashboard_at(port: int, **head: Any) -> Tree:
    template = pod_template("ray-head")
    (container,) = template["spec"]["containers"]
    named = [{"name": "dashboard", "containerPort": port}]
    return {"headGroupSpec": {"template": {"spec": {"containers": [{**container, "ports": named}]}}, **head}}


def dashboard_ports(world: JobWorld) -> list[int]:
    return [port["port"] for port in job_service(world)["spec"]["ports"] if port["name"] == "dashboard"]


@pytest.mark.parametrize("again", ["attempt", "resumption"])
def test_the_service_at_the_head_has_the_ports_of_the_cluster_that_it_leads_to(again: str) -> None:
    world = in_running(submissionMode="HTTPMode", backoffLimit=1, shutdownAfterJobFinishes=True)
    world = run(world.edit(rayClusterSpec=with_dashboard_at(9000)))
    assert dashboard_ports(world) == [8265], "its cluster is still the old one"
    if again == "attempt":
        world = run(world.with_ray(world.ray.tell("FAILED", world.now)))
    else:
        world = run(run(world.edit(suspend=True)).edit(suspend=False))
    assert world.phase == "Running"
    assert dashboard_ports(world) == [9000]


def test_a_service_at_the_head_that_was_lost_comes_back_for_the_cluster_that_runs() -> None:
    world = run(in_running(submissionMode="HTTPMode").edit(rayClusterSpec=with_dashboard_at(9000)))
    kept = tuple(tree for tree in world.objects if tree is not job_service(world))
    assert dashboard_ports(run(structs.replace(world, objects=kept))) == [8265]


def test_an_edit_of_the_services_type_is_taken_up_with_the_next_cluster() -> None:
    kept = {**with_dashboard_at(8265, rayStartParams={}, serviceType="NodePort"), "workerGroupSpecs": []}
    world = in_running(submissionMode="HTTPMode", shutdownAfterJobFinishes=True, rayClusterSpec=kept)
    assert job_service(world)["spec"]["type"] == "NodePort"
    edited = {"rayClusterSpec": {"headGroupSpec": {"serviceType": "LoadBalancer"}}}
    world = run(run(world.edit(suspend=True)).edit(suspend=False, **edited))
    assert job_service(world)["spec"]["type"] == "LoadBalancer"


@pytest.mark.parametrize("mode", MODES)
def test_a_job_born_suspended_makes_nothing_until_it_is_resumed(mode: str) -> None:
    world = run(begin(submissionMode=mode, suspend=True, shutdownAfterJobFinishes=True))
    assert (world.phase, world.objects) == ("Suspended", ())
    assert plan_world(world).wake_after is None
    assert [wait.reason for wait in plan_world(world).waits] == [Hold.SUSPENDED]
    resumed = world.edit(suspend=False)
    assert plan_world(resumed).waits == ()
    world = run(resumed)
    assert world.phase == ("Waiting" if mode == "InteractiveMode" else "Running")


@pytest.mark.parametrize("mode", MODES)
def test_suspended_means_that_cluster_pods_and_submitter_are_gone(mode: str) -> None:
    world = run(begin(submissionMode=mode, shutdownAfterJobFinishes=True)).edit(suspend=True)
    world = act(act(world))
    assert world.phase == "Suspending"
    without_objects = world.without("RayCluster", "Job")
    assert act(without_objects).phase == "Suspending", "its Pods are still there"
    world = run(settle(world))
    assert world.phase == "Suspended"
    assert {tree["kind"] for tree in world.objects} <= {"Service"}
    assert "jobId" not in world.status
    assert "rayClusterName" not in world.status


def test_a_suspension_is_not_taken_back_half_way() -> None:
    world = act(act(in_running(submissionMode="HTTPMode", shutdownAfterJobFinishes=True).edit(suspend=True)))
    world = act(world.edit(suspend=False))
    assert world.phase == "Suspending"
    assert run(settle(world)).phase == "Running"


def test_each_resumption_is_an_attempt_of_its_own() -> None:
    world = in_running(submissionMode="HTTPMode", shutdownAfterJobFinishes=True)
    names = [world.status["rayClusterName"]]
    for _ in range(2):
        world = run(run(world.edit(suspend=True)).edit(suspend=False))
        names.append(world.status["rayClusterName"])
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"activeDeadlineSeconds": 6}, "DeadlineExceeded"),
        ({"preRunningDeadlineSeconds": 6}, "PreRunningDeadlineExceeded"),
    ],
)
def test_a_deadline_ends_the_waiting_for_a_cluster(spec: dict[str, Any], reason: str) -> None:
    world = act(act(act(begin(submissionMode="HTTPMode", shutdownAfterJobFinishes=True, **spec))))
    assert plan_world(world).wake_after == 6
    assert act(world.after(5.9)).phase == "Initializing"
    world = act(world.after(6))
    assert (world.phase, world.status["reason"]) == ("Failed", reason)
    assert "StartTime: 2027-01-15 08:00:00 +0000 UTC. " in world.status["message"]
    assert run(world).of_kind("RayCluster") == []


def test_a_deadline_while_the_job_runs_leaves_what_ray_last_said() -> None:
    world = in_running(submissionMode="HTTPMode", activeDeadlineSeconds=60, backoffLimit=3)
    world = act(world.with_ray(world.ray.tell("RUNNING")))
    world = act(world.after(60))
    assert (world.phase, world.status["jobStatus"], world.status["failed"]) == ("Failed", "RUNNING", 1)
    assert world.status["reason"] == "DeadlineExceeded"


def test_a_job_that_is_over_when_its_deadline_passes_is_not_called_failed() -> None:
    world = in_running(submissionMode="HTTPMode", activeDeadlineSeconds=60).after(60)
    world = act(world.with_ray(world.ray.tell("SUCCEEDED", world.now)))
    assert (world.phase, world.status["jobStatus"]) == ("Complete", "SUCCEEDED")


def test_a_deleted_job_is_stopped_and_goes() -> None:
    world = in_running(submissionMode="HTTPMode")
    assert world.job is not None
    job_id = world.status["jobId"]
    leaving = {**world.job, "metadata": {**world.job["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}}
    world = act(structs.replace(world, job=leaving))
    assert world.ray.stopped == (job_id,)
    assert world.job is None


def test_a_job_whose_submitter_was_faster_than_the_status_is_stopped_too() -> None:
    """The submitter Job is made before the status holds the dashboard's address."""
    world = in_running()
    assert world.job is not None
    early = {key: value for key, value in world.status.items() if key != "dashboardURL"}
    early["jobDeploymentStatus"] = "Initializing"
    metadata = {**world.job["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}
    world = act(structs.replace(world, job={**world.job, "metadata": metadata, "status": early}))
    assert world.ray.stopped == (early["jobId"],)
    assert world.job is None


def test_a_sidecar_that_was_faster_than_its_cluster_is_stopped_too() -> None:
    """It waits for Ray beside it, and not for all Pods of the cluster."""
    world = run(begin(submissionMode="SidecarMode")).change("RayCluster", {"status": {"state": ""}})
    assert world.job is not None
    early = {key: value for key, value in world.status.items() if key not in ("dashboardURL", "jobStatus")}
    early["jobDeploymentStatus"] = "Initializing"
    metadata = {**world.job["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}
    world = act(structs.replace(world, job={**world.job, "metadata": metadata, "status": early}))
    assert world.ray.stopped == (early["jobId"],)
    assert world.job is None


@pytest.mark.parametrize("said", ["SUCCEEDED", "FAILED", "STOPPED"])
def test_a_job_that_is_over_is_deleted_without_a_call(said: str) -> None:
    world = finish(in_running(submissionMode="HTTPMode"), said)
    assert world.job is not None
    leaving = {**world.job, "metadata": {**world.job["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}}
    world = act(structs.replace(world, job=leaving))
    assert (world.ray.stopped, world.job) == ((), None)


def test_a_cluster_that_was_chosen_is_used_and_never_touched() -> None:
    other = run(begin(submissionMode="HTTPMode"))
    (cluster,) = other.of_kind("RayCluster")
    renamed = {**cluster, "metadata": {**cluster["metadata"], "name": "theirs", "ownerReferences": []}}
    chosen = begin(rayClusterSpec=None, clusterSelector={"ray.io/cluster": "theirs"}, submissionMode="HTTPMode")
    world = run(settle(structs.replace(chosen, objects=({**renamed, "status": {}},))))
    assert world.phase == "Running"
    assert {tree["metadata"]["name"] for tree in world.of_kind("Service")} == {"theirs-head-svc"}
    world = finish(world, "FAILED")
    assert world.phase == "Failed"
    assert [tree["metadata"]["name"] for tree in world.of_kind("RayCluster")] == ["theirs"]
    assert plan_world(world).is_empty


def on_a_chosen_cluster() -> JobWorld:
    other = run(begin(submissionMode="HTTPMode"))
    (cluster,) = other.of_kind("RayCluster")
    renamed = {**cluster, "metadata": {**cluster["metadata"], "name": "theirs", "ownerReferences": []}}
    chosen = begin(rayClusterSpec=None, clusterSelector={"ray.io/cluster": "theirs"})
    world = run(settle(structs.replace(chosen, objects=({**renamed, "status": {}},))))
    assert len(world.of_kind("Job")) == 1
    return world


def being_deleted(world: JobWorld) -> JobWorld:
    assert world.job is not None
    leaving = {**world.job, "metadata": {**world.job["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}}
    return structs.replace(world, job=leaving)


def test_on_a_chosen_cluster_a_submitter_that_has_ended_is_left_to_the_garbage_collector() -> None:
    world = on_a_chosen_cluster()
    world = act(end_submitter(world.with_ray(world.ray.tell("SUCCEEDED"))))
    assert world.phase == "Complete"
    world = act(being_deleted(world))
    assert (world.job, len(world.of_kind("Job")), world.ray.stopped) == (None, 1, ())
    assert "DeletedRayJobSubmitter" not in world.told


def test_on_a_chosen_cluster_the_submitter_goes_before_ray_is_asked_to_stop() -> None:
    """The stop of a job that was not submitted yet stops nothing, and nobody would end what comes after it."""
    world = act(being_deleted(on_a_chosen_cluster()))
    assert (world.ray.stopped, world.job is None) == ((), False)
    world = act(settle(world))
    assert world.of_kind("Job") == []
    assert len(world.ray.stopped) == 1
    assert world.job is None


def submitter_pod(phase: str) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "job-x", "namespace": NAMESPACE, "uid": "uid-x", "labels": {"job-name": "job"}},
        "status": {"phase": phase},
    }


def test_on_a_chosen_cluster_pods_that_the_submitter_job_left_are_waited_for() -> None:
    """The garbage collector had not seen them when it let the Job go; they may still submit."""
    world = settle(act(being_deleted(on_a_chosen_cluster())))
    left = structs.replace(world, objects=(*world.objects, submitter_pod("Running")))
    assert act(left) == left
    assert [str(wait) for wait in plan_world(left).waits if "Pods of job are still there" in str(wait)]
    assert act(world).job is None
    ended = structs.replace(world, objects=(*world.objects, submitter_pod("Succeeded")))
    assert act(ended).job is None


def test_a_chosen_cluster_that_is_not_there_is_told_and_waited_for() -> None:
    world = begin(rayClusterSpec=None, clusterSelector={"ray.io/cluster": "theirs"})
    world = act(act(act(world)))
    assert (world.phase, world.objects) == ("Initializing", ())
    assert "RayClusterNotFound" in world.told


def test_another_manager_keeps_us_away() -> None:
    world = act(begin(managedBy="kueue.x-k8s.io/multikueue"))
    assert (world.phase, world.objects, world.job and world.job["metadata"].get("finalizers")) == ("", (), None)


def test_an_invalid_job_releases_nothing_it_never_had_and_recovers_when_mended() -> None:
    world = run(begin(submissionMode="HTTPMode", ttlSecondsAfterFinished=5))
    assert (world.phase, world.status["reason"]) == ("ValidationFailed", "ValidationFailed")
    assert "InvalidRayJobSpec" in world.told
    assert world.job is not None
    assert "finalizers" not in world.job["metadata"]
    mended = world.edit(shutdownAfterJobFinishes=True)
    assert plan_world(mended).waits == (), "nobody has suspended it"
    world = run(mended)
    assert world.phase == "Running"
    assert "message" not in world.status or "invalid" not in world.status["message"]


def test_a_running_job_whose_spec_is_spoilt_and_mended_goes_on_where_it_was() -> None:
    world = in_running(submissionMode="HTTPMode")
    job_id = world.status["jobId"]
    world = run(world.edit(ttlSecondsAfterFinished=5))
    assert world.phase == "ValidationFailed"
    assert len(world.of_kind("RayCluster")) == 1
    world = run(world.edit(ttlSecondsAfterFinished=0))
    assert (world.phase, world.status["jobId"]) == ("Running", job_id)
    assert "endTime" not in world.status
    assert world.ray.accepted == {job_id: 1}


def test_a_spec_that_stays_spoilt_releases_its_cluster_in_the_end() -> None:
    world = run(in_running(submissionMode="HTTPMode").edit(ttlSecondsAfterFinished=5))
    assert plan_world(world).wake_after == 300
    world = run(world.after(300))
    assert (world.phase, world.of_kind("RayCluster")) == ("ValidationFailed", [])
    assert run(world.edit(ttlSecondsAfterFinished=0)).phase == "Running"


@pytest.mark.parametrize("seconds", [0, -5])
def test_without_a_grace_period_a_spoilt_spec_releases_its_cluster_at_once(seconds: int) -> None:
    world = in_running(submissionMode="HTTPMode").edit(ttlSecondsAfterFinished=5)
    settings = structs.replace(world.settings, rayjob_transition_grace_seconds=seconds)
    world = run(structs.replace(world, settings=settings))
    assert (world.phase, world.of_kind("RayCluster")) == ("ValidationFailed", [])


def test_a_job_that_is_over_stays_so_whatever_becomes_of_its_spec() -> None:
    world = finish(in_running(submissionMode="HTTPMode"), "SUCCEEDED")
    assert run(world.edit(ttlSecondsAfterFinished=5)).phase == "Complete"
    assert run(world.edit(suspend=True)).phase == "Complete"


def test_ray_that_does_not_take_the_job_is_offered_it_until_the_time_is_over() -> None:
    world = begin(submissionMode="HTTPMode")
    world = world.with_ray(structs.replace(world.ray, refuses="400: bad runtime_env"))
    world = run(world)
    assert world.phase == "Running"
    assert world.status["jobStatusCheckFailureStartTime"]
    world = act(world.after(300))
    assert (world.phase, world.status["reason"]) == ("Failed", "JobStatusCheckTimeoutExceeded")
    assert "exceeded timeout of 300s: 400: bad runtime_env" in world.status["message"]


def test_resources_that_are_no_json_are_reported_and_end_in_time() -> None:
    world = run(begin(submissionMode="HTTPMode", entrypointResources='{"r": "x"}'))
    assert world.phase == "Running"
    world = act(world.after(300))
    assert (world.phase, world.status["reason"]) == ("Failed", "JobStatusCheckTimeoutExceeded")


def test_an_edit_that_the_running_job_does_not_follow_is_told() -> None:
    world = run(in_running(submissionMode="HTTPMode").edit(entrypoint="python other.py"))
    assert "SpecNotApplied" in world.told
    assert "SpecNotApplied" not in in_running(submissionMode="HTTPMode").told


def test_what_was_never_asked_is_neither_silence_nor_an_answer() -> None:
    world = in_running(submissionMode="HTTPMode")
    unasked = structs.replace(
        world, ray=structs.replace(world.ray, is_silent=True), remembered=Remembered(is_asked=False)
    )
    assert plan_world(unasked.after(10_000)).is_empty


def test_settings_decide_how_long_silence_may_last() -> None:
    settings = Settings(rayjob_status_check_timeout_seconds=1)
    world = structs.replace(in_running(submissionMode="HTTPMode"), settings=settings)
    world = act(world.with_ray(structs.replace(world.ray, is_silent=True)))
    assert world.status["jobStatusCheckFailureStartTime"] == "2027-01-15T08:00:00Z"
    assert plan_world(world.after(0.5)).status is None, "the first silence counts"
    world = act(world.after(2))
    assert (world.phase, world.status["reason"]) == ("Failed", "JobStatusCheckTimeoutExceeded")
