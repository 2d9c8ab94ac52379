"""Many RayJobs at once: HTTPMode, a head alone, jobs of eight seconds, a scripted Ray and simulated nodes.

The measure of time is the job's own eight seconds. KubeRay on kube-apiserver and kwok took 49 s for 200 jobs, 42 ms of
processor for each and 66 MB. ``--quick`` shows in a minute that everything works, not what it costs.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from load.ray_fleet import Bar, Desk, build_cluster_spec, follow, open_desk, report
from load.scripted_ray import STUCK

JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
JOB_SECONDS = 8.0
JOBS_PER_MACHINE = 20
LIMIT_SECONDS = 600.0
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


def build_job(name: str) -> JsonObject:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "submissionMode": "HTTPMode",
            "entrypoint": "python ok.py",
            "rayClusterSpec": build_cluster_spec(),
        },
    }


def hear_ends(names: set[str], ends: dict[str, float]) -> Callable[[JsonObject], bool]:
    """When each of them was over; True once all of them are."""

    def hear(job: JsonObject) -> bool:
        name, status = job["metadata"]["name"], job.get("status") or {}
        if status.get("jobDeploymentStatus") in OVER and name in names:
            if status["jobStatus"] != "SUCCEEDED":
                raise SystemExit(f"{name} ended otherwise: {status}")
            ends.setdefault(name, time.monotonic())
        return ends.keys() >= names

    return hear


async def run_jobs(desk: Desk, names: list[str], beside: list[str]) -> tuple[float, dict[str, float]]:
    """Seconds until the last one was over, and each job's own; ``beside`` are made first and not waited for."""
    begun, ends = {}, dict[str, float]()
    async with desk.session() as session:
        following = asyncio.create_task(follow(session, JOBS, hear_ends({*names}, ends), LIMIT_SECONDS))

        async def create(name: str) -> None:
            begun[name] = time.monotonic()
            (await session.post(JOBS, json=build_job(name))).release()

        for name in beside:
            await create(name)
        first = time.monotonic()
        await asyncio.gather(*map(create, names))
        await following
    return max(ends.values()) - first, {name: ends[name] - begun[name] for name in names}


def measure(jobs: int, *, with_stuck: bool = False) -> Run:
    with open_desk(1 + jobs // JOBS_PER_MACHINE, f"--job-seconds={JOB_SECONDS}") as desk:
        operator = desk.operator
        cpu, tally = operator.processor_seconds(), operator.tally()
        names, beside = [f"job-{number}" for number in range(jobs)], [STUCK] if with_stuck else []
        seconds, took = asyncio.run(run_jobs(desk, names, beside))
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
    return report(bars)


if __name__ == "__main__":
    sys.exit(main())
