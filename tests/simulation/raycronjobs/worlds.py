"""RayCronJobs in trouble: one workload alone, for a crash at every call; or what the seed makes of them."""

import asyncio
from collections.abc import Iterator
from functools import partial

from heliostat.api.crds import build_crd
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.exploration import FAULTY_SECONDS, Case
from heliostat.testing.simulation.world import World
from simulation.rayclusters.manifests import CRDS, pod_group_definition
from simulation.rayclusters.nodes import Conduct
from simulation.rayclusters.programs import Staff
from simulation.rayclusters.safety import named
from simulation.rayclusters.town import OPERATOR, Town, found_town
from simulation.raycronjobs.laws import LAWS
from simulation.raycronjobs.workloads import BRANCHES, WORKLOADS, run_elsewhere
from simulation.rayjobs.dashboards import Dashboards
from simulation.rayjobs.laws import LAWS as LAWS_OF_JOBS

SAFETY = tuple(map(named, (*LAWS, *LAWS_OF_JOBS)))
TURNS = tuple(WORKLOADS)


async def found_cron_town(world: World, *, two_operators: bool = False, branch: str = "", scheduler: str = "") -> Town:
    world.state.beside["now"] = world.now
    dashboards = Dashboards(world)
    world.serve(dashboards)
    for kind in ("RayJob", "RayCronJob"):
        await world.request("POST", CRDS, build_crd(kind, slim=True))
    if scheduler:
        await world.request("POST", CRDS, pod_group_definition())
    watch_seconds = 240.0 if branch else 45.0
    staff = Staff(has_jobs=True, has_crons=True, watch_seconds=watch_seconds, scheduler=scheduler)
    conduct = Conduct(program=dashboards.submit)
    town = await found_town(world, staff, conduct, two_operators=two_operators, branch=branch)
    world.spawn(run_elsewhere(world))
    return town


async def run_one(world: World, workload: str, branch: str = "") -> None:
    town = await found_cron_town(world, branch=branch)
    await WORKLOADS[workload](town, "k0")


async def run_any(world: World) -> None:
    chance = stream(world.seed, "cron-mayor")
    town = await found_cron_town(world, two_operators=chance.random() < 0.3)
    await WORKLOADS[TURNS[world.seed % len(TURNS)]](town, "k0")
    await asyncio.sleep(max(0.0, FAULTY_SECONDS - world.time()))


RAYCRONJOBS = Case(name="raycronjobs", scenario=run_any, invariants=SAFETY, program=OPERATOR)


def _all_ways() -> Iterator[Case]:
    for name in WORKLOADS:
        for branch in BRANCHES.get(name, ("",)):
            scenario = partial(run_one, workload=name, branch=branch)
            label = f"raycronjob-{name}-{branch}".rstrip("-").lower()
            yield Case(name=label, scenario=scenario, invariants=SAFETY, program=OPERATOR)


ONE_CRON: dict[str, Case] = {case.name: case for case in _all_ways()}
