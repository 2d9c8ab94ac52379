"""RayJobs in trouble: one workload alone, for a crash at every call; or what the seed makes of all of them."""

import asyncio
from collections.abc import Iterator
from functools import partial

from heliostat.api.crds import build_crd
from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.exploration import FAULTY_SECONDS, Case
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Scenario, Violation, World
from simulation.rayclusters.manifests import CRDS, pod_group_definition
from simulation.rayclusters.nodes import Conduct
from simulation.rayclusters.programs import Staff
from simulation.rayclusters.reading import controller_uid, is_terminating, name_of, uid_of
from simulation.rayclusters.safety import named
from simulation.rayclusters.town import LEADERS, OPERATOR, Town, found_town
from simulation.rayjobs.dashboards import Dashboards, dashboards_of
from simulation.rayjobs.laws import LAWS, OVER, phase_of, status_of
from simulation.rayjobs.workloads import BRANCHES, WORKLOADS

REST_SECONDS = 600.0
IDLE_SECONDS = 45.0
VOLCANO = "volcano"
SAFETY = tuple(map(named, LAWS))
TURNS = (*WORKLOADS, "suspend", "lose-head", "retry")  # what goes wrong there goes wrong rarely


async def found_job_town(
    world: World, conduct: Conduct, *, two_operators: bool = False, branch: str = "", scheduler: str = ""
) -> tuple[Town, Dashboards]:
    dashboards = Dashboards(world)
    world.serve(dashboards)
    conduct.program = dashboards.submit
    await world.request("POST", CRDS, build_crd("RayJob", slim=True))
    if scheduler:
        await world.request("POST", CRDS, pod_group_definition())
    staff = Staff(has_jobs=True, watch_seconds=240.0 if branch else 45.0, scheduler=scheduler)
    town = await found_town(world, staff, conduct, two_operators=two_operators, branch=branch)
    return town, dashboards


async def run_one(world: World, workload: str, branch: str = "", *, two_operators: bool = False) -> None:
    town, _dashboards = await found_job_town(world, Conduct(), two_operators=two_operators, branch=branch)
    await WORKLOADS[workload](town, "j0")
    await come_to_rest(world)


async def run_any(world: World) -> None:
    chance = stream(world.seed, "job-mayor")
    conduct = Conduct(
        failing=chance.choice((0.0, 0.0, 0.0, 0.2)),
        calm=FAULTY_SECONDS / 2,
        start_seconds=chance.choice((3.0, 3.0, 10.0)),
        stop_seconds=chance.choice((3.0, 3.0, 15.0)),
    )
    two_operators, is_disturbed = chance.random() < 0.3, chance.random() < 0.5
    flakiness, mortality = chance.choice((0.0, 0.0, 0.5)), chance.choice((0.0, 0.0, 0.0, 0.3))
    turn = TURNS[world.seed % len(TURNS)]
    turns = (turn, *chance.sample([name for name in WORKLOADS if name != turn], k=chance.choice((0, 0, 1))))
    scheduler = "" if "chosen-cluster" in turns else _draw_scheduler(world)  # which no gang can have
    town, dashboards = await found_job_town(world, conduct, two_operators=two_operators, scheduler=scheduler)
    if is_disturbed:
        world.spawn(dashboards.misbehave(stream(world.seed, "dashboards"), FAULTY_SECONDS))
    dashboards.flakiness, dashboards.mortality = flakiness, mortality
    await asyncio.gather(*(WORKLOADS[name](town, f"j{number}") for number, name in enumerate(turns)))
    await asyncio.sleep(max(0.0, FAULTY_SECONDS - world.time()))
    await come_to_rest(world)


def _draw_scheduler(world: World) -> str:
    return stream(world.seed, "scheduler").choice(("", "", "", VOLCANO))


async def come_to_rest(world: World) -> None:
    # Where a clock was wrong, what is due by it is due as much later.
    deadline = world.time() + REST_SECONDS + world.state.skew
    while unrest := next(find_unrest(world.state), None):
        if world.time() > deadline:
            raise Violation(f"L1: {REST_SECONDS:.0f} s after the last step: {unrest}")
        await asyncio.sleep(0.5)
    await world.until_quiet(IDLE_SECONDS, IDLE_SECONDS * 6)
    for unrest in find_unrest(world.state):
        raise Violation(f"L1: it was at rest, and then: {unrest}")


def find_unrest(state: State) -> Iterator[str]:
    """J6: everything due is gone. J1: what has run was accepted; J4: and ended as Ray says."""
    jobs = {uid_of(job): job for job in state.all("rayjobs")}
    for job in jobs.values():
        yield from _find_unrest_of(state, job)
    for plural in ("rayclusters", "jobs", "services", "podgroups"):
        for tree in state.all(plural):
            owner = controller_uid(tree)
            ever = any(uid_of(job) == owner for job in state.ever("rayjobs"))
            if ever and owner not in jobs:
                yield f"J6: {plural}/{name_of(tree)} is left of a RayJob that is gone"


def _find_unrest_of(state: State, job: JsonObject) -> Iterator[str]:
    name, phase, status = name_of(job), phase_of(job), status_of(job)
    if is_terminating(job) or phase not in OVER:
        yield f"J8: {name} is {phase or 'new'} and does not end"
        return
    clusters = state.controlled_by("rayclusters", uid_of(job))
    if job["spec"].get("shutdownAfterJobFinishes") and clusters:
        yield f"J6: {name} is over, and {name_of(clusters[0])} is still there"
    if len(clusters) > 1:
        yield f"J2: {name} has {len(clusters)} clusters"
    yield from _find_greed(state, job, clusters)
    takes = dashboards_of(state).takes_of(str(status.get("jobId") or ""))
    if phase == "Complete" and not takes:
        yield f"J1: {name} is Complete, and was never accepted"


def _find_greed(state: State, job: JsonObject, clusters: list[JsonObject]) -> Iterator[str]:
    """What a gang asks for is taken from its queue: after the end it asks for what is still there, and no more."""
    for group in state.controlled_by("podgroups", uid_of(job)):
        size = group["spec"]
        if not clusters and (size.get("minMember") or size.get("minResources")):
            yield f"C7: {name_of(job)} is over, its cluster is gone, and {name_of(group)} asks for {size}"


RAYJOBS = Case(name="rayjobs", scenario=run_any, invariants=SAFETY, program=OPERATOR)


def _one(name: str, scenario: Scenario, program: str = OPERATOR) -> Case:
    return Case(name=f"rayjob-{name}", scenario=scenario, invariants=SAFETY, program=program)


def _all_ways() -> Iterator[Case]:
    for name in WORKLOADS:
        for branch in BRANCHES.get(name, ("",)):
            yield _one(f"{name}-{branch}".rstrip("-"), partial(run_one, workload=name, branch=branch))
    yield _one("two-operators", partial(run_one, workload="http", two_operators=True), LEADERS[0])


ONE_JOB: dict[str, Case] = {case.name: case for case in _all_ways()}
