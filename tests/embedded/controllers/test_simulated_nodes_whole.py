"""Scheduler, simulated nodes and node lifecycle on the real loop and the real handlers, in virtual time."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from embedded.controllers.cluster_shapes import pod_tree
from heliostat.embedded.controllers.node_lifecycle.node_health import NodeHealth
from heliostat.embedded.controllers.node_lifecycle.taint_eviction import TaintEviction
from heliostat.embedded.controllers.nodes.machines import build_machines
from heliostat.embedded.controllers.nodes.node_agents import SimulatedNodeAgents
from heliostat.embedded.controllers.nodes.pod_agents import SimulatedPodAgents
from heliostat.embedded.controllers.nodes.simulation import Simulation
from heliostat.embedded.controllers.scheduler.controller import Scheduler
from heliostat.embedded.controllers.views.leases import LEASE
from heliostat.embedded.controllers.views.nodes import NODE
from heliostat.embedded.controllers.views.pods import BINDING, POD
from heliostat.embedded.controllers.views.volume_claims import CLAIM
from heliostat.kube.objects import Key
from heliostat.kube.plan import Event, Plan
from heliostat.kube.resource_types import ResourceType, ResourceTypes
from heliostat.runtime.host import Host, Surroundings
from heliostat.runtime.reconciler import Subject
from heliostat.testing.virtual_time import run_virtual
from runtime.small_api import NOON, SmallApi, small_api

SERVICE_ACCOUNT = ResourceType("v1", "ServiceAccount", "serviceaccounts")


class Ear:
    """Hears events and failures."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.failures: list[str] = []

    def record(self, subject: Subject, event: Event) -> None:
        self.events.append((subject.ref.name, event.reason))

    def reconciled(self, controller: str, key: Key, result: str, seconds: float) -> None:
        pass

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        pass

    def failed(self, controller: str, key: Key, error: Exception) -> None:
        self.failures.append(f"{controller} {key}: {error!r}")


class Whole:
    def __init__(self, api: SmallApi, ear: Ear) -> None:
        self.api = api
        self.ear = ear
        self.user = api.client()

    async def create(self, name: str, simulate: str = "", **more: Any) -> None:
        tree = pod_tree(name, **more)
        annotations = {"heliostat.dev/simulate": simulate} if simulate else {}
        tree["metadata"] = {"name": name, "namespace": "default", "annotations": annotations}
        await self.user.create(POD, tree)

    async def delete(self, name: str) -> None:
        uid = (await self.api.read(POD, "default", name))["metadata"]["uid"]
        await self.user.delete(POD, "default", name, uid=uid)

    async def pods(self) -> dict[str, Any]:
        return {tree["metadata"]["name"]: tree for tree in await self.api.list(POD)}

    async def until(self, test: Callable[[dict[str, Any]], bool], seconds: float = 30.0) -> dict[str, Any]:
        deadline = asyncio.get_running_loop().time() + seconds
        while not test(found := await self.pods()):
            assert asyncio.get_running_loop().time() < deadline, found
            await asyncio.sleep(0.5)
        return found


@asynccontextmanager
async def whole(nodes: int, cpu: str) -> AsyncIterator[Whole]:
    async with small_api() as api:
        chance, ear, loop = random.Random(1), Ear(), asyncio.get_running_loop()  # noqa: S311
        around = Surroundings(
            now=lambda: NOON + loop.time(),
            chance=chance.random,
            random_bytes=chance.randbytes,
            recorder_of=lambda _name: ear,
            observer=ear,
            on_problem=lambda what, error: ear.failures.append(f"{what}: {error!r}"),
        )
        host = Host(api.client(), ResourceTypes([POD, BINDING, NODE, LEASE, CLAIM]), around)
        simulation = Simulation(build_machines(nodes, {"cpu": cpu, "memory": "64Gi", "pods": "110"}))
        for reconciler in (SimulatedPodAgents, SimulatedNodeAgents):
            host.add(reconciler(host.caches, simulation))
        for controller in (Scheduler, NodeHealth, TaintEviction):
            host.add(controller(host.caches))
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "default"},
        }
        await api.client().create(SERVICE_ACCOUNT, account)
        stop = asyncio.Event()
        running = asyncio.create_task(host.run(stop))
        yield Whole(api, ear)
        stop.set()
        await running
        assert ear.failures == []


def scenario(nodes: int, cpu: str, play: Callable[[Whole], Awaitable[None]]) -> None:
    async def run() -> None:
        async with whole(nodes, cpu) as world:
            await play(world)

    run_virtual(run())


def is_ready(tree: dict[str, Any]) -> bool:
    conditions = tree["status"].get("conditions", [])
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def test_many_pods_become_ready_evenly_with_addresses_of_their_own_and_go_again() -> None:
    async def play(world: Whole) -> None:
        for number in range(60):
            await world.create(f"p{number}", requests={"cpu": "100m"})
        found = await world.until(lambda pods: all(map(is_ready, pods.values())))
        assert len({tree["status"]["podIP"] for tree in found.values()}) == 60
        assert Counter(tree["spec"]["nodeName"] for tree in found.values()) == {
            "node-0": 20,
            "node-1": 20,
            "node-2": 20,
        }
        for name in found:
            await world.delete(name)
        await world.until(lambda pods: not pods)
        assert Counter(reason for _, reason in world.ear.events)["Scheduled"] == 60

    scenario(3, "4", play)


def test_who_does_not_fit_says_so_and_gets_the_place_that_becomes_free() -> None:
    async def play(world: Whole) -> None:
        await world.create("first", requests={"cpu": "1"}, simulate="succeed-after=5s", restartPolicy="Never")
        await world.until(lambda pods: is_ready(pods["first"]))
        await world.create("second", requests={"cpu": "1"})
        waiting = await world.until(lambda pods: bool(pods["second"]["status"].get("conditions")))
        assert waiting["second"]["status"]["conditions"][0]["message"] == (
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
        )
        found = await world.until(lambda pods: is_ready(pods["second"]))
        assert found["first"]["status"]["phase"] == "Succeeded"

    scenario(1, "1", play)


def test_a_stronger_pod_takes_the_place_of_a_weaker_one() -> None:
    async def play(world: Whole) -> None:
        await world.create("weak", requests={"cpu": "1"})
        await world.until(lambda pods: is_ready(pods["weak"]))
        await world.create("strong", requests={"cpu": "1"}, priorityClassName="system-node-critical")
        found = await world.until(lambda pods: is_ready(pods["strong"]))
        assert list(found) == ["strong"]

    scenario(1, "1", play)


def test_pods_leave_a_node_that_is_lost() -> None:
    async def play(world: Whole) -> None:
        await world.create("patient", requests={"cpu": "1"}, nodeSelector={"kubernetes.io/hostname": "node-0"})
        await world.until(lambda pods: is_ready(pods["patient"]))
        lost = {"metadata": {"annotations": {"heliostat.dev/simulate": "lost"}}}
        await world.user.patch(NODE, "", "node-0", lost)
        await world.until(lambda pods: not is_ready(pods["patient"]), seconds=70)
        await world.create("next", requests={"cpu": "1"})
        found = await world.until(lambda pods: is_ready(pods["next"]))
        assert found["next"]["spec"]["nodeName"] == "node-1"
        leaving = await world.until(lambda pods: "deletionTimestamp" in pods["patient"]["metadata"], seconds=310)
        assert leaving["patient"]["status"]["phase"] == "Running"
        await world.user.patch(NODE, "", "node-0", {"metadata": {"annotations": None}})
        await world.until(lambda pods: "patient" not in pods)

    scenario(2, "4", play)
