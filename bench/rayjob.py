"""Many RayJobs at once: HTTPMode, a head alone, jobs of eight seconds, a scripted Ray and simulated nodes.

The measure of time is the job's own eight seconds. KubeRay on kube-apiserver and kwok took 49 s for 200 jobs, 42 ms of
processor for each and 66 MB. ``--quick`` shows in a minute that everything works, not what it costs.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import msgspec
from msgspec import Struct

from heliostat.api.crds import all_crds
from heliostat.kube.jsontree import JsonObject
from load.control_planes import own_plane
from load.operators import Operator, started
from load.targets import ROOT, Target, environment

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
JOB_SECONDS = 8.0
JOBS_PER_MACHINE = 20
LIMIT_SECONDS = 600.0
STUCK = "stuck"
OVER = ("Complete", "Failed")


class Run(Struct, frozen=True):
    """``took`` is each job's own time, from its creation to its end."""

    seconds: float
    took: dict[str, float]
    cpu: float
    memory_mb: float
    writes: int

    @property
    def cpu_each(self) -> float:
        return self.cpu / len(self.took)


class Bar(Struct, frozen=True):
    name: str
    value: float
    limit: float
    unit: str = ""

    def is_met(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        sign = "ok " if self.is_met() else "NOT"
        return f"  {sign} {self.name}: {self.value:.2f} (bar {self.limit:g}{self.unit})"


def build_job(name: str) -> JsonObject:
    resources = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    container = {"name": "ray-head", "image": "rayproject/ray:2.52.0", "resources": resources}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "submissionMode": "HTTPMode",
            "entrypoint": "python ok.py",
            "rayClusterSpec": {"rayVersion": "2.52.0", "headGroupSpec": head},
        },
    }


@contextmanager
def scripted_ray() -> Iterator[str]:
    """Its address; the dashboards of jobs whose name begins with ``stuck`` never answer."""
    options = ["--strict", f"--job-seconds={JOB_SECONDS}", f"--stuck={STUCK}"]
    command = [sys.executable, "-m", "heliostat.testing.scripted_ray", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


async def follow(session: aiohttp.ClientSession, names: set[str], ends: dict[str, float]) -> None:
    """Until all of them are over."""
    timeout = aiohttp.ClientTimeout(total=LIMIT_SECONDS)
    query = {"watch": "1", "timeoutSeconds": str(int(LIMIT_SECONDS))}
    async with session.get(JOBS, params=query, timeout=timeout) as answer:
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                job = msgspec.json.decode(line)["object"]
                name, status = job["metadata"]["name"], job.get("status") or {}
                if status.get("jobDeploymentStatus") in OVER and name in names:
                    if status["jobStatus"] != "SUCCEEDED":
                        raise SystemExit(f"{name} ended otherwise: {status}")
                    ends.setdefault(name, time.monotonic())
            if ends.keys() >= names:
                return


async def run_jobs(target: Target, names: list[str], beside: list[str]) -> tuple[float, dict[str, float]]:
    """Seconds until the last one was over, and each job's own; ``beside`` are made first and not waited for."""
    headers = {"Authorization": f"Bearer {target.token}"}
    connector = aiohttp.TCPConnector(ssl=False, limit=32)
    begun, ends = {}, dict[str, float]()
    async with aiohttp.ClientSession(
        target.url, connector=connector, headers=headers, raise_for_status=True
    ) as session:
        following = asyncio.create_task(follow(session, {*names}, ends))

        async def create(name: str) -> None:
            begun[name] = time.monotonic()
            (await session.post(JOBS, json=build_job(name))).release()

        for name in beside:
            await create(name)
        first = time.monotonic()
        await asyncio.gather(*map(create, names))
        await following
    return max(ends.values()) - first, {name: ends[name] - begun[name] for name in names}


@contextmanager
def world(jobs: int) -> Iterator[tuple[Target, Operator]]:
    with scripted_ray() as ray, own_plane(1 + jobs // JOBS_PER_MACHINE) as target:
        for definition in all_crds(slim=True):
            target.call("POST", CRDS, definition)
        with started(target, arguments=(f"--ray-gateway={ray}",)) as operator:
            operator.wait_until_quiet()
            yield target, operator


def measure(jobs: int, *, with_stuck: bool = False) -> Run:
    with world(jobs) as (target, operator):
        cpu, tally = operator.processor_seconds(), operator.tally()
        names, beside = [f"job-{number}" for number in range(jobs)], [STUCK] if with_stuck else []
        seconds, took = asyncio.run(run_jobs(target, names, beside))
        writes = (operator.tally() - tally).all_writes
        return Run(seconds, took, operator.processor_seconds() - cpu, operator.memory_mb(), writes)


def p99(run: Run) -> float:
    return statistics.quantiles(run.took.values(), n=100, method="inclusive")[98]


def tell(name: str, run: Run) -> None:
    each, jobs = run.cpu_each * 1000, len(run.took)
    print(f"{name}: all in {run.seconds:.1f} s, p99 {p99(run):.1f} s, {each:.1f} ms of processor a job,", end=" ")
    print(f"{run.memory_mb:.0f} MB, {run.writes / jobs:.1f} writes a job", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    few, many = (20, 60) if options.quick else (200, 1000)
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    alone, beside, crowd = measure(few), measure(few, with_stuck=True), measure(many)
    for name, run in ((f"{few} jobs", alone), (f"{few} beside a stuck one", beside), (f"{many} jobs", crowd)):
        tell(name, run)
    bars = (
        Bar("all complete, against the job's own time", alone.seconds / JOB_SECONDS, 2.5, "x"),
        Bar("processor a job", alone.cpu_each * 1000, 25, " ms"),
        Bar("memory", alone.memory_mb, 70, " MB"),
        Bar("p99 beside a stuck dashboard, against without", p99(beside) / p99(alone), 1.2, "x"),
        Bar(f"processor a job of {many}, against {few}", crowd.cpu_each / alone.cpu_each, 1.2, "x"),
    )
    for bar in bars:
        print(bar, flush=True)
    return 0 if all(bar.is_met() for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
