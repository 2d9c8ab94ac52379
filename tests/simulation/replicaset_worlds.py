"""ReplicaSets in trouble: created, scaled, Pods deleted under them, the controller dying all the while."""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress

from heliostat.embedded.controllers.replicasets.reconciler import ReplicaSetReconciler
from heliostat.embedded.controllers.views.pods import POD
from heliostat.embedded.controllers.views.replicasets import REPLICA_SET
from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.client import Client
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.host import Host
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.exploration import Case
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Life, World
from simulation.kubelet import MERGE
from simulation.programs import host_program, leading_program

CONTROLLER = "controllers"
LEADERS = ("a", "b")
CONTROLLERS = (CONTROLLER, *LEADERS)
SETS = "/apis/apps/v1/namespaces/default/replicasets"
PODS = "/api/v1/namespaces/default/pods"


def replica_set(name: str, replicas: int) -> JsonObject:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "busybox"}]},
            },
        },
    }


def replica_set_crew(host: Host, client: Client) -> None:
    host.types.add(REPLICA_SET)
    host.types.add(POD)
    host.add(ReplicaSetReconciler(host.caches))


async def with_one_controller(world: World) -> None:
    world.start(CONTROLLER, host_program(world, CONTROLLER, replica_set_crew))
    await scale_and_lose(world)


async def with_two_leaders(world: World) -> None:
    """Two of them, and each is killed once besides what the faults do."""
    lives = [world.start(name, leading_program(world, name, replica_set_crew)) for name in LEADERS]
    world.spawn(_kill(world, lives))
    await scale_and_lose(world)


async def _kill(world: World, lives: list[Life]) -> None:
    chance = stream(world.seed, "killer")
    for life in chance.sample(lives, k=len(lives)):
        await asyncio.sleep(chance.uniform(10.0, 40.0))
        life.kill()


async def scale_and_lose(world: World) -> None:
    """Up and down, Pods lost on the way, their readiness coming and going; in the end two."""
    chance = stream(world.seed, "user")
    churning = world.spawn(churn(world))
    await world.request("POST", SETS, replica_set("a", 3))
    steps = (scale_somehow, lose_a_pod) if chance.random() < 0.5 else (scale_somehow,)
    for _ in range(8):
        await asyncio.sleep(chance.uniform(0.0, 8.0))
        await chance.choice(steps)(world, chance)
    await scale(world, "a", 2)
    await world.until("two Pods, and told", lambda: has_two(world.state))
    churning.cancel()
    await world.until_quiet()
    if not has_two(world.state):  # it was quiet because nobody led
        await world.until("two Pods, and told, when somebody leads again", lambda: has_two(world.state))
        await world.until_quiet()


async def churn(world: World) -> None:
    """Pods become ready and unready, so that no two views are the same."""
    chance = stream(world.seed, "churn")
    while True:
        await asyncio.sleep(chance.uniform(0.2, 2.0))
        pods = list(world.state.all("pods"))
        if pods:
            pod = chance.choice(pods)
            ready = {"type": "Ready", "status": chance.choice(("True", "False"))}
            with suppress(NotFoundError):
                await world.request("PATCH", f"{PODS}/{pod['metadata']['name']}/status", _status([ready]), MERGE)


def _status(conditions: list[JsonObject]) -> JsonObject:
    return {"status": {"phase": "Running", "conditions": conditions}}


async def scale_somehow(world: World, chance: random.Random) -> None:
    await scale(world, "a", chance.randint(0, 5))


async def lose_a_pod(world: World, chance: random.Random) -> None:
    pods = list(world.state.all("pods"))
    if pods:
        name = chance.choice(pods)["metadata"]["name"]
        with suppress(NotFoundError):
            await world.request("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})


async def scale(world: World, name: str, replicas: int) -> None:
    await world.request("PATCH", f"{SETS}/{name}", {"spec": {"replicas": replicas}}, MERGE)


def has_two(state: State) -> bool:
    return live(state, "a") == told(state, "a") == 2


def live(state: State, name: str) -> int:
    owner = state.get("replicasets", "default", name)
    return 0 if owner is None else len(_live_pods(state, owner))


def told(state: State, name: str) -> int:
    owner = state.get("replicasets", "default", name) or {}
    return int(owner.get("status", {}).get("replicas", 0))


def _live_pods(state: State, owner: JsonObject) -> list[JsonObject]:
    pods = state.controlled_by("pods", owner["metadata"]["uid"])
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def never_too_many(state: State) -> str | None:
    """Never more live Pods than some spec asks for that the controller may be acting on."""
    if state.by not in CONTROLLERS:
        return None
    for owner in state.all("replicasets"):
        most = max(spec["replicas"] for spec in state.admissible_specs(owner))
        pods = _live_pods(state, owner)
        if len(pods) > most and state.last is not None and state.last[0] == "pods" and state.last[2] is None:
            return f"{len(pods)} live Pods, at most {most} were wanted"
    return None


def never_too_few(state: State) -> str | None:
    """The controller never deletes below what every such spec asks for, where nobody else deletes."""
    if state.by not in CONTROLLERS or state.last is None or state.last[0] != "pods" or state.last[2] is None:
        return None
    if any(by not in CONTROLLERS for by in state.deleters("pods")):
        return None  # what somebody took away may still be in its view
    for owner in state.all("replicasets"):
        least = min(spec["replicas"] for spec in state.admissible_specs(owner))
        pods = _live_pods(state, owner)
        if len(pods) < least:
            return f"the controller deleted down to {len(pods)} live Pods, at least {least} were wanted"
    return None


def summary(objects: Mapping[str, JsonObject]) -> object:
    pods = sum(key.startswith("pods/") for key in objects)
    return pods, objects["replicasets/default/a"]["status"]["replicas"]


REPLICASETS = Case(
    name="replicasets",
    scenario=with_one_controller,
    invariants=(never_too_many, never_too_few),
    program=CONTROLLER,
    summary=summary,
)

LEADERS_CASE = Case(
    name="leaders",
    scenario=with_two_leaders,
    invariants=(never_too_many, never_too_few),
    program="a",
    summary=summary,
)
