"""What must hold for RayServices at every revision, as functions over the whole state. Each names itself by its id.

They look at the write that was just carried out, and compare it with what Serve has told: it can have been seen.
"""

from collections.abc import Iterator

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.testing.simulation.state import State
from simulation.rayclusters.laws_of_clusters import only_the_leader_writes
from simulation.rayclusters.reading import controller_uid, groups_of, is_terminating, label, name_of, uid_of
from simulation.rayclusters.writes import changed, created, written
from simulation.rayservices.gateways import ROUTES, targets_of, weights_in
from simulation.rayservices.reading import (
    ACTIVE,
    PENDING,
    condition,
    delay_of,
    find_service,
    image_of,
    is_endpoint,
    is_serve_service,
    named,
    pace_of,
    route_in,
    route_of,
    status_of,
    version_of,
)
from simulation.rayservices.serves import serves_of

SLACK = 1.5  # seconds: times are told in whole ones


class Books(Struct):
    """What was, and cannot be read from what is: kept by ``books_are_kept``."""

    routed: dict[str, float] = {}  # by RayCluster: when requests last went there
    moved: dict[str, float] = {}  # by RayService: when weights last moved
    endpoints: set[str] = set()  # RayClusters that have had a Pod for requests


def books_of(state: State) -> Books:
    found: Books = state.beside.setdefault("books", Books())
    return found


def books_are_kept(state: State) -> str | None:
    """V0"""
    if state.last is None:
        return None
    plural, after, before = state.last
    books = books_of(state)
    if plural == "services" and is_serve_service(after):
        for cluster in {route_in(before), route_in(after)} - {""}:
            books.routed[cluster] = serves_of(state).now()
    elif plural == ROUTES:
        for cluster in {*weights_in(before), *weights_in(after)}:
            if weights_in(before).get(cluster) or weights_in(after).get(cluster):
                books.routed[cluster] = serves_of(state).now()
    elif plural == "pods" and is_endpoint(after):
        books.endpoints.add(label(after, "cluster"))
    return None


def requests_go_where_they_are_answered(state: State) -> str | None:
    """V1"""
    found = written(state, "services")
    if found is None or not is_serve_service(found[0]):
        return None
    after, before = found
    cluster, former = route_in(after), route_in(before)
    service = find_service(state, controller_uid(after))
    if service is None or cluster == former:
        return None
    return next(_find_wrong_target(state, service, cluster, former), None)


def _find_wrong_target(state: State, service: JsonObject, cluster: str, former: str) -> Iterator[str]:
    wanted = {version_of({"spec": spec}) for spec in state.admissible_specs(service)}
    seen = serves_of(state).ready.get(cluster, set())
    if not seen & wanted:
        yield f"requests go to {cluster}, where {sorted(seen)} was seen ready and {sorted(wanted)} is asked for"
    is_there = former and state.get("rayclusters", service["metadata"]["namespace"], former) is not None
    if is_there and cluster not in books_of(state).endpoints:
        yield f"requests leave {former} for {cluster}, where no Pod has ever been ready for them"


def the_route_stays_open(state: State) -> str | None:
    """V1"""
    gone = asked_to_go(state)
    service = find_service(state, controller_uid(gone)) if gone is not None else None
    if gone is None or service is None or may_lose_all(service):
        return None
    if name_of(gone) in (route_of(state, name_of(service)), *targets_of(state, name_of(service))):
        return f"{name_of(gone)} goes, and requests go there"
    return None


def asked_to_go(state: State) -> JsonObject | None:
    """The RayCluster that an operator has just deleted, as it was before."""
    found = changed(state, "rayclusters")
    if found is None or is_terminating(found[1]):
        return None
    after, before = found
    is_gone = state.get("rayclusters", after["metadata"]["namespace"], name_of(after)) is None
    return before if is_gone or is_terminating(after) else None


def may_lose_all(service: JsonObject) -> bool:
    """It is deleted, suspended, or given up."""
    is_suspending = condition(service, "Suspending")[0] == "True"
    return is_terminating(service) or is_suspending or condition(service, "Ready")[1] == "InitializingTimeout"


def names_come_first(state: State) -> str | None:
    """V2"""
    cluster = created(state, "rayclusters")
    service = find_service(state, controller_uid(cluster)) if cluster is not None else None
    if cluster is None or service is None or named(service, PENDING) == name_of(cluster):
        return None
    return f"RayCluster {name_of(cluster)} is made, and {name_of(service)} has written {named(service, PENDING)!r} down"


def only_what_is_ready_is_promoted(state: State) -> str | None:
    """V4"""
    found = changed(state, "rayservices")
    if found is None or named(found[0], ACTIVE) in ("", named(found[1], ACTIVE)):
        return None
    cluster = named(found[0], ACTIVE)
    if not serves_of(state).ready.get(cluster):
        return f"{cluster} is called active, and its applications were never seen ready"
    if not pace_of(found[0]) and route_of(state, name_of(found[0])) != cluster:
        return f"{cluster} is called active, and requests go to {route_of(state, name_of(found[0])) or 'nobody'}"
    return None


def requests_move_in_steps(state: State) -> str | None:
    """V3"""
    found = written(state, ROUTES)
    service = find_service(state, controller_uid(found[0])) if found is not None else None
    if found is None or service is None or not pace_of(service) or weights_in(found[0]) == weights_in(found[1]):
        return None
    return next(_find_wrong_step(state, service, weights_in(found[0]), weights_in(found[1])), None)


def _find_wrong_step(state: State, service: JsonObject, after: dict[str, int], before: dict[str, int]) -> Iterator[str]:
    pace, books, now = pace_of(service), books_of(state), serves_of(state).now()
    if sum(after.values()) != 100:
        yield f"the weights are {after}"
    for cluster, weight in after.items():
        if weight > before.get(cluster, 0) and not serves_of(state).ready.get(cluster):
            yield f"{cluster} gets {weight} %, and its applications were never seen ready"
        if weight > before.get(cluster, 0) and before and cluster not in books.endpoints:
            yield f"{cluster} gets {weight} %, and no Pod of it was ever ready for requests"
    if after.keys() != before.keys() or len(after) < 2:
        return
    if any(abs(after[cluster] - before[cluster]) > pace["stepSizePercent"] for cluster in after):
        yield f"the weights go from {before} to {after}, {pace['stepSizePercent']} at once are asked for"
    since = now - books.moved.get(name_of(service), 0.0)
    if since < pace["intervalSeconds"] - SLACK - 2 * state.skew:
        yield f"requests move {since:.1f} s after the last move, {pace['intervalSeconds']} s are asked for"
    books.moved[name_of(service)] = now


def capacity_stays_within_the_surge(state: State) -> str | None:
    """V3"""
    found = changed(state, "rayservices")
    pace = pace_of(found[0]) if found is not None else {}
    if found is None or not pace:
        return None
    slots = [status_of(found[0]).get(slot) or {} for slot in (ACTIVE, PENDING)]
    if not all("targetCapacity" in slot for slot in slots):
        return None
    both = [slot["targetCapacity"] for slot in slots]
    most = 100 + pace.get("maxSurgePercent", 100)
    return f"capacities are {both}, {most} together are allowed" if sum(both) > most else None


def what_serves_is_not_changed(state: State) -> str | None:
    """V5"""
    found = changed(state, "rayclusters")
    if found is None or find_service(state, controller_uid(found[0])) is None:
        return None
    after, before = found[0]["spec"], found[1]["spec"]
    kept = groups_of(after)[: len(groups_of(before))]
    stamps = [(tree["metadata"].get("annotations") or {}).get("ray.io/kuberay-version") for tree in found]
    if stamps[0] != stamps[1]:
        return None  # another version of the operator takes it over as KubeRay does, with what was edited meanwhile
    if image_of(after) == image_of(before) and list(map(_essence, kept)) == list(map(_essence, groups_of(before))):
        return None
    return f"the spec of {name_of(found[0])} is changed under its requests"


def _essence(group: JsonObject) -> JsonObject:
    counts = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")
    return {key: value for key, value in group.items() if key not in counts}


def the_former_one_stays_a_while(state: State) -> str | None:
    """V7"""
    gone = asked_to_go(state)
    service = find_service(state, controller_uid(gone)) if gone is not None else None
    if gone is None or service is None or may_lose_all(service):
        return None
    name = name_of(gone)
    if name in (named(service, ACTIVE), named(service, PENDING)):
        return f"{name} goes, and the status names it"
    last = books_of(state).routed.get(name)
    if last is None:
        return None
    lived = serves_of(state).now() - last
    if lived < delay_of(service) - SLACK - 2 * state.skew:
        return f"{name} goes {lived:.1f} s after its last request, {delay_of(service)} s were asked for"
    return None


def suspended_means_empty(state: State) -> str | None:
    """C9"""
    found = changed(state, "rayservices")
    if found is None or condition(found[0], "Suspended")[0] != "True" or condition(found[1], "Suspended")[0] == "True":
        return None
    left = [
        f"{plural}/{name_of(tree)}"
        for plural in ("rayclusters", "services")
        for tree in state.controlled_by(plural, uid_of(found[0]))
    ]
    return f"{name_of(found[0])} is Suspended, and {left} are there" if left else None


def statuses_make_sense(state: State) -> str | None:
    """C13"""
    found = changed(state, "rayservices")
    if found is None or status_of(found[0]) == status_of(found[1]):
        return None
    after, before = found
    if status_of(after).get("observedGeneration", 0) < status_of(before).get("observedGeneration", 0):
        return f"{name_of(after)} goes back to generation {status_of(after).get('observedGeneration')}"
    is_ready, is_running = condition(after, "Ready")[0] == "True", status_of(after).get("serviceStatus") == "Running"
    endpoints = status_of(after).get("numServeEndpoints", 0)
    is_refused = condition(after, "Ready")[1] == "ValidationFailed"  # hides neither endpoints nor what runs on
    if (is_ready is not is_running and not is_refused) or (is_ready and not endpoints):
        return f"{name_of(after)} is ready: {is_ready}, running: {is_running}, and has {endpoints} endpoints"
    if named(after, ACTIVE) and named(after, ACTIVE) == named(after, PENDING):
        return f"{named(after, ACTIVE)} is both active and pending"
    return None


LAWS = (
    books_are_kept, requests_go_where_they_are_answered, the_route_stays_open, names_come_first,
    only_what_is_ready_is_promoted, requests_move_in_steps, capacity_stays_within_the_surge,
    what_serves_is_not_changed, the_former_one_stays_a_while, suspended_means_empty, statuses_make_sense,
    only_the_leader_writes,
)  # fmt: skip
