"""What users do to RayCronJobs, one peculiarity each. Every workload lasts for some ticks and ends with what was due.

The RayJobs are managed elsewhere, by a queue that answers for them: what is simulated here is the schedule. In one
workload the operator runs them itself, on a cluster that belongs to nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.errors import ApiError, NotFoundError
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.world import Violation, World
from simulation.kubelet import MERGE
from simulation.rayclusters.manifests import CLUSTERS, NAMESPACE, cluster, template
from simulation.rayclusters.reading import is_terminating, name_of, uid_of
from simulation.rayclusters.town import Town
from simulation.raycronjobs.laws import ticks_of
from simulation.raycronjobs.reading import (
    FORBID,
    POLICY,
    REPLACE,
    children_ever,
    is_active,
    last_tick,
    owner_uid,
    tick_of,
)
from simulation.rayjobs.workloads import RAYJOBS_PATH

CRONS_PATH = f"/apis/ray.io/v1/namespaces/{NAMESPACE}/raycronjobs"
ELSEWHERE = "kueue.x-k8s.io/multikueue"
EVERY_MINUTE = "*/1 * * * *"
CATCHING_UP = 300.0  # seconds until what is due has been looked at
LONGEST_LAG = 130.0  # until everybody has heard of an edit

Workload: TypeAlias = Callable[[Town, str], Awaitable[None]]


def cron_job(name: str, policies: dict[str, str], template_: JsonObject, **spec: Any) -> JsonObject:
    annotations = {f"{POLICY}{key}": value for key, value in policies.items()}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCronJob",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"schedule": EVERY_MINUTE, "jobTemplate": template_, **spec},
    }


def queued_job() -> JsonObject:
    head = {"rayStartParams": {}, "template": template("ray-head", "ray:1")}
    return {"entrypoint": "python ok.py", "managedBy": ELSEWHERE, "rayClusterSpec": {"headGroupSpec": head}}


class Planner:
    """The user of one RayCronJob."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.path = f"{CRONS_PATH}/{name}"
        self.chance = stream(world.seed, f"cron/{name}")

    def cron(self) -> JsonObject:
        return self.world.state.get("raycronjobs", NAMESPACE, self.name) or {}

    async def create(self, template_: JsonObject | None = None, *, policies: Any = (), **spec: Any) -> None:
        tree = cron_job(self.name, dict(policies), template_ or queued_job(), **spec)
        await self.world.request("POST", CRONS_PATH, tree)

    async def edit(self, **spec: Any) -> None:
        await self.world.request("PATCH", self.path, {"spec": spec}, MERGE)

    async def delete(self) -> None:
        await self.world.request("DELETE", self.path, {"propagationPolicy": "Background"})

    async def pause(self, most: float) -> None:
        await asyncio.sleep(self.chance.uniform(0.0, most))

    def children(self) -> list[JsonObject]:
        return list(children_ever(self.world.state, self.cron()))

    @property
    def is_ahead(self) -> bool:
        """An operator whose clock was ahead has taken ticks of the future, as KubeRay would. None of them is taken a
        second time when the clock has been set right, so nothing more comes until then."""
        return (last_tick(self.cron()) or 0.0) > self.world.now()

    async def until_caught_up(self) -> None:
        """The last tick that is due has been looked at."""

        def is_so() -> bool:
            due = ticks_of(self.cron(), self.world.now() - 5.0)
            return not due or (last_tick(self.cron()) or 0.0) >= due[-1]

        await self.world.until(f"L1: {self.name} has looked at its last tick", is_so, CATCHING_UP)

    async def expect_every_tick(self) -> None:
        """K2, as in KubeRay: every missed tick is made up for, also those of a suspension."""
        await self.until_caught_up()
        due = {int(tick) // 60 for tick in ticks_of(self.cron(), self.world.now() - 5.0)}
        here = {int(tick_of(job)) // 60 for job in self.children()}
        if due - here:
            raise Violation(f"K2: {self.name} has left out {sorted(due - here)}, and made {sorted(here)}")

    async def leave(self) -> None:
        """Its RayJobs go with it."""
        uid, jobs = uid_of(self.cron()), partial(self.world.state.all, "rayjobs")
        await self.delete()
        what = f"L1: the RayJobs of {self.name} are gone"
        await self.world.until(what, lambda: all(owner_uid(job) != uid for job in jobs()), 900.0)


async def run_elsewhere(world: World) -> None:
    """Whoever manages the RayJobs: each begins, and ends well or not."""
    begun: set[str] = set()
    while True:
        for job in list(world.state.all("rayjobs")):
            if job["spec"].get("managedBy") == ELSEWHERE and uid_of(job) not in begun:
                begun.add(uid_of(job))
                world.spawn(_run_one(world, job, stream(world.seed, f"queue/{len(begun)}").uniform(2.0, 80.0)))
        await asyncio.sleep(1.0)


async def _run_one(world: World, job: JsonObject, seconds: float) -> None:
    is_failing = int(seconds) % 4 == 0
    await asyncio.sleep(seconds)
    status = {
        "jobDeploymentStatus": "Failed" if is_failing else "Complete",
        "jobStatus": "FAILED" if is_failing else "SUCCEEDED",
    }
    body = {"metadata": {"uid": uid_of(job)}, "status": status}
    with suppress(ApiError):  # it is gone
        await world.request("PATCH", f"{RAYJOBS_PATH}/{name_of(job)}/status", body, MERGE)


async def steady(town: Town, name: str) -> None:
    user = Planner(town.world, name)
    await user.create(schedule=user.chance.choice((EVERY_MINUTE, "*/2 * * * *", "@every 45s", "@every 20s")))
    await asyncio.sleep(200.0)
    await user.expect_every_tick()


async def suspend(town: Town, name: str) -> None:
    """Nothing begins while it is suspended; then all that was missed is made up for."""
    user = Planner(town.world, name)
    await user.create(suspend=user.chance.random() < 0.3)
    await user.pause(100.0)
    await user.edit(suspend=True)
    await asyncio.sleep(LONGEST_LAG + 20.0)
    before = len(user.children())
    await asyncio.sleep(130.0)
    if len(user.children()) > before:
        raise Violation(f"K2: {name} is suspended, and makes RayJobs")
    await user.edit(suspend=False)
    await user.expect_every_tick()


async def one_at_a_time(town: Town, name: str) -> None:
    user = Planner(town.world, name)
    policy = town.branch or user.chance.choice((FORBID, REPLACE))
    await user.create(policies={"concurrency-policy": policy})
    await user.pause(60.0)
    await user.edit(suspend=True)
    await user.pause(150.0)  # so that several are missed
    await user.edit(suspend=False)
    await asyncio.sleep(130.0)
    await user.until_caught_up()
    if not user.children() and not user.is_ahead:
        raise Violation(f"K2: {name} has made no RayJob")


async def not_too_late(town: Town, name: str) -> None:
    """Of what was missed only the last one may still begin."""
    user = Planner(town.world, name)
    await user.create(policies={"starting-deadline-seconds": "30"}, suspend=True)
    await asyncio.sleep(LONGEST_LAG + 60.0)
    await user.edit(suspend=False)
    await asyncio.sleep(130.0)
    await user.until_caught_up()


async def short_history(town: Town, name: str) -> None:
    user = Planner(town.world, name)
    limits = {"successful-jobs-history-limit": "1", "failed-jobs-history-limit": user.chance.choice(("0", "1"))}
    await user.create(policies=limits)
    await asyncio.sleep(280.0)
    await user.expect_every_tick()
    await user.edit(suspend=True)

    def over() -> int:
        jobs = [job for job in town.world.state.all("rayjobs") if owner_uid(job) == uid_of(user.cron())]
        return sum(not is_active(job) and not is_terminating(job) for job in jobs)

    await town.world.until(f"K2: {name} keeps no more than its limits", lambda: over() <= 2, CATCHING_UP)


async def delete_and_create_again(town: Town, name: str) -> None:
    """The second one has ticks of its own, and the names of the first."""
    user = Planner(town.world, name)
    await user.create()
    await user.pause(150.0)
    await user.leave()
    await user.create()
    await asyncio.sleep(130.0)
    await user.expect_every_tick()


async def a_name_is_taken(town: Town, name: str) -> None:
    """Somebody else's RayJob has the name of a tick: that one is left out, and the schedule goes on."""
    user = Planner(town.world, name)
    tick = int(town.world.now()) // 60 + 2
    foreign = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": f"{name}-{tick}"}}
    await town.world.request("POST", RAYJOBS_PATH, foreign | {"spec": queued_job()})
    await user.create()
    await asyncio.sleep(240.0)
    await user.until_caught_up()
    with suppress(NotFoundError):
        await town.world.request("DELETE", f"{RAYJOBS_PATH}/{name}-{tick}")


async def clocks_change(town: Town, name: str) -> None:
    """An hour that a clock skips, or shows twice: its minutes are ticks as often as they are shown."""
    user, zone = Planner(town.world, name), ZoneInfo("Europe/Berlin")
    begins = town.branch or user.chance.choice(("2027-03-28T00:59:00+00:00", "2027-10-31T00:58:30+00:00"))
    town.world.epoch = datetime.fromisoformat(begins).timestamp() - town.world.time()
    hour = datetime.fromtimestamp(town.world.now() + 90.0, zone).hour
    await user.create(schedule=f"*/1 {hour} * * *", timeZone=str(zone))
    await asyncio.sleep(200.0)
    await user.expect_every_tick()
    if not user.children():
        raise Violation(f"K2: {name} has made no RayJob in the hour after the change")


async def real_runs(town: Town, name: str) -> None:
    """The operator runs the RayJobs itself, on one cluster that stays."""
    await town.world.request("POST", CLUSTERS, cluster(f"{name}-shared"))
    user = Planner(town.world, name)
    template_ = {
        "entrypoint": "python ok.py",
        "submissionMode": "HTTPMode",
        "clusterSelector": {"ray.io/cluster": f"{name}-shared"},
    }
    await user.create(template_, schedule="*/2 * * * *", policies={"concurrency-policy": FORBID})
    await asyncio.sleep(240.0)
    await user.until_caught_up()
    what = f"L1: a run of {name} is over"
    await town.world.until(what, lambda: user.is_ahead or not all(map(is_active, user.children())), 900.0)


WORKLOADS: dict[str, Workload] = {
    "steady": steady,
    "suspend": suspend,
    "one-at-a-time": one_at_a_time,
    "not-too-late": not_too_late,
    "short-history": short_history,
    "delete-and-create-again": delete_and_create_again,
    "name-taken": a_name_is_taken,
    "clocks-change": clocks_change,
    "real-runs": real_runs,
}
BRANCHES: dict[str, tuple[str, ...]] = {"one-at-a-time": (FORBID, REPLACE)}
