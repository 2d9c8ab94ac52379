"""RayServices in trouble: one workload alone, for a crash at every call; or what the seed makes of all of them."""

import asyncio
from collections.abc import Iterator
from functools import partial

from heliostat.api.crds import build_crd
from heliostat.embedded.controllers.endpoints.reconcilers import EndpointSliceReconciler
from heliostat.embedded.doors.gateway import gateway_crds
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.operator.kinds import RAY_SERVICES
from heliostat.runtime.client import Client as ApiClient
from heliostat.runtime.host import Host
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.exploration import FAULTY_SECONDS, Case
from heliostat.testing.simulation.world import Scenario, World
from simulation.rayclusters.manifests import CRDS
from simulation.rayclusters.nodes import NODES, Conduct
from simulation.rayclusters.overseer import Overseer
from simulation.rayclusters.programs import Staff, kubernetes_crew
from simulation.rayclusters.safety import named
from simulation.rayclusters.town import LEADERS, OPERATOR, Town, found_town
from simulation.rayclusters.worlds import upgrade_at_rest
from simulation.rayservices.clients import Client
from simulation.rayservices.gateways import run_gateways
from simulation.rayservices.laws import LAWS
from simulation.rayservices.rest import come_to_rest
from simulation.rayservices.serves import Serves
from simulation.rayservices.workloads import BRANCHES, GENTLE, WORKLOADS

INCREMENTAL = "incremental"
SAFETY = tuple(map(named, LAWS))
TURNS = (*WORKLOADS, "upgrade", "third-spec", "suspend")  # what goes wrong there goes wrong rarely


class ServiceOverseer(Overseer):
    """Of RayServices: C12, and the generation that a plan was decided from."""

    is_alone = False

    def planned(self, controller: str, key: Key, plan: Plan) -> None:
        if controller != "rayservice-controller":
            super().planned(controller, key, plan)
            return
        item = self.operator.host.caches.of(RAY_SERVICES).get(key)
        is_leading = self._fence is None or self._fence.is_open
        if item is not None and is_leading:
            self._check_freshness(item.metadata.uid, key)
            self._world.state.acting_on[item.metadata.uid] = item.metadata.generation


def serving_crew(host: Host, client: ApiClient) -> None:
    kubernetes_crew(host, client)
    host.add(EndpointSliceReconciler(host.caches))


async def found_service_town(
    world: World, conduct: Conduct, *, two_operators: bool = False, branch: str = "", has_gateways: bool = False
) -> tuple[Town, Serves]:
    serves = Serves(world)
    world.serve(serves)
    conduct.is_held_back = serves.is_held_back
    await world.request("POST", CRDS, build_crd("RayService", slim=True))
    if has_gateways:
        for definition in gateway_crds():
            await world.request("POST", CRDS, definition)
        world.spawn(run_gateways(world))
    for node in NODES:  # who makes EndpointSlices asks where a Pod is
        await world.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    watch_seconds = 240.0 if branch else 45.0
    staff = Staff(has_services=True, watch_seconds=watch_seconds, overseeing=ServiceOverseer)
    town = await found_town(world, staff, conduct, two_operators=two_operators, branch=branch, crew=serving_crew)
    return town, serves


async def run_one(world: World, workload: str, branch: str = "", *, two_operators: bool = False) -> None:
    town, serves = await found_service_town(
        world, Conduct(), two_operators=two_operators, branch=branch or "alone", has_gateways=workload == INCREMENTAL
    )
    if workload in GENTLE:
        world.spawn(Client(world, serves, "s0").run())
    await WORKLOADS[workload](town, "s0")
    await come_to_rest(world)


async def run_any(world: World) -> None:
    chance = stream(world.seed, "service-mayor")
    is_gentle = chance.random() < 0.5
    conduct = Conduct(
        failing=0.0 if is_gentle else chance.choice((0.0, 0.2)),
        calm=FAULTY_SECONDS / 2,
        start_seconds=chance.choice((3.0, 3.0, 10.0)),
        stop_seconds=chance.choice((3.0, 3.0, 15.0)),
    )
    turn = TURNS[world.seed % len(TURNS)]
    town, serves = await found_service_town(
        world, conduct, two_operators=chance.random() < 0.3, has_gateways=turn == INCREMENTAL
    )
    if not is_gentle:
        world.spawn(serves.misbehave(stream(world.seed, "serves"), FAULTY_SECONDS))
    if is_gentle and turn in GENTLE:
        world.spawn(Client(world, serves, "s0").run())
    await WORKLOADS[turn](town, "s0")
    await asyncio.sleep(max(0.0, FAULTY_SECONDS - world.time()))
    await come_to_rest(world)
    if chance.random() < 0.3 and turn != "upgrades-off":  # there another version takes up what was edited
        await upgrade_at_rest(town)


RAYSERVICES = Case(name="rayservices", scenario=run_any, invariants=SAFETY, program=OPERATOR)


def _one(name: str, scenario: Scenario, program: str = OPERATOR) -> Case:
    return Case(name=f"rayservice-{name}", scenario=scenario, invariants=SAFETY, program=program)


def _all_ways() -> Iterator[Case]:
    for name in WORKLOADS:
        for branch in BRANCHES.get(name, ("",)):
            yield _one(f"{name}-{branch}".rstrip("-"), partial(run_one, workload=name, branch=branch))
    yield _one("two-operators", partial(run_one, workload="upgrade", two_operators=True), LEADERS[0])


ONE_SERVICE: dict[str, Case] = {case.name: case for case in _all_ways()}
