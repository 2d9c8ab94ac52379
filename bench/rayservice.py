"""Many RayServices at once: a head alone, a scripted Serve that takes three seconds to deploy, simulated nodes.

The measure of time is as many bare RayClusters, made by the same operator before. KubeRay on kube-apiserver and kwok
took 21.5 s for 100 services; idle, 93 ms of processor and 60 calls to dashboards for each of them in a minute.
``--quick`` shows in a minute that everything works, not what it costs.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import aiohttp
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from load.ray_fleet import Bar, Desk, build_cluster_spec, follow, open_desk, report
from load.scripted_ray import STUCK

CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
SERVICES = "/apis/ray.io/v1/namespaces/default/rayservices"
DEPLOY_SECONDS = 3.0
SERVICES_PER_MACHINE = 20
LIMIT_SECONDS = 300.0
DEAD = 10  # services whose dashboards never answer
CONFIG = "applications: [{name: app, import_path: 'app:v1', route_prefix: /}]"


class Sizes(Struct, frozen=True):
    services: int = 100
    idle_seconds: float = 60.0
    changes: int = 20


QUICK = Sizes(services=20, idle_seconds=15.0, changes=5)


class Idle(Struct, frozen=True):
    """Of one service in one minute."""

    cpu_ms: float
    calls: float
    writes: int  # of all of them


def build_service(name: str) -> JsonObject:
    spec = {"serveConfigV2": CONFIG, "rayClusterConfig": build_cluster_spec()}
    return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name}, "spec": spec}


def build_cluster(name: str) -> JsonObject:
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": build_cluster_spec()}


def count_machines(services: int) -> int:
    """A service may have two clusters."""
    return 1 + 2 * services // SERVICES_PER_MACHINE


async def make(
    desk: Desk, path: str, trees: list[JsonObject], is_done: Callable[[JsonObject], bool]
) -> dict[str, float]:
    """Each one's own seconds, from the first creation of all until it is as it should be."""
    names, ends = {tree["metadata"]["name"] for tree in trees}, dict[str, float]()
    async with desk.session() as session:

        def hear(tree: JsonObject) -> bool:
            if tree["metadata"]["name"] in names and is_done(tree.get("status") or {}):
                ends.setdefault(tree["metadata"]["name"], time.monotonic())
            return ends.keys() >= names

        following = asyncio.create_task(follow(session, path, hear, LIMIT_SECONDS))
        first = time.monotonic()
        await asyncio.gather(*(session.post(path, json=tree) for tree in trees))
        await following
    return {name: end - first for name, end in ends.items()}


def make_services(desk: Desk, count: int, prefix: str = "service") -> dict[str, float]:
    trees = [build_service(f"{prefix}-{number}") for number in range(count)]
    return asyncio.run(make(desk, SERVICES, trees, lambda status: status.get("serviceStatus") == "Running"))


def make_clusters(desk: Desk, count: int) -> dict[str, float]:
    trees = [build_cluster(f"cluster-{number}") for number in range(count)]
    return asyncio.run(make(desk, CLUSTERS, trees, lambda status: status.get("state") == "ready"))


def measure_idle(desk: Desk, services: int, seconds: float) -> Idle:
    time.sleep(5.0)  # what had to be told is told
    tally, asked, cpu, begun = desk.operator.tally(), desk.asked(), desk.operator.processor_seconds(), time.monotonic()
    time.sleep(seconds)
    spent, minutes = desk.operator.processor_seconds() - cpu, services * (time.monotonic() - begun) / 60.0
    calls = desk.asked() - asked
    return Idle(1000.0 * spent / minutes, calls / minutes, (desk.operator.tally() - tally).all_writes)


async def measure_changes(desk: Desk, count: int) -> list[float]:
    """Somebody else deploys on a Serve: seconds until the status of its service tells of it."""
    body = {"applications": [{"name": "app", "import_path": "app:v1", "route_prefix": "/"}]}
    seconds = []
    async with desk.session() as session, aiohttp.ClientSession(f"http://{desk.ray}") as ray:
        for number in range(count):
            name = f"service-{number}"
            tree = await (await session.get(f"{SERVICES}/{name}")).json()
            cluster = tree["status"]["activeServiceStatus"]["rayClusterName"]

            def hear(found: JsonObject, name: str = name) -> bool:
                return found["metadata"]["name"] == name and "DEPLOYING" in _applications_of(found)

            following = asyncio.create_task(follow(session, SERVICES, hear, LIMIT_SECONDS))
            await asyncio.sleep(0.2)
            begun = time.monotonic()
            await ray.put(f"/default/{cluster}-head-svc/api/serve/applications/", json=body)
            await following
            seconds.append(time.monotonic() - begun)
    return seconds


def _applications_of(service: JsonObject) -> set[Any]:
    slot = (service.get("status") or {}).get("activeServiceStatus") or {}
    return {each.get("status") for each in (slot.get("applicationStatuses") or {}).values()}


def measure_beside_dead(sizes: Sizes) -> dict[str, float]:
    """The same services, while the dashboards of others never answer."""
    with open_desk(count_machines(sizes.services + DEAD)) as desk:
        for number in range(DEAD):
            desk.target.call("POST", SERVICES, build_service(f"{STUCK}-{number}"))
        time.sleep(5.0)  # until they are asked, and do not answer
        return make_services(desk, sizes.services)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    sizes = QUICK if parser.parse_args().quick else Sizes()
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    with open_desk(count_machines(2 * sizes.services)) as desk:
        floor = max(make_clusters(desk, sizes.services).values())
        alone = make_services(desk, sizes.services)
        idle = measure_idle(desk, sizes.services, sizes.idle_seconds)
        changes = asyncio.run(measure_changes(desk, sizes.changes))
        memory = desk.operator.memory_mb()
    beside = measure_beside_dead(sizes)
    print(f"{sizes.services} bare clusters ready in {floor:.1f} s, services running in {max(alone.values()):.1f} s")
    print(f"idle, a service and a minute: {idle.cpu_ms:.1f} ms, {idle.calls:.0f} calls, {idle.writes} writes in all")
    print(f"changes seen in {min(changes):.2f} to {max(changes):.2f} s; {memory:.0f} MB")
    seconds, dead = max(alone.values()), max(beside.values())
    bars = (
        Bar("all running", seconds, 10.75, " s"),
        Bar("all running, against bare clusters and the time to deploy", seconds / (floor + DEPLOY_SECONDS), 2, "x"),
        Bar("idle: processor a service and minute", idle.cpu_ms, 30, " ms"),
        Bar("idle: writes", idle.writes, 0),
        Bar("a change in Serve is seen", max(changes), 2, " s"),
        Bar("all running beside dead dashboards, against without", dead / seconds, 1.2, "x"),
    )
    return report(bars)


if __name__ == "__main__":
    sys.exit(main())
