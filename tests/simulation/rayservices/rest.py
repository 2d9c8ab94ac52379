"""What a world of RayServices at rest looks like: one cluster of the spec's, which serves what the spec asks for.

L1: in bounded time after the last fault. V2: no other cluster is left. V5: the last spec counts. C13: the status tells
the truth. C14: idle means silence.
"""

import asyncio
from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.state import State
from heliostat.testing.simulation.world import Violation, World
from simulation.rayclusters.reading import controller_uid, find_group, groups_of, is_terminating, name_of, uid_of
from simulation.rayservices.reading import (
    ACTIVE,
    PENDING,
    clusters_of,
    condition,
    image_of,
    is_never_upgraded,
    named,
    route_in,
    status_of,
    version_of,
)
from simulation.rayservices.serves import endpoints_of, serves_of

REST_SECONDS = 600.0
IDLE_SECONDS = 45.0


async def come_to_rest(world: World) -> None:
    # Where a clock was wrong, what is due by it is due as much later.
    deadline = world.time() + REST_SECONDS
    while unrest := next(find_unrest(world.state), None):
        if world.time() > deadline + world.state.skew:
            raise Violation(f"L1: {REST_SECONDS:.0f} s after the last step: {unrest}")
        await asyncio.sleep(0.5)
    await world.until_quiet(IDLE_SECONDS, IDLE_SECONDS * 6)
    for unrest in find_unrest(world.state):
        raise Violation(f"L1: it was at rest, and then: {unrest}")


def find_unrest(state: State) -> Iterator[str]:
    services = {uid_of(service): service for service in state.all("rayservices")}
    for service in services.values():
        yield from find_unrest_of(state, service)
    ever = {uid_of(service) for service in state.ever("rayservices")}
    for plural in ("rayclusters", "services"):
        for tree in state.all(plural):
            if controller_uid(tree) in ever - services.keys():
                yield f"C7: {plural}/{name_of(tree)} is left of a RayService that is gone"
    clusters = {uid_of(cluster) for cluster in state.all("rayclusters")}
    for pod in state.all("pods"):
        if controller_uid(pod) not in clusters:
            yield f"C7: Pod {name_of(pod)} is left of a RayCluster that is gone"


def find_unrest_of(state: State, service: JsonObject) -> Iterator[str]:
    if is_terminating(service):
        yield f"C7: {name_of(service)} is still being deleted"
    elif service["spec"].get("suspend"):
        yield from _find_unsuspended(state, service)
    elif condition(service, "Ready")[1] == "InitializingTimeout":
        yield from (
            f"V2: {name_of(tree)} is left of a service that was given up" for tree in clusters_of(state, service)
        )
    else:
        yield from _find_not_serving(state, service)


def _find_unsuspended(state: State, service: JsonObject) -> Iterator[str]:
    name = name_of(service)
    yield from (f"C9: {name_of(tree)} is there, and {name} is suspended" for tree in clusters_of(state, service))
    if condition(service, "Suspended")[0] != "True":
        yield f"C9: {name} does not say that it is suspended"


def _find_not_serving(state: State, service: JsonObject) -> Iterator[str]:
    name, clusters = name_of(service), clusters_of(state, service)
    active = named(service, ACTIVE)
    if [name_of(cluster) for cluster in clusters] != [active]:
        yield f"V2: {name} has {sorted(map(name_of, clusters))}, and {active or 'none'} is active"
        return
    if pending := named(service, PENDING):
        yield f"V2: {name} still waits for {pending}"
    yield from _find_other_spec(service, clusters[0])
    for tree in state.controlled_by("services", uid_of(service)):
        if route_in(tree) != active:
            yield f"V1: Service {name_of(tree)} leads to {route_in(tree)}, and {active} is active"
    yield from _find_other_applications(state, service, active)
    yield from _find_untrue_status(state, service, active)


def _find_other_spec(service: JsonObject, cluster: JsonObject) -> Iterator[str]:
    """V5"""
    if is_never_upgraded(service["spec"]):
        return
    wanted, there = service["spec"]["rayClusterConfig"], cluster["spec"]
    if image_of(there) != image_of(wanted):
        yield f"V5: {name_of(cluster)} is of {image_of(there)}, and {image_of(wanted)} is asked for"
    for group in groups_of(wanted):
        if find_group(there, group["groupName"]) is None:
            yield f"V5: {name_of(cluster)} has no group {group['groupName']}"


def _find_other_applications(state: State, service: JsonObject, cluster: str) -> Iterator[str]:
    """What cannot be read is not asked for: then the one before stays."""
    wanted, serves = version_of(service), serves_of(state)
    for head in serves.heads_of(cluster):
        if wanted and serves.version_at(head) != wanted:
            yield f"V5: {cluster} runs {serves.version_at(head) or 'nothing'}, and {wanted} is asked for"


def _find_untrue_status(state: State, service: JsonObject, cluster: str) -> Iterator[str]:
    name, status = name_of(service), status_of(service)
    endpoints = len(endpoints_of(state, cluster))
    if status.get("numServeEndpoints", 0) != endpoints or not endpoints:
        yield f"C13: {name} tells of {status.get('numServeEndpoints', 0)} endpoints, and there are {endpoints}"
    if condition(service, "Ready")[0] != "True":
        yield f"C13: {name} is not ready: {condition(service, 'Ready')}"
    if condition(service, "UpgradeInProgress")[0] == "True":
        yield f"C13: {name} says that an upgrade goes on"
    applications = (status.get(ACTIVE) or {}).get("applicationStatuses") or {}
    if version_of(service) and [each.get("status") for each in applications.values()] != ["RUNNING"]:
        yield f"C13: {name} tells {applications} of its applications"
