"""An upgrade as a whole: requests move to the pending cluster at once, when it can take them (NewCluster).

The serve Service alone says where requests go; the status follows it.
"""

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.desired.rayservice.names import choose_cluster_name
from heliostat.plan.draft import Draft
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.clusters import ClusterChoice, ClusterInputs
from heliostat.plan.rayservice.comparing import Fit
from heliostat.plan.rayservice.gateway import plan_former_route
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, Look, ObservedService
from heliostat.plan.rayservice.routing import choose_target, plan_services
from heliostat.plan.rayservice.serving import Order, ServeSight, plan_serve


def plan_whole(draft: Draft, look: Look, inputs: ClusterInputs, choice: ClusterChoice) -> statuses.Shown:
    """What the status should say; what has to be written for it goes into the draft."""
    observed = look.observed
    if choice is ClusterChoice.GIVEN_UP:
        inputs = replace(inputs, has_pending=False)
    serve = _plan_serve(draft, look, inputs, choice)
    is_pending_ready = inputs.has_pending and serve.is_ready and choice is not ClusterChoice.NEW
    target, wait = choose_target(observed, is_pending_ready=is_pending_ready)
    draft.add("endpoints", wait)
    plan_services(draft, observed, target, look.settings)
    draft.add("route", plan_former_route(observed))
    if target and target == observed.pending_name and not inputs.is_pending_routed:
        serve = replace(serve, applications=None)  # with the next status it is the active one, and shown as such
    return _show(look, serve, inputs, choice)


def _plan_serve(draft: Draft, look: Look, inputs: ClusterInputs, choice: ClusterChoice) -> ServeSight:
    """Of the pending cluster while there is one. None gets a configuration that is for another cluster.

    A pending cluster that requests go to already is the active one from here on, whatever was edited meanwhile: with
    another spec it keeps what it runs until the next one takes over.
    """
    observed = look.observed
    found = observed.find_pending() if inputs.has_pending else observed.find_active()
    if not isinstance(found, dict) or (choice is ClusterChoice.NEW and not inputs.has_pending):
        return ServeSight.nothing()
    is_outdated = inputs.is_pending_routed and inputs.pending is Fit.OTHER and inputs.are_upgrades_on
    serve = plan_serve(look, found, Order(keeps_config=is_outdated or choice is ClusterChoice.GIVEN_UP))
    # A pending cluster that is about to be replaced gets nothing any more.
    if choice is not ClusterChoice.NEW:
        draft.add("serve", serve.part)
    return serve


def _show(look: Look, serve: ServeSight, inputs: ClusterInputs, choice: ClusterChoice) -> statuses.Shown:
    observed = look.observed
    active, pending = _describe(observed, ACTIVE, serve, inputs), _describe(observed, PENDING, serve, inputs)
    introduces: tuple[str, ...] = ()
    if inputs.is_pending_routed:  # requests go there: it is the active one from here on
        active, pending = pending, statuses.EMPTY_SLOT
    elif choice is ClusterChoice.GIVEN_UP:
        pending = statuses.EMPTY_SLOT
    elif choice is ClusterChoice.NEW:
        name = choose_cluster_name(observed.service, observed.active_name, observed.pending_name)
        pending, introduces = statuses.describe_slot(name, None, {}), (name,)
    return statuses.Shown(
        active=active, pending=pending, endpoints=statuses.known_endpoints(observed), introduces=introduces
    )


def _describe(observed: ObservedService, slot: str, serve: ServeSight, inputs: ClusterInputs) -> JsonObject:
    """Serve is asked of one cluster alone; the applications of the other one are not shown meanwhile."""
    is_pending = slot == PENDING
    name = observed.pending_name if is_pending else observed.active_name
    found = observed.find_pending() if is_pending else observed.find_active()
    told = serve.applications if is_pending is inputs.has_pending else {}
    kept: JsonObject = (observed.status.get(slot) or {}).get("applicationStatuses") or {}
    return statuses.describe_slot(name, found if isinstance(found, dict) else None, kept if told is None else told)
