"""What users do to RayJobs, one peculiarity each. Every workload ends where the job can come to an end.

A job takes eight seconds of Ray's time; one whose entrypoint says "fail" fails.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.errors import ConflictError, NotFoundError
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.world import Violation, World
from simulation.kubelet import MERGE
from simulation.rayclusters.manifests import CLUSTERS, NAMESPACE, PODS, cluster, group, template
from simulation.rayclusters.reading import HEAD, is_running, label, name_of
from simulation.rayclusters.town import Town
from simulation.rayjobs.dashboards import dashboards_of
from simulation.rayjobs.laws import OVER, phase_of, status_of

RAYJOBS_PATH = f"/apis/ray.io/v1/namespaces/{NAMESPACE}/rayjobs"
HTTP, K8S_JOB, SIDECAR, INTERACTIVE = "HTTPMode", "K8sJobMode", "SidecarMode", "InteractiveMode"
SUBMITTING = (HTTP, K8S_JOB, SIDECAR)
SETTLING_SECONDS = 900.0

Workload: TypeAlias = Callable[[Town, str], Awaitable[None]]


def ray_job(
    name: str, *groups: JsonObject, mode: str = HTTP, entrypoint: str = "python ok.py", **spec: Any
) -> JsonObject:
    head = {"rayStartParams": {}, "template": template("ray-head", "ray:1")}
    ray_cluster = {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": list(groups)}
    chosen: JsonObject = {} if "clusterSelector" in spec else {"rayClusterSpec": ray_cluster}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {"entrypoint": entrypoint, "submissionMode": mode, **chosen, **spec},
    }


class Submitter:
    """The user of one RayJob."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.path = f"{RAYJOBS_PATH}/{name}"
        self.chance = stream(world.seed, f"job/{name}")

    def job(self) -> JsonObject:
        return self.world.state.get("rayjobs", NAMESPACE, self.name) or {}

    async def create(self, *groups: JsonObject, **spec: Any) -> None:
        await self.world.request("POST", RAYJOBS_PATH, ray_job(self.name, *groups, **spec))

    async def pause(self, most: float = 20.0) -> None:
        await asyncio.sleep(self.chance.uniform(0.0, most))

    async def edit(self, **spec: Any) -> None:
        with suppress(ConflictError):
            await self.world.request("PATCH", self.path, {"spec": spec}, MERGE)

    async def delete(self) -> None:
        with suppress(NotFoundError):  # a rule was faster
            await self.world.request("DELETE", self.path, {"propagationPolicy": "Background"})

    async def until(self, *phases: str) -> None:
        what = f"L1: {self.name} is {' or '.join(phases)}"
        await self.world.until(what, lambda: phase_of(self.job()) in phases, SETTLING_SECONDS)

    async def until_gone(self) -> None:
        """Where a clock was wrong, what is due by it is due as much later."""
        since, state = self.world.time(), self.world.state
        while self.job():
            if self.world.time() > since + SETTLING_SECONDS + state.skew:
                raise Violation(f"J8: after {SETTLING_SECONDS:.0f} s {self.name} is not gone")
            await asyncio.sleep(0.5)

    async def until_submitting(self) -> None:
        """A submitter runs and is about to submit; or the job is told of."""

        def is_so() -> bool:
            pods = [pod for pod in self.world.state.all("pods") if name_of(pod).startswith(f"{self.name}-")]
            is_told = bool(status_of(self.job()).get("jobStatus")) or phase_of(self.job()) in OVER
            return any(map(is_running, pods)) or is_told

        await self.world.until(f"L1: {self.name} is being submitted", is_so, SETTLING_SECONDS)

    def heads(self) -> list[JsonObject]:
        cluster_name = status_of(self.job()).get("rayClusterName")
        pods = [pod for pod in self.world.state.all("pods") if label(pod, "node-type") == HEAD]
        return [pod for pod in pods if cluster_name and label(pod, "cluster") == cluster_name]

    async def lose_head(self) -> None:
        for pod in self.heads():
            with suppress(NotFoundError):
                await self.world.request("DELETE", f"{PODS}/{name_of(pod)}", {"gracePeriodSeconds": 0})


async def http(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    await user.create(group("g", 1), shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=20)
    await user.until("Complete", "Failed")


async def sidecar(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    entrypoint = user.chance.choice(("python ok.py", "python ok.py", "python fail.py"))
    await user.create(group("g", 1), mode=SIDECAR, entrypoint=entrypoint, shutdownAfterJobFinishes=True)
    await user.until("Complete", "Failed")


async def interactive(town: Town, name: str) -> None:
    """The user submits, and then says under which id; sometimes never."""
    user, ray = Submitter(town.world, name), dashboards_of(town.world.state)
    is_done = bool(town.branch) or user.chance.random() < 0.8
    limits = {"activeDeadlineSeconds": 200 if is_done else 60}
    await user.create(mode=INTERACTIVE, shutdownAfterJobFinishes=True, **limits)
    await user.until("Waiting", "Failed")
    await user.pause(5.0)
    if is_done and phase_of(user.job()) == "Waiting":
        service = f"{status_of(user.job())['rayClusterName']}-head-svc"
        town.world.spawn(ray.submit_by_hand(service, f"by-hand-{name}", "python ok.py"))
        await user.pause(5.0)
        await user.edit(jobId=f"by-hand-{name}")
    await user.until("Complete", "Failed")


async def retry(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    mode = town.branch or user.chance.choice(SUBMITTING)
    limits: JsonObject = {"submitterConfig": {"backoffLimit": 0}} if mode == K8S_JOB else {}
    await user.create(mode=mode, entrypoint="python fail.py", backoffLimit=1, **limits)
    await user.until("Complete", "Failed")


async def k8s_job(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    limit = user.chance.choice((0, 2))
    entrypoint = "python endless.py" if user.chance.random() < 0.3 else "python ok.py"  # its submitter does not wait
    limits = {"submitterConfig": {"backoffLimit": limit}}
    await user.create(mode=K8S_JOB, entrypoint=entrypoint, shutdownAfterJobFinishes=True, **limits)
    await user.until("Complete", "Failed")


async def suspend(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    mode = town.branch or user.chance.choice(SUBMITTING)
    await user.create(mode=mode, shutdownAfterJobFinishes=True)
    await user.pause(18.0)
    await user.edit(suspend=True)
    await user.until("Suspended", "Complete", "Failed")
    await user.pause(5.0)
    await user.edit(suspend=False)
    await user.until("Complete", "Failed")


async def suspend_and_change_ones_mind(town: Town, name: str) -> None:
    """Resumed before it was suspended."""
    user = Submitter(town.world, name)
    await user.create(mode=user.chance.choice((HTTP, K8S_JOB)), shutdownAfterJobFinishes=True)
    for _ in range(2):
        await user.pause(12.0)
        await user.edit(suspend=True)
        await user.pause(3.0)
        await user.edit(suspend=False)
    await user.until("Complete", "Failed")


async def deadline(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    field = user.chance.choice(("activeDeadlineSeconds", "preRunningDeadlineSeconds"))
    await user.create(shutdownAfterJobFinishes=True, **{field: user.chance.choice((5, 12, 20))})
    await user.until("Complete", "Failed")


async def delete(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    await user.create(mode=town.branch or user.chance.choice((*SUBMITTING, INTERACTIVE)))
    await user.pause(22.0)
    await user.delete()
    await user.until_gone()


async def delete_and_create_again(town: Town, name: str) -> None:
    await delete(town, name)
    await http(town, name)


async def chosen_cluster(town: Town, name: str) -> None:
    """Two jobs on one cluster that belongs to nobody; both are deleted, and the cluster stays."""
    await town.world.request("POST", CLUSTERS, cluster(f"{name}-shared", group("g", 1)))
    users = [Submitter(town.world, f"{name}-{each}") for each in ("one", "two")]
    for user in users:
        mode = user.chance.choice((HTTP, K8S_JOB))
        await user.create(mode=mode, clusterSelector={"ray.io/cluster": f"{name}-shared"})
    if users[0].chance.random() < 0.5:
        await users[0].until_submitting()
    else:
        await users[0].pause(30.0)
    await users[0].delete()
    await users[1].until("Complete", "Failed")
    await users[1].delete()
    for user in users:
        await user.until_gone()


async def lose_head(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    mode = town.branch or user.chance.choice(SUBMITTING)
    await user.create(mode=mode, backoffLimit=2, shutdownAfterJobFinishes=True)
    await user.pause(22.0)
    for head in user.heads():
        await dashboards_of(town.world.state).end_ray(head)
    await user.until("Complete", "Failed")


async def rules(town: Town, name: str) -> None:
    user = Submitter(town.world, name)
    steps = (("DeleteWorkers", 0), ("DeleteCluster", 15), ("DeleteSelf", 40))
    entrypoint = user.chance.choice(("python ok.py", "python fail.py"))
    listed = [
        {"policy": policy, "condition": {field: end, "ttlSeconds": after}}
        for policy, after in steps
        for field, end in (("jobStatus", "SUCCEEDED"), ("jobDeploymentStatus", "Failed"))
    ]
    await user.create(group("g", 1), entrypoint=entrypoint, deletionStrategy={"deletionRules": listed})
    await user.until_gone()


WORKLOADS: dict[str, Workload] = {
    "http": http,
    "k8s-job": k8s_job,
    "sidecar": sidecar,
    "interactive": interactive,
    "retry": retry,
    "suspend": suspend,
    "suspend-and-change-ones-mind": suspend_and_change_ones_mind,
    "deadline": deadline,
    "delete": delete,
    "delete-and-create-again": delete_and_create_again,
    "chosen-cluster": chosen_cluster,
    "lose-head": lose_head,
    "rules": rules,
}
BRANCHES: dict[str, tuple[str, ...]] = dict.fromkeys(("retry", "suspend", "delete", "lose-head"), SUBMITTING)
