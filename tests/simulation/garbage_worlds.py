"""Ownership in trouble: trees of objects, deleted in every way, while the collector dies and its watches lie."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from heliostat.embedded.controllers.crews import add_cleaning
from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.client import Client
from heliostat.runtime.errors import AlreadyExistsError, ConflictError, NotFoundError
from heliostat.runtime.host import Host
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.exploration import Case
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import World
from simulation.programs import host_program

COLLECTOR = "controllers"
NAMESPACE = "garden"
WATCHED = ("configmaps", "secrets", "pods", "services")  # enough to lag behind each other
POLICIES = ("Background", "Foreground", "Orphan")


def cleaning_crew(host: Host, client: Client) -> None:
    add_cleaning(host, client, lambda _where, _error: None, is_wanted=lambda resource: str(resource) in WATCHED)


async def plant_and_cut(world: World) -> None:
    """Plant a few trees, cut some of them in all three ways, plant again in the same places, then clear everything."""
    chance = stream(world.seed, "gardener")
    world.start(COLLECTOR, host_program(world, COLLECTOR, cleaning_crew))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await world.request("POST", "/api/v1/namespaces", namespace)
    planted: list[JsonObject] = []
    for number in range(10):
        owners = chance.sample(planted, k=min(len(planted), chance.choice((0, 1, 1, 2))))
        planted.append(await plant(world, number, owners))
    await asyncio.sleep(chance.uniform(0.0, 10.0))
    for tree in chance.sample(planted, k=4):
        await cut(world, tree, chance.choice(POLICIES))
        await asyncio.sleep(chance.uniform(0.0, 4.0))
        await replant(world, tree)
    await world.until("every object has its owners or none", lambda: not leftovers(world.state))
    await world.until_quiet()
    await world.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    await world.until("the namespace is gone", lambda: world.state.get("namespaces", "", NAMESPACE) is None)
    await world.until_quiet()


async def plant(world: World, number: int, owners: list[JsonObject]) -> JsonObject:
    """Every other one is a Secret: watches of two resources overtake each other."""
    kind = "Secret" if number % 2 else "ConfigMap"
    references = [
        {
            "apiVersion": "v1",
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        for owner in owners
    ]
    tree = {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"p{number}", "ownerReferences": references}}
    made: JsonObject = await world.request("POST", _path(kind), tree)
    return made


async def cut(world: World, tree: JsonObject, policy: str) -> None:
    with suppress(NotFoundError, ConflictError):  # an owner took it along
        await world.request(
            "DELETE", f"{_path(tree['kind'])}/{tree['metadata']['name']}", {"propagationPolicy": policy}
        )


async def replant(world: World, tree: JsonObject) -> None:
    """The same name, another object, and nobody owns it: the collector must never touch it."""
    fresh = {"apiVersion": "v1", "kind": tree["kind"], "metadata": {"name": tree["metadata"]["name"]}}
    with suppress(AlreadyExistsError):
        await world.request("POST", _path(tree["kind"]), fresh)


def _path(kind: str) -> str:
    return f"/api/v1/namespaces/{NAMESPACE}/{kind.lower()}s"


def _plants(state: State) -> list[JsonObject]:
    return [*state.all("configmaps"), *state.all("secrets")]


def leftovers(state: State) -> list[str]:
    """Objects that wait for the collector, and objects that name owners who are gone."""
    uids = {tree["metadata"]["uid"] for tree in _plants(state)}
    return [
        tree["metadata"]["name"]
        for tree in _plants(state)
        if "deletionTimestamp" in tree["metadata"] or _has_lost_an_owner(tree, uids)
    ]


def _has_lost_an_owner(tree: JsonObject, uids: set[str]) -> bool:
    owners = tree["metadata"].get("ownerReferences", [])
    return any(owner["uid"] not in uids for owner in owners)


def only_garbage_goes(state: State) -> str | None:
    """The collector asks nothing to go that nobody owns, nor what an owner holds that nobody asked to go."""
    if state.last is None or state.by != COLLECTOR or _is_clearing(state):
        return None
    plural, after, before = state.last
    if plural not in ("configmaps", "secrets") or before is None or "deletionTimestamp" in before["metadata"]:
        return None
    name = after["metadata"]["name"]
    if "deletionTimestamp" not in after["metadata"] and state.get(plural, NAMESPACE, name) is not None:
        return None
    owners = before["metadata"].get("ownerReferences", [])
    if not owners:
        return f"{name} was deleted although nobody ever owned it"
    living = {tree["metadata"]["uid"] for tree in _plants(state) if "deletionTimestamp" not in tree["metadata"]}
    holders = [owner["name"] for owner in owners if owner["uid"] in living]
    return f"{name} was deleted although {holders} live" if holders else None


def _is_clearing(state: State) -> bool:
    namespace = state.get("namespaces", "", NAMESPACE)
    return namespace is None or "deletionTimestamp" in namespace["metadata"]


def summary(objects: Mapping[str, JsonObject]) -> object:
    return sorted(key for key in objects if key.startswith(("configmaps/", "secrets/", "namespaces/")))


GARBAGE = Case(
    name="garbage",
    scenario=plant_and_cut,
    invariants=(only_garbage_goes,),
    program=COLLECTOR,
    summary=summary,
)
