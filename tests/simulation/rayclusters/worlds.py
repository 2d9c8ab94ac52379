"""Scenarios: one workload alone, for a crash at every call; or what the seed makes of all of them."""

import asyncio
import random
from collections.abc import Iterator
from functools import partial

from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.exploration import FAULTY_SECONDS, Case
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Scenario, Violation, World
from simulation.rayclusters.manifests import clusters_in
from simulation.rayclusters.nodes import Conduct
from simulation.rayclusters.people import Meddler, User
from simulation.rayclusters.programs import Staff
from simulation.rayclusters.reading import is_terminating, name_of
from simulation.rayclusters.rest import GONE_SECONDS, IDLE_SECONDS, REFUSED, come_to_rest
from simulation.rayclusters.safety import SAFETY
from simulation.rayclusters.town import LEADERS, OPERATOR, Town, found_town, lift_the_ban, settle_bystanders
from simulation.rayclusters.workloads import ALONE, AWAITING_AN_END, BRANCHES, WORKLOADS

STAMPS = ("ray.io/upgrade-strategy-recreate-hash", "ray.io/kuberay-version")

TURNS = (
    *WORKLOADS,
    "recreate",
    "scale",
    "create-again",
)  # the last ones twice: what goes wrong there goes wrong rarely


async def run_one(world: World, workload: str, branch: str = "", *, two_operators: bool = False) -> None:
    """The main path, with little around it."""
    staff = Staff(watch_seconds=240.0)
    town = await found_town(world, staff, Conduct(), two_operators=two_operators, branch=branch)
    await WORKLOADS[workload](town, "c0")
    await come_to_rest(world, town.staff, idle_seconds=60.0)


async def run_any(world: World) -> None:
    chance = stream(world.seed, "mayor")
    town = await found_town(
        world,
        Staff(),
        draw_conduct(chance),
        two_operators=chance.random() < 0.5,
    )
    upgrades = chance.random() < 0.25
    town.staff.version_of = lambda life: "heliostat-v2" if upgrades and life % 2 else "heliostat-v1"
    await settle_bystanders(town, chance)
    for seconds in (chance.uniform(5.0, 40.0), chance.uniform(40.0, 80.0)) if upgrades else ():
        world.spawn(_kill_once(town, seconds))  # to the other version, and back
    if chance.random() < 0.2:
        world.spawn(Meddler(User(world, "c0")).run(until=chance.uniform(20.0, FAULTY_SECONDS)))
    names = pick_workloads(world.seed, chance)
    await asyncio.gather(*(WORKLOADS[name](town, f"c{number}") for number, name in enumerate(names)))
    await asyncio.sleep(max(0.0, FAULTY_SECONDS - world.time()))
    await lift_the_ban(town)
    await come_to_rest(world, town.staff, chance.choice((60.0, 60.0, IDLE_SECONDS)))
    await _end(town, chance)


def draw_conduct(chance: random.Random) -> Conduct:
    """Most nodes are quick and reliable; some take half a minute to end a Pod, and some lose every third."""
    return Conduct(
        failing=chance.choice((0.0, 0.0, 0.3)),
        hindered=chance.choice((0.0, 0.0, 0.2)),
        calm=FAULTY_SECONDS / 2,
        start_seconds=chance.choice((3.0, 3.0, 15.0)),
        stop_seconds=chance.choice((3.0, 3.0, 30.0)),
        clock_error=chance.choice((0.0, 0.0, -3600.0, 3600.0)),
    )


def pick_workloads(seed: int, chance: random.Random) -> list[str]:
    """Each has its turn; sometimes another one goes on beside it."""
    turn = TURNS[seed % len(TURNS)]
    beside = [name for name in WORKLOADS if name != turn and _bear_each_other(turn, name)]
    return [turn, *chance.sample(beside, k=min(len(beside), chance.choice((0, 0, 1))))]


def _bear_each_other(*both: str) -> bool:
    return not {*both} & {*ALONE} and not ("lose-a-node" in both and {*both} & {*AWAITING_AN_END})


async def _kill_once(town: Town, seconds: float) -> None:
    await asyncio.sleep(seconds)
    for life in town.operators:
        life.kill()


async def _end(town: Town, chance: random.Random) -> None:
    if chance.random() < 0.5:
        await upgrade_at_rest(town)
    if chance.random() < 0.3:
        await delete_all(town)


async def upgrade_at_rest(town: Town) -> None:
    """U1: another version of the operator over objects that are as they should be writes stamps at most."""
    before = _essence(town.world.state)
    town.staff.version_of = lambda _life: "heliostat-v3"
    await _kill_once(town, 0.0)
    await asyncio.sleep(90.0)
    after = _essence(town.world.state)
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    if changed:
        raise Violation(f"U1: a new version changed {changed}: {before.get(changed[0])} became {after.get(changed[0])}")


def _essence(state: State) -> dict[str, JsonObject]:
    """Without what is on its way out: a node that is found again lets it go, whoever operates."""
    staying = {key: tree for key, tree in state.objects().items() if not is_terminating(tree)}
    return {key: _mask(tree) for key, tree in staying.items() if not key.startswith(("events/", "leases/"))}


def _mask(tree: JsonObject) -> JsonObject:
    masked: JsonObject = copy_tree(tree)
    metadata = masked["metadata"]
    for key in ("resourceVersion", "managedFields"):
        metadata.pop(key, None)
    for stamp in STAMPS:
        (metadata.get("annotations") or {}).pop(stamp, None)
    _mask_status(masked.get("status") or {})
    return masked


def _mask_status(status: JsonObject) -> None:
    """Hashes of two versions cannot be compared, so whether a spec was applied is not known any more."""
    status.pop("lastUpdateTime", None)
    status["conditions"] = [each for each in status.get("conditions") or () if each["type"] != "SpecNotApplied"]


async def delete_all(town: Town) -> None:
    """C7: nothing is left."""
    town.conduct.lost.clear()
    for tree in list(town.world.state.all("rayclusters")):
        if REFUSED not in name_of(tree):
            path = f"{clusters_in(tree['metadata']['namespace'])}/{name_of(tree)}"
            await town.world.request("DELETE", path, {"propagationPolicy": "Background"})
    await come_to_rest(town.world, town.staff, at_most=GONE_SECONDS)


RAYCLUSTERS = Case(name="rayclusters", scenario=run_any, invariants=SAFETY, program=OPERATOR)


def _one(name: str, scenario: Scenario, program: str = OPERATOR) -> Case:
    return Case(name=f"raycluster-{name}", scenario=scenario, invariants=SAFETY, program=program)


def _all_ways() -> Iterator[Case]:
    """Each workload alone, each of its branches, and one with two operators, of which the first one leads."""
    for name in WORKLOADS:
        for branch in BRANCHES.get(name, ("",)):
            yield _one(f"{name}-{branch}".rstrip("-"), partial(run_one, workload=name, branch=branch))
    yield _one("two-operators", partial(run_one, workload="scale", two_operators=True), LEADERS[0])


ONE_WORKLOAD: dict[str, Case] = {case.name: case for case in _all_ways()}
