"""What people do wrong with RayJobs: refused or reported with path and fix, and nothing is held for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from conformance.operator.administrator import EVENT
from conformance.operator.job_stories import JOB, Scene, Tree
from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.kube.problems import Problem
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_CRON_JOB, RAY_JOB
from heliostat.runtime.errors import InvalidError
from heliostat.testing.scripted_ray import RECORDED, STRICT, RayScript
from plan.rayjob.job_worlds import cluster_spec, job_tree

Tell = Callable[[RayScript, Callable[[Scene], Awaitable[None]]], None]
BAD_ENVIRONMENT = "pip: [requests"


def problems_of(**spec: Any) -> list[Problem]:
    """What ``validate`` says."""
    tree = job_tree()
    return list(review(tree | {"spec": tree["spec"] | spec}, Settings()).problems)


def told_at(problems: list[Problem], *path: str) -> str:
    """The fix of the one problem at this path."""
    (found,) = [problem for problem in problems if problem.path == path]
    return found.fix


async def assert_released(at: Scene, name: str) -> None:
    """What it held goes: by its own word at the end, or with the RayJob."""
    await at.delete(name)
    for kind in (RAY_CLUSTER, JOB, POD):
        await at.until_gone(kind)


async def reasons_of(at: Scene, kind: str) -> set[str]:
    events = await at.admin.items(EVENT, at.namespace)
    return {event["reason"] for event in events if event["regarding"]["kind"] == kind}


def test_invalid_runtime_env_yaml_is_refused_and_holds_nothing(tell: Tell) -> None:
    assert "YAML mapping" in told_at(problems_of(runtimeEnvYAML=BAD_ENVIRONMENT), "spec", "runtimeEnvYAML")

    async def story(at: Scene) -> None:
        await at.create("job", runtimeEnvYAML=BAD_ENVIRONMENT)
        status = await at.wait_for_phase("job", "ValidationFailed")
        assert "RuntimeEnvYAML" in status["message"]
        await at.rest()
        assert "InvalidRayJobSpec" in await reasons_of(at, RAY_JOB.kind)
        assert await at.names(RAY_CLUSTER) == []

    tell(STRICT, story)


def test_invalid_runtime_env_yaml_of_a_running_job_releases_its_cluster_in_time(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job")
        await at.wait_for("job", "jobStatus", "RUNNING")
        await at.edit("job", runtimeEnvYAML=BAD_ENVIRONMENT)
        await at.wait_for_phase("job", "ValidationFailed")
        assert len(await at.names(RAY_CLUSTER)) == 1, "a typing mistake is mended soon"
        await asyncio.sleep(Settings().rayjob_transition_grace_seconds)
        for kind in (RAY_CLUSTER, POD):
            await at.until_gone(kind)
        await at.edit("job", runtimeEnvYAML="{}")
        assert (await at.end_of("job"))["jobStatus"] == "SUCCEEDED"

    tell(RayScript(appears_when_asked=False, ends_after=60.0), story)


@pytest.mark.parametrize("field", ["activeDeadlineSeconds", "preRunningDeadlineSeconds", "backoffLimit"])
def test_impossible_deadlines_are_refused(tell: Tell, field: str) -> None:
    assert told_at(problems_of(**{field: -5}), "spec", field)

    async def story(at: Scene) -> None:
        try:
            await at.create("job", **{field: -5})
        except InvalidError as error:  # the definition of the kind says so already
            assert f"spec.{field}" in str(error)  # noqa: PT017
            return
        status = await at.wait_for_phase("job", "ValidationFailed")
        assert field in status["message"]
        assert await at.names(RAY_CLUSTER) == []

    tell(STRICT, story)


def test_a_deadline_that_never_comes_is_reported() -> None:
    found = problems_of(activeDeadlineSeconds=60, preRunningDeadlineSeconds=60)
    assert "smaller than activeDeadlineSeconds" in told_at(found, "spec", "preRunningDeadlineSeconds")
    assert problems_of(activeDeadlineSeconds=60, preRunningDeadlineSeconds=30) == []


def test_both_selector_and_spec_are_reported_and_the_selector_counts(tell: Tell) -> None:
    found = problems_of(clusterSelector={"ray.io/cluster": "shared"})
    assert told_at(found, "spec", "rayClusterSpec") == "leave out one of the two"

    async def story(at: Scene) -> None:
        await at.create("job", clusterSelector={"ray.io/cluster": "shared"}, preRunningDeadlineSeconds=20)
        status = await at.end_of("job")
        assert status["reason"] == "PreRunningDeadlineExceeded", "nobody made the one that it chose"
        assert "RayClusterNotFound" in await reasons_of(at, RAY_JOB.kind)
        assert await at.names(RAY_CLUSTER) == []

    tell(STRICT, story)


def test_nothing_to_run_is_reported() -> None:
    assert told_at(problems_of(entrypoint=""), "spec", "entrypoint")
    assert problems_of(entrypoint="", submissionMode="InteractiveMode") == []


def test_an_entrypoint_that_does_not_exist_fails_with_rays_words_and_releases_its_cluster(tell: Tell) -> None:
    async def story(at: Scene) -> None:
        await at.create("job", entrypoint="python fail-missing.py", shutdownAfterJobFinishes=True)
        status = await at.end_of("job")
        assert (status["reason"], status["jobStatus"]) == ("AppFailed", "FAILED")
        assert "exit code" in status["message"]
        for kind in (RAY_CLUSTER, POD):
            await at.until_gone(kind)

    tell(STRICT, story)


def test_a_submitter_image_nobody_provides_is_ended_by_the_deadline(tell: Tell) -> None:
    """Its Pod never starts: here it has no node. Without a deadline ``explain`` says what it waits for."""

    async def story(at: Scene) -> None:
        template = {"spec": {"restartPolicy": "Never", "nodeSelector": {"no": "where"}, "containers": [_submitter()]}}
        await at.create(
            "job", submissionMode="K8sJobMode", submitterPodTemplate=template, activeDeadlineSeconds=60,
            shutdownAfterJobFinishes=True,
        )  # fmt: skip
        status = await at.end_of("job")
        assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "DeadlineExceeded")
        assert "jobStatus" not in status
        await at.until_gone(RAY_CLUSTER)
        await assert_released(at, "job")

    tell(STRICT, story)


def _submitter() -> Tree:
    return {"name": "submitter", "image": "nobody/has-this:1"}


def test_a_submitter_template_that_the_server_refuses_is_told(tell: Tell) -> None:
    """KubeRay: a template without a restartPolicy makes the creation of the Job fail (rayjob.md §8 rule 7)."""

    async def story(at: Scene) -> None:
        await at.create(
            "job", submissionMode="K8sJobMode", submitterPodTemplate={"spec": {"containers": [_submitter()]}}
        )
        await at.wait_for_phase("job", "Initializing")

        async def is_told() -> bool:
            return "FailedToCreateRayJobSubmitter" in await reasons_of(at, RAY_JOB.kind)

        await at.until(is_told)
        assert (await at.status("job"))["jobDeploymentStatus"] == "Initializing"
        await assert_released(at, "job")

    tell(RECORDED, story)


def cron_problems(**spec: Any) -> list[Problem]:
    template = {"entrypoint": "python x.py", "rayClusterSpec": cluster_spec()}
    metadata = {"name": "cron", "namespace": "ns", "creationTimestamp": "2027-01-15T08:00:00Z"}
    tree = {"schedule": "@daily", "jobTemplate": template, **spec}
    return list(
        review({"apiVersion": "ray.io/v1", "kind": RAY_CRON_JOB.kind, "metadata": metadata, "spec": tree}, Settings())
        .problems
    )  # fmt: skip


@pytest.mark.parametrize("schedule", ["61 * * * *", "* * * *", "@reboot", "TZ=UTC * * * * *", ""])
def test_a_bad_cron_is_refused_with_path_and_fix(schedule: str) -> None:
    assert told_at(cron_problems(schedule=schedule), "spec", "schedule")


def test_a_bad_time_zone_is_refused_with_path_and_fix() -> None:
    assert "IANA" in told_at(cron_problems(timeZone="Mars/Olympus"), "spec", "timeZone")


def test_a_bad_job_in_a_cron_is_refused_with_its_path() -> None:
    template = {"entrypoint": "", "rayClusterSpec": cluster_spec(), "activeDeadlineSeconds": -1}
    found = cron_problems(jobTemplate=template)
    assert {problem.path for problem in found} == {
        ("spec", "jobTemplate", "activeDeadlineSeconds"), ("spec", "jobTemplate", "entrypoint"),
    }  # fmt: skip
