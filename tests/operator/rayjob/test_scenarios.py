"""KubeRay's end-to-end scenarios of RayJobs (e2e-scenarios.md §3), with a scripted Ray in virtual time."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from conformance.controllers.planes import now
from conformance.operator.job_stories import JOB, Scene, Tree
from heliostat.kube.timestamps import format_timestamp
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_JOB
from heliostat.runtime.errors import InvalidError
from heliostat.testing.scripted_ray import RECORDED, STRICT, RayScript
from plan.rayjob.job_worlds import cluster_spec

pytestmark = pytest.mark.slow

Tell = Callable[[RayScript, Callable[[Scene], Awaitable[None]]], None]

K8S = "K8sJobMode"
LONG = RayScript(ends_after=10_000)  # whoever asks twice finds the job, as its submitter is a Pod
FINISHED = "JobDeploymentStatusTransitionGracePeriodExceeded"


def rule(policy: str, seconds: int, **condition: str) -> Tree:
    return {"policy": policy, "condition": {"ttlSeconds": seconds, **(condition or {"jobStatus": "SUCCEEDED"})}}


def test_what_the_cluster_says_of_itself_is_shown_with_the_job(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job")
        status = await at.wait_for("job", "jobStatus", "RUNNING")
        most = status["rayClusterStatus"]["maxWorkerReplicas"] + 2
        changes = {"status": {"maxWorkerReplicas": most}}
        await at.admin.merge(RAY_CLUSTER, at.namespace, status["rayClusterName"], changes, "status")

        async def is_shown() -> bool:
            return bool((await at.status("job"))["rayClusterStatus"]["maxWorkerReplicas"] == most)

        await at.until(is_shown)

    tell(LONG, story)


def test_a_job_that_succeeds_keeps_its_submitter_loses_its_cluster_and_stays_complete(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", submissionMode=K8S, shutdownAfterJobFinishes=True)
        status = await at.end_of("job")
        assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
        assert status["rayJobInfo"].keys() == {"startTime", "endTime"}
        await at.until_gone(RAY_CLUSTER)
        assert await at.names(JOB) == ["job"]
        await at.edit("job", suspend=True)
        await at.rest()
        assert (await at.status("job")) == status

    tell(RECORDED, story)


def test_a_submitter_that_finished_while_ray_still_runs_the_job_fails_it_after_30_seconds(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", submissionMode=K8S)
        await at.wait_for("job", "jobStatus", "RUNNING")
        begun = asyncio.get_running_loop().time()
        await at.end_submitter("job", "Complete", format_timestamp(now()))
        status = await at.end_of("job")
        assert 25 < asyncio.get_running_loop().time() - begun < 35
        assert (status["jobDeploymentStatus"], status["jobStatus"], status["reason"]) == ("Failed", "FAILED", FINISHED)
        words = "The RayJob submitter finished at .* but the ray job did not reach terminal state within .*"
        assert re.fullmatch(words, status["message"])

    tell(LONG, story)


@pytest.mark.parametrize("mode", [K8S, "HTTPMode"])
def test_a_head_that_was_replaced_is_not_called_silent_before_it_was_asked(tell: Tell, mode: str) -> None:
    """The recorded Ray keeps its jobs: the next head tells of the job, which goes on."""

    async def story(at: Scene) -> None:
        await at.create("job", submissionMode=mode)
        await at.wait_for("job", "jobStatus", "RUNNING")
        (head,) = [pod for pod in await at.admin.items(POD, at.namespace) if _is_head(pod)]
        await at.admin.delete(POD, at.namespace, head["metadata"]["name"])
        assert (await at.end_of("job"))["jobDeploymentStatus"] == "Complete"
        writes = [write for write in at.operated.log.in_namespace(at.namespace) if write.is_done]
        shown = [write.answer["status"] for write in writes if write.use.subresource == "status"]
        assert [status for status in shown if "jobStatusCheckFailureStartTime" in status] == []

    tell(RECORDED, story)


def _is_head(pod: Tree) -> bool:
    return bool(pod["metadata"]["labels"].get("ray.io/node-type") == "head")


@pytest.mark.parametrize("limit", [0, 2])
def test_a_submitter_that_fails_before_it_submitted_fails_each_attempt(tell: Tell, limit: int) -> None:
    async def story(at: Scene) -> None:
        config = {"backoffLimit": 0}
        await at.create("job", submissionMode=K8S, backoffLimit=limit, submitterConfig=config,
            shutdownAfterJobFinishes=True,
        )  # fmt: skip
        for failed in range(limit + 1):
            await at.wait_for("job", "failed", failed)
            await at.wait_for_phase("job", "Running")
            assert (await at.admin.get(JOB, at.namespace, "job"))["spec"]["backoffLimit"] == 0
            await at.end_submitter("job", "Failed", format_timestamp(now()))
        status = await at.end_of("job")
        assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "SubmissionFailed")
        assert "said so" in status["message"]
        assert "jobStatus" not in status
        assert (status["failed"], status["succeeded"]) == (limit + 1, 0)
        await at.until_gone(RAY_CLUSTER)
        assert await at.names(JOB) == ["job"]

    tell(STRICT, story)


@pytest.mark.parametrize("mode", [K8S, "HTTPMode"])
def test_a_program_that_fails_is_tried_again_as_often_as_allowed(tell: Tell, mode: str) -> None:
    async def story(at: Scene) -> None:
        config = {"backoffLimit": 1} if mode == K8S else None
        await at.create(
            "failjob", entrypoint="python fail.py", submissionMode=mode, backoffLimit=2, submitterConfig=config
        )
        status = await at.end_of("failjob")
        assert (status["jobDeploymentStatus"], status["jobStatus"], status["reason"]) == (
            "Failed",
            "FAILED",
            "AppFailed",
        )
        assert (status["failed"], status["succeeded"]) == (3, 0)
        assert len([name for name in at.ray.clusters if name.startswith(at.namespace)]) == 3
        if mode == K8S:
            job = await at.admin.get(JOB, at.namespace, "failjob")
            assert (job["spec"]["backoffLimit"], job["status"].get("failed", 0)) == (1, 0)
            assert job["status"]["succeeded"] == 1

    tell(RECORDED, story)


def test_a_deadline_is_not_tried_again(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", activeDeadlineSeconds=15, backoffLimit=2)
        status = await at.end_of("job")
        assert (status["reason"], status["failed"], status["jobStatus"]) == ("DeadlineExceeded", 1, "RUNNING")

    tell(LONG, story)


@pytest.mark.parametrize("has_id", [False, True])
def test_an_interactive_job_waits_for_an_id_and_not_for_ever(tell: Tell, has_id: bool) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", submissionMode="InteractiveMode", preRunningDeadlineSeconds=60)
        status = await at.wait_for_phase("job", "Waiting")
        assert "jobId" not in status
        if has_id:
            await at.edit("job", jobId="by-hand")
        status = await at.end_of("job")
        if has_id:
            assert (status["jobStatus"], status["jobId"]) == ("SUCCEEDED", "by-hand")
            assert at.ray.accepted == []
        else:
            assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "PreRunningDeadlineExceeded")

    tell(RECORDED, story)


@pytest.mark.parametrize("mode", [K8S, "HTTPMode"])
def test_jobs_on_a_chosen_cluster_leave_it_as_it_is(tell: Tell, mode: str) -> None:
    async def story(at: Scene) -> None:
        metadata = {"name": "shared", "namespace": at.namespace}
        tree = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": cluster_spec()}
        made = await at.admin.create(RAY_CLUSTER, tree)
        chosen = {"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "shared"}, "submissionMode": mode}
        await at.create("good", **chosen)
        await at.create("failjob", entrypoint="python fail.py", **chosen)
        assert (await at.end_of("good"))["jobStatus"] == "SUCCEEDED"
        status = await at.end_of("failjob")
        assert (status["jobStatus"], status["reason"], status["rayClusterName"]) == ("FAILED", "AppFailed", "shared")
        await at.delete("good", "failjob")
        await at.rest()
        found = await at.admin.get(RAY_CLUSTER, at.namespace, "shared")
        assert (found["metadata"]["uid"], found["spec"]) == (made["metadata"]["uid"], made["spec"])
        assert found["status"]["state"] == "ready"

    tell(RECORDED, story)


def test_another_managers_job_is_left_alone_and_stays_its(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", managedBy="kueue.x-k8s.io/multikueue")
        await at.rest()
        assert await at.status("job") == {}
        assert await at.names(RAY_CLUSTER) == []
        with pytest.raises(InvalidError, match="immutable"):
            await at.edit("job", managedBy="ray.io/kuberay-operator")
        with pytest.raises(InvalidError, match="managedBy"):
            await at.create("other", managedBy="controller.com/not-supported")

    tell(STRICT, story)


def test_a_job_born_suspended_runs_when_it_is_resumed(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", submissionMode=K8S, suspend=True, shutdownAfterJobFinishes=True)
        await at.wait_for_phase("job", "Suspended")
        await at.rest()
        assert await at.names(POD) == []
        await at.edit("job", suspend=False)
        status = await at.end_of("job")
        assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
        await at.delete("job")
        for kind in (RAY_CLUSTER, JOB, POD):
            await at.until_gone(kind)

    tell(RECORDED, story)


def test_a_running_job_is_suspended_with_all_it_has_and_runs_again(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", submissionMode=K8S, shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=600)
        first = await at.wait_for("job", "jobStatus", "RUNNING")
        await at.edit("job", suspend=True)
        status = await at.wait_for_phase("job", "Suspended")
        assert not status.keys() & {"jobId", "rayClusterName", "dashboardURL", "jobStatus", "rayJobInfo"}
        for kind in (RAY_CLUSTER, JOB, POD):
            assert await at.names(kind) == []
        await at.edit("job", suspend=False)
        again = await at.wait_for("job", "jobStatus", "RUNNING")
        assert again["jobId"] != first["jobId"]
        assert again["startTime"] > first["startTime"]

    tell(LONG, story)


def test_rules_take_workers_then_the_cluster_then_the_job_each_in_its_time(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        rules = [rule("DeleteWorkers", 15), rule("DeleteCluster", 35), rule("DeleteSelf", 55)]
        await at.create("job", deletionStrategy={"deletionRules": rules})
        assert (await at.end_of("job"))["jobStatus"] == "SUCCEEDED"
        clock, left = asyncio.get_running_loop().time, []
        ended = clock()
        while await at.names(RAY_JOB):
            found = (bool(await _workers(at)), bool(await at.names(RAY_CLUSTER)))
            left.append((clock() - ended, found))
            await asyncio.sleep(1)
        times = {found: min(at for at, each in left if each == found) for _, found in left}
        assert list(times) == [(True, True), (False, True), (False, False)]
        # A look each second by a clock of large numbers: 35 may come out as 34.9999999.
        assert 15 <= round(times[False, True], 3) <= 22
        assert 35 <= round(times[False, False], 3) <= 42
        assert 55 <= round(clock() - ended, 3) <= 60

    tell(STRICT, story)


async def _workers(at: Scene) -> list[Tree]:
    pods = await at.admin.items(POD, at.namespace)
    return [pod for pod in pods if pod["metadata"]["labels"].get("ray.io/node-type") == "worker"]


@pytest.mark.parametrize("policy", ["DeleteWorkers", "DeleteCluster", "DeleteSelf", "DeleteNone"])
def test_a_deadline_that_is_set_while_the_job_runs_ends_it_and_the_rule_for_failed_deployments_counts(
    tell: Tell, policy: str
) -> None:
    async def story(at: Scene) -> None:
        rules = [rule(policy, 10, jobDeploymentStatus="Failed")]
        await at.create("job", deletionStrategy={"deletionRules": rules})
        await at.wait_for("job", "jobStatus", "RUNNING")
        await at.edit("job", activeDeadlineSeconds=1)
        status = await at.end_of("job")
        assert (status["reason"], status["jobStatus"]) == ("DeadlineExceeded", "RUNNING")
        assert len(await _workers(at)) == 1
        await asyncio.sleep(30)
        left = [await at.names(kind) for kind in (RAY_JOB, RAY_CLUSTER)]
        assert [bool(each) for each in (*left, await _workers(at))] == {
            "DeleteWorkers": [True, True, False],
            "DeleteCluster": [True, False, False],
            "DeleteSelf": [False, False, False],
            "DeleteNone": [True, True, True],
        }[policy]

    tell(LONG, story)


def test_older_policies_with_shutdown_and_a_time_to_stay(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        side = {"policy": "DeleteCluster"}
        strategy = {"onSuccess": side, "onFailure": side}
        await at.create("job", deletionStrategy=strategy, shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=10)
        await at.end_of("job")
        await asyncio.sleep(8)
        assert len(await at.names(RAY_CLUSTER)) == 1
        await at.until_gone(RAY_CLUSTER)
        await at.rest()
        assert await at.names(RAY_JOB) == ["job"]

    tell(STRICT, story)


def test_a_job_without_a_cluster_that_starts_ends_before_it_ran(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        spec = cluster_spec()
        spec["headGroupSpec"]["template"]["spec"]["nodeSelector"] = {"no": "where"}
        await at.create("job", preRunningDeadlineSeconds=5, rayClusterSpec=spec)
        status = await at.end_of("job")
        assert (status["reason"], status["failed"]) == ("PreRunningDeadlineExceeded", 1)
        assert (await at.cluster("job"))["metadata"]["name"] == status["rayClusterName"]

    tell(STRICT, story)


@pytest.mark.parametrize(
    "wrong", [{"runtimeEnvYAML": "invalid_yaml_string"}, {"suspend": True}, {"ttlSecondsAfterFinished": 5}], ids=str
)
def test_a_spec_that_is_refused_makes_nothing(tell: Tell, wrong: Tree) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", **wrong)
        status = await at.wait_for_phase("job", "ValidationFailed")
        assert status["reason"] == "ValidationFailed"
        await at.rest()
        assert await at.names(RAY_CLUSTER) == []
        await at.delete("job")

    tell(STRICT, story)
