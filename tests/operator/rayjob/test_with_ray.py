"""The running operator and a Ray that misbehaves: RayJobs on simulated nodes, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from conformance.operator.own_world import own_world
from conformance.operator.worlds import Operated
from heliostat.api.settings import Settings
from heliostat.operator.kinds import RAY_CLUSTER, RAY_JOB
from heliostat.testing import run_virtual
from heliostat.testing.scripted_ray import STRICT, Answer, Hang, RayFault, ScriptedCluster, ScriptedRay
from plan.rayjob.job_worlds import cluster_spec

pytestmark = pytest.mark.slow

NAMESPACE = "jobs"
Story = Callable[[Operated, ScriptedRay], Awaitable[None]]


def tell(story: Story) -> None:
    """In a world with an operator and a Ray that has only what was submitted to it."""

    async def play() -> None:
        async with own_world() as world:
            ray = world.ray
            assert ray is not None
            ray.script = STRICT
            await world.make_namespace(NAMESPACE)
            async with world.operated(Settings()) as operated:
                await story(operated, ray)
            assert world.problems == []

    run_virtual(play())


async def create(operated: Operated, name: str, **spec: Any) -> None:
    wanted = {"entrypoint": "python ok.py", "submissionMode": "HTTPMode", "rayClusterSpec": cluster_spec(), **spec}
    metadata = {"name": name, "namespace": NAMESPACE}
    tree = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": wanted}
    await operated.admin.create(RAY_JOB, tree)


async def wait_for(operated: Operated, name: str, key: str, *values: str) -> dict[str, Any]:
    async def is_there() -> bool:
        return (await status_of(operated, name)).get(key) in values

    await operated.world.until(is_there)
    return await status_of(operated, name)


async def status_of(operated: Operated, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await operated.admin.get(RAY_JOB, NAMESPACE, name)).get("status") or {}
    return found


async def end_of(operated: Operated, name: str) -> dict[str, Any]:
    return await wait_for(operated, name, "jobDeploymentStatus", "Complete", "Failed")


async def disturb(operated: Operated, ray: ScriptedRay, name: str, *faults: RayFault) -> ScriptedCluster:
    """Before its cluster is ready."""
    status = await wait_for(operated, name, "jobDeploymentStatus", "Initializing")
    cluster = ray.cluster(f"{NAMESPACE}/{status['rayClusterName']}-head-svc")
    cluster.disturb(*faults)
    return cluster


def test_a_dashboard_that_hangs_delays_no_other_job_and_ends_in_time() -> None:
    async def story(operated: Operated, ray: ScriptedRay) -> None:
        clock = asyncio.get_running_loop().time
        await create(operated, "stuck")
        await disturb(operated, ray, "stuck", Hang())
        begun = clock()
        others = [f"job-{number}" for number in range(8)]
        for name in others:
            await create(operated, name)
        for name in others:
            assert (await end_of(operated, name))["jobStatus"] == "SUCCEEDED"
        assert clock() - begun < 25, "a job of eight seconds, on a cluster that is there in five"
        assert (await status_of(operated, "stuck"))["jobDeploymentStatus"] == "Running"
        status = await end_of(operated, "stuck")
        assert status["reason"] == "JobStatusCheckTimeoutExceeded"
        assert clock() - begun > 300

    tell(story)


@pytest.mark.parametrize(
    "fault",
    [
        Answer(method="POST", status=500, carried_out=True, times=1),
        Answer(method="POST", status=503, carried_out=False, times=2),
        Hang(method="POST", carried_out=True, times=1),
        Hang(method="POST", carried_out=False, times=1),
        Answer(method="GET", status=502, times=3),
        Answer(method="GET", status=200, body=b"<html>not Ray</html>", times=3),
        Answer(method="GET", status=500, body=b'{"status": ""}', times=3),
    ],
    ids=str,
)
def test_a_job_is_accepted_once_and_ends_as_ray_says_whatever_becomes_of_calls(fault: RayFault) -> None:
    async def story(operated: Operated, ray: ScriptedRay) -> None:
        await create(operated, "job")
        await disturb(operated, ray, "job", fault)
        status = await end_of(operated, "job")
        assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
        assert [taken.id for taken in ray.accepted] == [status["jobId"]]
        assert "jobStatusCheckFailureStartTime" not in status

    tell(story)


def test_a_head_that_is_lost_while_the_job_runs_fails_it_and_another_attempt_follows() -> None:
    async def story(operated: Operated, ray: ScriptedRay) -> None:
        await create(operated, "job", backoffLimit=1)
        cluster = await disturb(operated, ray, "job")
        first = await wait_for(operated, "job", "jobStatus", "RUNNING")
        cluster.lose()
        await wait_for(operated, "job", "jobDeploymentStatus", "Retrying")
        status = await end_of(operated, "job")
        assert (status["jobStatus"], status["failed"], status["succeeded"]) == ("SUCCEEDED", 1, 1)
        assert status["rayClusterName"] != first["rayClusterName"]
        assert len(ray.accepted) == 2
        assert ray.accepted_twice() == []

    tell(story)


def test_a_job_that_is_deleted_is_stopped_first_and_goes_even_if_ray_does_not_answer() -> None:
    async def story(operated: Operated, ray: ScriptedRay) -> None:
        for name, faults in (("kind", ()), ("deaf", (Hang(method="POST", path="/stop"),))):
            await create(operated, name, entrypoint="python ok.py")
            cluster = await disturb(operated, ray, name, *faults)
            await wait_for(operated, name, "jobStatus", "RUNNING")
            await operated.admin.delete(RAY_JOB, NAMESPACE, name)

            async def is_gone(name: str = name) -> bool:
                jobs = await operated.admin.items(RAY_JOB, NAMESPACE)
                return name not in {job["metadata"]["name"] for job in jobs}

            await operated.world.until(is_gone)
            assert any(request.endswith("/stop") for request in cluster.requests)
        await operated.rest()
        assert await operated.admin.items(RAY_CLUSTER, NAMESPACE) == []

    tell(story)


def test_a_restarted_operator_goes_on_without_a_second_submission() -> None:
    async def play() -> None:
        async with own_world() as world:
            ray = world.ray
            assert ray is not None
            ray.script = STRICT
            await world.make_namespace(NAMESPACE)
            async with world.operated(Settings()) as operated:
                await create(operated, "job")
                before = await wait_for(operated, "job", "jobStatus", "RUNNING")
            await asyncio.sleep(600)
            async with world.operated(Settings()) as operated:
                status = await end_of(operated, "job")
            assert (status["jobStatus"], status["jobId"]) == ("SUCCEEDED", before["jobId"])
            assert len(ray.accepted) == 1
            assert world.problems == []

    run_virtual(play())


def test_a_job_costs_few_writes() -> None:
    async def story(operated: Operated, ray: ScriptedRay) -> None:
        assert ray.accepted == []
        await create(operated, "job", shutdownAfterJobFinishes=True)
        await end_of(operated, "job")
        await operated.rest()
        writes = operated.log.in_namespace(NAMESPACE)
        assert sum(write.use.resource == RAY_JOB.plural for write in writes) <= 9, [str(write) for write in writes]

    tell(story)
