"""StatefulSets in trouble: scaled, updated, Pods deleted under them, the controller dying all the while."""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress

from heliostat.embedded.controllers.statefulsets.reconciler import StatefulSetReconciler
from heliostat.embedded.controllers.views.pods import POD
from heliostat.embedded.controllers.views.statefulsets import STATEFUL_SET
from heliostat.embedded.controllers.views.volume_claims import CLAIM
from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.client import Client
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.host import Host
from heliostat.testing.simulation.chance import stream
from heliostat.testing.simulation.exploration import Case
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import World
from simulation.kubelet import MERGE
from simulation.programs import host_program

CONTROLLER = "controllers"
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
PODS = "/api/v1/namespaces/default/pods"
LABELS = {"app": "db"}


def stateful_set(replicas: int) -> JsonObject:
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": LABELS},
            "template": build_template("a"),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": storage}],
        },
    }


def build_template(image: str) -> JsonObject:
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": image}]}}


def stateful_set_crew(host: Host, client: Client) -> None:
    for resource in (STATEFUL_SET, POD, CLAIM):
        host.types.add(resource)
    host.add(StatefulSetReconciler(host.caches))


async def scale_update_and_lose(world: World) -> None:
    """In the end two Pods of the last template."""
    world.start(CONTROLLER, host_program(world, CONTROLLER, stateful_set_crew))
    chance = stream(world.seed, "user")
    world.spawn(make_ready(world))
    await world.request("POST", SETS, stateful_set(2))
    steps = (scale_somehow, update, lose_a_pod) if chance.random() < 0.5 else (scale_somehow, update)
    for _ in range(4):
        await asyncio.sleep(chance.uniform(0.0, 8.0))
        await chance.choice(steps)(world, chance)
    await change(world, {"replicas": 2, "template": build_template("last")})
    await world.until("two Pods of the last template, and told", lambda: is_settled(world.state))
    await world.until_quiet()


async def make_ready(world: World) -> None:
    """A node of one wish: every Pod becomes ready after a while, and stays so."""
    chance = stream(world.seed, "node")
    while True:
        await asyncio.sleep(chance.uniform(0.2, 2.0))
        waiting = [pod for pod in world.state.all("pods") if not pod.get("status", {}).get("conditions")]
        if waiting:
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            with suppress(NotFoundError):
                name = chance.choice(waiting)["metadata"]["name"]
                await world.request("PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE)


async def scale_somehow(world: World, chance: random.Random) -> None:
    await change(world, {"replicas": chance.randint(0, 3)})


async def update(world: World, chance: random.Random) -> None:
    await change(world, {"template": build_template(chance.choice("abc"))})


async def lose_a_pod(world: World, chance: random.Random) -> None:
    pods = list(world.state.all("pods"))
    if pods:
        name = chance.choice(pods)["metadata"]["name"]
        with suppress(NotFoundError):
            await world.request("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})


async def change(world: World, spec: JsonObject) -> None:
    await world.request("PATCH", f"{SETS}/db", {"spec": spec}, MERGE)


def is_settled(state: State) -> bool:
    owner = state.get("statefulsets", "default", "db") or {}
    status = owner.get("status", {})
    images = {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"]
        for pod in state.all("pods")
        if not pod["metadata"].get("deletionTimestamp")
    }
    is_told = status.get("readyReplicas") == status.get("updatedReplicas") == status.get("replicas") == 2
    return images == {"db-0": "last", "db-1": "last"} and is_told


def never_beyond_what_is_wanted(state: State) -> str | None:
    """The controller never makes a number that no spec asks for which it may be acting on."""
    made = _made_by_controller(state)
    for owner in state.all("statefulsets"):
        most = max(spec["replicas"] for spec in state.admissible_specs(owner))
        if made is not None and made >= most:
            return f"number {made} was made, at most {most} were wanted"
    return None


def never_out_of_order(state: State) -> str | None:
    """The controller makes no Pod before those below it are there, where nobody else deletes."""
    made = _made_by_controller(state)
    if made is None or any(by != CONTROLLER for by in state.deleters("pods")):
        return None
    there = {pod["metadata"]["name"] for pod in state.all("pods")}
    missing = [number for number in range(made) if f"db-{number}" not in there]
    return f"number {made} was made before {missing}" if missing else None


def never_without_its_volume(state: State) -> str | None:
    made = _made_by_controller(state)
    if made is None or state.get("persistentvolumeclaims", "default", f"data-db-{made}") is not None:
        return None
    return f"number {made} was made before its claim"


def _made_by_controller(state: State) -> int | None:
    """The number of the Pod that the last write made, if it was the controller's."""
    if state.by != CONTROLLER or state.last is None or state.last[0] != "pods" or state.last[2] is not None:
        return None
    return int(state.last[1]["metadata"]["name"].rpartition("-")[2])


def summary(objects: Mapping[str, JsonObject]) -> object:
    status = objects["statefulsets/default/db"]["status"]
    return sorted(key for key in objects if key.startswith("pods/")), status["replicas"], status["updatedReplicas"]


STATEFULSETS = Case(
    name="statefulsets",
    scenario=scale_update_and_lose,
    invariants=(never_beyond_what_is_wanted, never_out_of_order, never_without_its_volume),
    program=CONTROLLER,
    summary=summary,
)
