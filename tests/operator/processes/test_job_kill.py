"""RayJobs while the operator dies every two seconds by kill -9: each attempt is accepted once, and ends as Ray says.

The API server with simulated nodes and the scripted Ray are processes of their own and live on. The Ray is strict: it
has only what was submitted to it, and its log tells how often that was.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import msgspec
import pytest
from msgspec import Struct

from embedded.processes.running import PATIENCE, ServerProcess, wait_until
from heliostat.api.crds import all_crds
from heliostat.testing.scripted_ray.state import Accepted
from operator_process import OperatorProcess
from testing.test_apiserver import client_context

Tree: TypeAlias = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
LIFE_SECONDS = 2.0
LOOK_SECONDS = 0.1
ALONE = ("--enable-leader-election=false", "--request-seconds=1.5")
JOBS_PER_NODE = 10
FAILING = 4  # every so many-th job fails, and is tried twice


class Trial(Struct, frozen=True):
    jobs: int
    job_seconds: float
    least_kills: int


class Ray:
    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"

    def accepted(self) -> list[Accepted]:
        with urllib.request.urlopen(f"http://{self.address}/-/accepted", timeout=10) as answer:
            return msgspec.json.decode(answer.read(), type=list[Accepted])


@contextlib.contextmanager
def scripted_ray(job_seconds: float) -> Iterator[Ray]:
    command = [sys.executable, "-m", "heliostat.testing.scripted_ray", "--strict", f"--job-seconds={job_seconds}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Ray(int(process.stdout.readline()))
        finally:
            process.kill()


def build_job(number: int) -> Tree:
    is_failing = number % FAILING == FAILING - 1
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "ray-head", "image": "ray:1"}]}}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": f"job-{number}"},
        "spec": {
            "submissionMode": "HTTPMode",
            "entrypoint": "python fail.py" if is_failing else "python ok.py",
            "backoffLimit": 1,
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {"rayVersion": "2.52.0", "headGroupSpec": head},
        },
    }


@contextlib.asynccontextmanager
async def session_to(server: ServerProcess) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=client_context(server.kubeconfig))
    async with aiohttp.ClientSession(server.address, connector=connector, raise_for_status=True) as session:
        yield session


async def list_jobs(session: aiohttp.ClientSession) -> list[Tree]:
    async with session.get(JOBS) as answer:
        items: list[Tree] = (await answer.json())["items"]
        return items


def is_over(job: Tree) -> bool:
    return (job.get("status") or {}).get("jobDeploymentStatus") in ("Complete", "Failed")


def operator_of(folder: Path, server: ServerProcess, ray: Ray) -> OperatorProcess:
    return OperatorProcess(folder, server.kubeconfig, *ALONE, f"--ray-gateway={ray.address}")


def has_begun(operator: OperatorProcess) -> bool:
    return "working" in operator.told()


async def kill_until_over(folder: Path, server: ServerProcess, ray: Ray, session: aiohttp.ClientSession) -> int:
    """Two seconds from when it works, whatever it is doing then."""
    kills, deadline = 0, time.monotonic() + 10 * PATIENCE
    while not all(map(is_over, await list_jobs(session))):
        assert time.monotonic() < deadline, await list_jobs(session)
        with operator_of(folder, server, ray) as operator:
            await asyncio.to_thread(wait_until, partial(has_begun, operator), operator.told)
            await asyncio.sleep(LIFE_SECONDS)
            assert operator.exit_code is None, operator.told()
            assert "Traceback" not in operator.told()
            operator.kill()
            kills += 1
    return kills


async def finish(folder: Path, server: ServerProcess, ray: Ray, session: aiohttp.ClientSession) -> list[Tree]:
    """The last one works undisturbed: nothing more may happen to what is over."""
    with operator_of(folder, server, ray) as operator:
        await asyncio.to_thread(operator.wait_answer, "/readyz", 200)
        deadline = time.monotonic() + PATIENCE
        while await _count_clusters(session):
            assert time.monotonic() < deadline, operator.told()
            await asyncio.sleep(LOOK_SECONDS)
        assert operator.stop() == 0
        assert "Traceback" not in operator.told()
    return await list_jobs(session)


async def _count_clusters(session: aiohttp.ClientSession) -> int:
    async with session.get(JOBS.replace("rayjobs", "rayclusters")) as answer:
        return len((await answer.json())["items"])


def find_wrong(jobs: list[Tree], accepted: list[Accepted]) -> list[str]:
    """What does not equal the script's truth."""
    problems = [f"{taken} came twice" for taken, count in _count(accepted).items() if count > 1]
    for job in jobs:
        name, status, is_failing = job["metadata"]["name"], job["status"], "fail" in job["spec"]["entrypoint"]
        ended = (status["jobDeploymentStatus"], status["jobStatus"], status["failed"], status["succeeded"])
        if ended != (("Failed", "FAILED", 2, 0) if is_failing else ("Complete", "SUCCEEDED", 0, 1)):
            problems.append(f"{name} ended as {ended}: {status.get('message')}")
        takes = [taken.id for taken in accepted if taken.id.rpartition("-")[0] == name]
        if len(takes) != (2 if is_failing else 1) or status["jobId"] not in takes:
            problems.append(f"{name} was accepted as {takes}, its status names {status['jobId']}")
    return problems


def _count(accepted: list[Accepted]) -> Counter[tuple[str, str]]:
    return Counter((taken.cluster, taken.id) for taken in accepted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "trial",
    [
        pytest.param(Trial(jobs=8, job_seconds=3.0, least_kills=2), id="8"),
        pytest.param(Trial(jobs=100, job_seconds=8.0, least_kills=5), id="100", marks=pytest.mark.soak),
    ],
)
def test_each_attempt_is_accepted_once_and_ends_as_ray_says_though_the_operator_dies_every_two_seconds(
    tmp_path: Path, trial: Trial
) -> None:
    async def run(server: ServerProcess, ray: Ray) -> tuple[int, list[Tree]]:
        async with session_to(server) as session:
            for definition in all_crds(slim=True):
                await session.post(DEFINITIONS, json=definition)
            for number in range(trial.jobs):
                await session.post(JOBS, json=build_job(number))
            kills = await kill_until_over(tmp_path, server, ray, session)
            return kills, await finish(tmp_path, server, ray, session)

    flags = ("--memory", "--controllers", f"--simulated-nodes={1 + trial.jobs // JOBS_PER_NODE}", "--stages=fast")
    with scripted_ray(trial.job_seconds) as ray, ServerProcess(tmp_path, *flags) as server:
        kills, jobs = asyncio.run(run(server, ray))
        assert "Traceback" not in server.told()
        assert find_wrong(jobs, ray.accepted()) == []
    assert kills >= trial.least_kills, "everything was over before anything could go wrong"
