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
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from heliostat.api.crds import all_crds
from heliostat.kube.jsontree import JsonObject
from load.control_planes import own_plane
from load.operators import Operator, started
from load.scripted_ray import STUCK, scripted_ray
from load.targets import Target

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
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


def cluster_spec() -> JsonObject:
    resources = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    container = {"name": "ray-head", "image": "rayproject/ray:2.52.0", "resources": resources}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}
    return {"rayVersion": "2.52.0", "headGroupSpec": head}


def build_service(name: str) -> JsonObject:
    spec = {"serveConfigV2": CONFIG, "rayClusterConfig": cluster_spec()}
    return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name}, "spec": spec}


def build_cluster(name: str) -> JsonObject:
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": cluster_spec()}


class Desk(Struct, frozen=True):
    """Where everything is: the API, the operator, and the scripted Ray."""

    target: Target
    operator: Operator
    ray: str

    def session(self) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.target.token}"}
        connector = aiohttp.TCPConnector(ssl=False, limit=32)
        return aiohttp.ClientSession(self.target.url, connector=connector, headers=headers, raise_for_status=True)

    def asked(self) -> int:
        with urllib.request.urlopen(f"http://{self.ray}/-/asked", timeout=30) as answer:
            return int(answer.read())


@contextmanager
def open_desk(services: int) -> Iterator[Desk]:
    with scripted_ray("--strict") as ray, own_plane(1 + 2 * services // SERVICES_PER_MACHINE) as target:
        for definition in all_crds(slim=True):
            target.call("POST", CRDS, definition)
        with started(target, arguments=(f"--ray-gateway={ray}",)) as operator:
            operator.wait_until_quiet()
            yield Desk(target, operator, ray)


async def follow(session: aiohttp.ClientSession, path: str, hear: Callable[[JsonObject], bool]) -> None:
    """Until ``hear`` says that it has heard enough."""
    timeout = aiohttp.ClientTimeout(total=LIMIT_SECONDS)
    query = {"watch": "1", "timeoutSeconds": str(int(LIMIT_SECONDS))}
    async with session.get(path, params=query, timeout=timeout) as answer:
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            heard = [hear(msgspec.json.decode(line)["object"]) for line in lines]
            if any(heard):
                return


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

        following = asyncio.create_task(follow(session, path, hear))
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

            following = asyncio.create_task(follow(session, SERVICES, hear))
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
    with open_desk(sizes.services + DEAD) as desk:
        for number in range(DEAD):
            desk.target.call("POST", SERVICES, build_service(f"{STUCK}-{number}"))
        time.sleep(5.0)  # until they are asked, and do not answer
        return make_services(desk, sizes.services)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    sizes = QUICK if parser.parse_args().quick else Sizes()
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    with open_desk(2 * sizes.services) as desk:
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
    for bar in bars:
        print(bar, flush=True)
    return 0 if all(bar.is_met() for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
