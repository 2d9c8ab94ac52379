"""An upgrade as a whole: requests move to the pending cluster at once, when it can take them (NewCluster).

The serve Service alone says where requests go; the status follows it.
"""

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.desired.rayservice.names import choose_cluster_name
from heliostat.plan.draft import Draft
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.clusters import Sight, Verdict
from heliostat.plan.rayservice.look import Look
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, ObservedService
from heliostat.plan.rayservice.routing import choose_target, plan_services
from heliostat.plan.rayservice.serving import Order, ServeSight, plan_serve


def plan_whole(draft: Draft, look: Look, sight: Sight, verdict: Verdict) -> statuses.Shown:
    """What the status should say; what has to be written for it goes into the draft."""
    observed = look.observed
    if verdict is Verdict.GIVEN_UP:
        sight = replace(sight, has_pending=False)
    serve = _plan_serve(draft, look, sight, verdict)
    is_pending_ready = sight.has_pending and serve.is_ready and verdict is not Verdict.NEW
    target, hindered = choose_target(observed, is_pending_ready=is_pending_ready)
    draft.add("endpoints", hindered)
    plan_services(draft, observed, target, look.settings)
    if target and target == observed.pending_name and not sight.is_pending_routed:
        serve = replace(serve, applications=None)  # with the next status it is the active one, and shown as such
    return _show(look, serve, sight, verdict)


def _plan_serve(draft: Draft, look: Look, sight: Sight, verdict: Verdict) -> ServeSight:
    """Of the pending cluster while there is one; the active one gets no configuration that is for another cluster."""
    observed = look.observed
    found = observed.find_pending() if sight.has_pending else observed.find_active()
    if not isinstance(found, dict) or (verdict is Verdict.NEW and not sight.has_pending):
        return ServeSight.nothing()
    serve = plan_serve(look, found, Order(keeps_config=verdict is Verdict.GIVEN_UP))
    # A pending cluster that is about to be replaced gets nothing any more.
    if verdict is not Verdict.NEW:
        draft.add("serve", serve.part)
    return serve


def _show(look: Look, serve: ServeSight, sight: Sight, verdict: Verdict) -> statuses.Shown:
    observed = look.observed
    active, pending = _describe(observed, ACTIVE, serve, sight), _describe(observed, PENDING, serve, sight)
    introduces: tuple[str, ...] = ()
    if sight.is_pending_routed:  # requests go there: it is the active one from here on
        active, pending = pending, statuses.EMPTY_SLOT
    elif verdict is Verdict.GIVEN_UP:
        pending = statuses.EMPTY_SLOT
    elif verdict is Verdict.NEW:
        name = choose_cluster_name(observed.service, observed.active_name, observed.pending_name)
        pending, introduces = statuses.describe_slot(name, None, {}), (name,)
    return statuses.Shown(
        active=active, pending=pending, endpoints=statuses.known_endpoints(observed), introduces=introduces
    )


def _describe(observed: ObservedService, slot: str, serve: ServeSight, sight: Sight) -> JsonObject:
    """Serve is asked of one cluster alone; the applications of the other one are not shown meanwhile."""
    is_pending = slot == PENDING
    name = observed.pending_name if is_pending else observed.active_name
    found = observed.find_pending() if is_pending else observed.find_active()
    told = serve.applications if is_pending is sight.has_pending else {}
    kept: JsonObject = (observed.status.get(slot) or {}).get("applicationStatuses") or {}
    return statuses.describe_slot(name, found if isinstance(found, dict) else None, kept if told is None else told)
