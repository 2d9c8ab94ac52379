"""RayJobs that KubeRay left behind, in whatever phase: no second cluster, no second submission, the right end."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.kube.plan import Create, Effect
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.rayjob.answers import JobInfo
from heliostat.plan.rayjob.submission import SUBMIT
from plan.rayjob.job_worlds import FINALIZER, JobWorld, act, begin, end_submitter, plan_world, run, settle
from plan.worlds import NOW, Tree

CLUSTER, JOB_ID = "job-x7k2p", "job-qq4nb"  # drawn by KubeRay: nothing of ours would give these
NAMES = {"rayClusterName": CLUSTER, "jobId": JOB_ID, "startTime": format_timestamp(NOW), "failed": 0, "succeeded": 0}
URL = {"dashboardURL": f"{CLUSTER}-head-svc.ns.svc.cluster.local:8265"}


def left(status: Tree, said: str | None = None, **spec: Any) -> JobWorld:
    """A RayJob with its cluster, under names that only the status knows."""
    world = settle(act(act(act(begin(**spec)))))
    own = str(world.status["rayClusterName"])
    assert world.job is not None
    job = {**world.job, "status": status, "metadata": {**world.job["metadata"], "finalizers": [FINALIZER]}}
    objects = tuple(_rename(tree, own) for tree in world.objects)
    ray = structs.replace(world.ray, jobs={JOB_ID: JobInfo(said, "told", started=NOW)} if said else {})
    return structs.replace(world, job=job, objects=objects, ray=ray)


def _rename(tree: Tree, own: str) -> Tree:
    metadata = tree["metadata"]
    labels = {key: CLUSTER if value == own else value for key, value in (metadata.get("labels") or {}).items()}
    return {**tree, "metadata": {**metadata, "name": metadata["name"].replace(own, CLUSTER), "labels": labels}}


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode", "SidecarMode"])
@pytest.mark.parametrize(
    ("phase", "more", "said"),
    [
        ("Initializing", {}, None),
        ("Running", URL, "PENDING"),
        ("Running", {**URL, "jobStatus": "RUNNING"}, "RUNNING"),
        ("Running", {**URL, "jobStatus": "RUNNING"}, "SUCCEEDED"),
        ("Complete", {**URL, "jobStatus": "SUCCEEDED", "endTime": format_timestamp(NOW)}, "SUCCEEDED"),
        ("Failed", {**URL, "jobStatus": "RUNNING", "endTime": format_timestamp(NOW)}, "RUNNING"),
    ],
)
def test_nothing_is_made_twice(mode: str, phase: str, more: Tree, said: str | None) -> None:
    world = left({**NAMES, **more, "jobDeploymentStatus": phase}, said, submissionMode=mode)
    made = [action for action in plan_world(world).actions() if isinstance(action, Create)]
    assert "RayCluster" not in {action.object["kind"] for action in made}
    offers = [action for action in plan_world(world).actions() if isinstance(action, Effect)]
    assert [effect.kind for effect in offers if said is not None] == []
    world = run(world)
    assert [tree["metadata"]["name"] for tree in world.of_kind("RayCluster")] == [CLUSTER]
    assert world.status["jobId"] == JOB_ID
    if phase in ("Complete", "Failed"):
        assert world.phase == phase


def test_a_job_that_waits_in_http_mode_is_offered_under_the_id_that_kuberay_drew() -> None:
    world = left({**NAMES, **URL, "jobDeploymentStatus": "Running"}, submissionMode="HTTPMode")
    (effect,) = [action for action in plan_world(world).actions() if isinstance(action, Effect)]
    assert (effect.kind, effect.payload["jobId"]) == (SUBMIT, JOB_ID)


def test_a_running_job_comes_to_its_right_end() -> None:
    status = {**NAMES, **URL, "jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}
    world = end_submitter(act(left(status, "SUCCEEDED")))
    world = run(world.after(2))
    assert (world.phase, world.status["jobStatus"]) == ("Complete", "SUCCEEDED")


@pytest.mark.parametrize(("phase", "after"), [("Suspending", "Suspended"), ("Retrying", "Running")])
def test_a_tear_down_that_kuberay_began_is_finished(phase: str, after: str) -> None:
    suspend = phase == "Suspending"
    status = {**NAMES, **URL, "jobDeploymentStatus": phase, "failed": 0 if suspend else 1}
    spec: Tree = {"suspend": suspend, "shutdownAfterJobFinishes": True, "backoffLimit": 1, "submissionMode": "HTTPMode"}
    world = left(status, **(spec | {"suspend": False}))
    world = run(world.edit(suspend=suspend))
    assert world.phase == after
    assert CLUSTER not in {tree["metadata"]["name"] for tree in world.of_kind("RayCluster")}


def test_a_contradiction_that_kuberay_left_is_not_touched() -> None:
    status = {**NAMES, **URL, "jobDeploymentStatus": "Failed", "jobStatus": "SUCCEEDED", "reason": "DeadlineExceeded"}
    world = left({**status, "endTime": format_timestamp(NOW)}, "SUCCEEDED", submissionMode="HTTPMode")
    assert plan_world(world).is_empty
