"""An upgrade in steps: the pending cluster gets capacity, then requests, and the active one gives both up (§6).

The route alone says where requests go: the status tells what it was seen to say, and what nobody of us put there is put
right. Both clusters, the Gateway and the route are stages of their own. Serve being silent on one cluster keeps neither
requests nor the capacity of the other one from moving. Without an active cluster nothing has to be split.
Differs from KubeRay: rayservice-incremental-lost.
"""

from heliostat.api.markers import JsonObject
from heliostat.desired.rayservice.names import choose_cluster_name
from heliostat.kube.lookups import Found
from heliostat.plan.draft import Draft
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.clusters import ClusterChoice, ClusterInputs
from heliostat.plan.rayservice.gateway import (
    find_route,
    find_used,
    plan_cluster_service,
    plan_gateway,
    plan_route,
    read_weights,
)
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, Look, ObservedService
from heliostat.plan.rayservice.reports import ROLLBACK_IMPOSSIBLE
from heliostat.plan.rayservice.routing import follow_services
from heliostat.plan.rayservice.serving import Order, ServeSight, plan_serve
from heliostat.plan.rayservice.shares import ALL
from heliostat.plan.rayservice.slots import Slot, read_slot
from heliostat.plan.rayservice.steps import plan_steps


def plan_incremental(draft: Draft, look: Look, inputs: ClusterInputs, choice: ClusterChoice) -> statuses.Shown:
    """What the status should say; what has to be written for it goes into the draft."""
    observed = look.observed
    for role, found in (("active", observed.find_active()), ("pending", observed.find_pending())):
        if isinstance(found, dict):
            draft.add(f"{role}-serve-service", plan_cluster_service(observed, found))
    draft.add("gateway", plan_gateway(observed))
    if inputs.has_active and inputs.has_pending:
        return plan_steps(draft, look, inputs)
    return _plan_first(draft, look, choice) if inputs.has_pending else _plan_settled(draft, look, choice)


def _plan_first(draft: Draft, look: Look, choice: ClusterChoice) -> statuses.Shown:
    """No other cluster can serve: it gets everything, and is the active one as soon as its applications run."""
    observed, slot = look.observed, read_slot(look.observed, PENDING)
    if observed.active_name and slot.capacity != ALL:
        draft.tell(ROLLBACK_IMPOSSIBLE)
    if choice is ClusterChoice.NEW:
        return _name_next(observed, read_slot(observed, ACTIVE).shown(), ALL)
    serve = _serve(draft, look, observed.find_pending(), Order(_find_capacity(look, slot)))
    pending = slot.showing(serve).having(ALL).shown()
    if serve is None or not serve.is_ready:
        return _show(observed, read_slot(observed, ACTIVE).shown(), pending)
    follow_services(draft, observed, slot.name, look.settings)
    return _show(observed, pending, statuses.EMPTY_SLOT)


def _find_capacity(look: Look, slot: Slot) -> int:
    """All of it; but what serves with a part of it takes the requests first, and grows then."""
    if not slot.capacity or slot.cluster is None:
        return ALL
    return slot.capacity if plan_serve(look, slot.cluster, Order(slot.capacity)).is_ready else ALL


def _plan_settled(draft: Draft, look: Look, choice: ClusterChoice) -> statuses.Shown:
    """The active cluster has all requests; none when it was lost and another one has to be named."""
    observed, slot = look.observed, read_slot(look.observed, ACTIVE)
    active = observed.find_active()
    if not isinstance(active, dict):
        return _name_next(observed, slot.shown(), 0 if slot.name else ALL)
    if find_used(find_route(observed)) <= {slot.name} or observed.endpoints:  # where it leads now, somebody answers
        draft.add("route", plan_route(observed, ((slot.name, ALL),)))
    follow_services(draft, observed, slot.name, look.settings)
    route = find_route(observed)
    if isinstance(route, dict) and read_weights(route, (slot.name,)) == {slot.name: ALL}:
        slot = slot.seen(ALL, look.now)
    if choice is ClusterChoice.NEW:  # the configuration is for another cluster
        return _name_next(observed, slot.showing(ServeSight.nothing()).shown(), 0)
    serve = _serve(draft, look, active, Order(slot.capacity, keeps_config=choice is ClusterChoice.GIVEN_UP))
    return _show(observed, slot.showing(serve).shown(), statuses.EMPTY_SLOT)


def _serve(draft: Draft, look: Look, cluster: Found, order: Order) -> ServeSight | None:
    if not isinstance(cluster, dict):
        return None
    serve = plan_serve(look, cluster, order)
    draft.add("serve", serve.part)
    return serve


def _name_next(observed: ObservedService, active: JsonObject, capacity: int) -> statuses.Shown:
    name = choose_cluster_name(observed.service, observed.active_name, observed.pending_name)
    return _show(observed, active, Slot(name=name, capacity=capacity).shown(), introduces=(name,))


def _show(
    observed: ObservedService, active: JsonObject, pending: JsonObject, introduces: tuple[str, ...] = ()
) -> statuses.Shown:
    endpoints = statuses.known_endpoints(observed)
    return statuses.Shown(active=active, pending=pending, endpoints=endpoints, introduces=introduces)
