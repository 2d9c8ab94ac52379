"""Who carries out the Gateway API in a simulated world: everything is accepted a moment after it changed.

What a route says at the server is what requests follow; nothing is simulated beyond that.
"""

import asyncio
from contextlib import suppress

from heliostat.kube.conditions import build_condition
from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.errors import ApiError
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import World
from simulation.kubelet import MERGE
from simulation.rayclusters.manifests import NAMESPACE
from simulation.rayclusters.reading import name_of

GATEWAYS, ROUTES = "gateways", "httproutes"
LOOK_SECONDS = 1.0
SERVE = "-serve-svc"
_PATH = f"/apis/gateway.networking.k8s.io/v1/namespaces/{NAMESPACE}"
_SINCE = "2027-01-01T00:00:00Z"


async def run_gateways(world: World) -> None:
    """Until the world ends."""
    seen: dict[str, int] = {}
    while True:
        for plural in (GATEWAYS, ROUTES):
            for tree in list(world.state.all(plural)):
                metadata = tree["metadata"]
                if seen.get(metadata["uid"]) != metadata["generation"]:
                    seen[metadata["uid"]] = metadata["generation"]
                    await _accept(world, plural, tree)
        await asyncio.sleep(LOOK_SECONDS)


async def _accept(world: World, plural: str, tree: JsonObject) -> None:
    types = ("Accepted", "Programmed") if plural == GATEWAYS else ("Accepted", "ResolvedRefs")
    conditions = [
        build_condition(type_, "True", type_, "", tree["metadata"]["generation"]) | {"lastTransitionTime": _SINCE}
        for type_ in types
    ]
    status: JsonObject = {"conditions": conditions}
    if plural == ROUTES:
        seen = {"controllerName": "sim/gateway", "conditions": conditions}
        status = {"parents": [{"parentRef": each, **seen} for each in tree["spec"]["parentRefs"]]}
    with suppress(ApiError):  # it is gone
        await world.request("PATCH", f"{_PATH}/{plural}/{name_of(tree)}/status", {"status": status}, MERGE)


def weights_in(route: JsonObject | None) -> dict[str, int]:
    """By RayCluster, in percent."""
    rules = ((route or {}).get("spec") or {}).get("rules") or ()
    return {
        str(end["name"]).removesuffix(SERVE): int(end.get("weight", 1))
        for rule in rules
        for end in rule.get("backendRefs") or ()
    }


def targets_of(state: State, service: str) -> list[str]:
    """The clusters that the route of a service sends requests to."""
    weights = weights_in(state.get(ROUTES, NAMESPACE, f"{service}-httproute"))
    return [cluster for cluster, weight in weights.items() if weight]
