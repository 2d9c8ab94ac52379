"""One reconcile of a RayService as a value: what to write now, why, and what is waited for (rayservice.md §2).

Order: whose service is it, is it being deleted, is the spec accepted, is it suspended, has it been given up; then its
clusters, the heads' labels, Serve, the Services and the status. Stages are independent: an error in one keeps no other
from being carried out, least of all the Services that requests go through.
"""

from msgspec import Struct
from msgspec.structs import replace

from heliostat.api.cluster_features import is_managed_here
from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.api.validation.service import is_incremental_upgrade
from heliostat.api.validation.verdict import event_of
from heliostat.desired.rayservice.names import choose_cluster_name
from heliostat.kube.conditions import FALSE
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Plan, Wait
from heliostat.kube.problems import Problem
from heliostat.plan.because import Hold as CommonHold
from heliostat.plan.draft import NOTHING, Draft, Part, wait_beside
from heliostat.plan.ensure import wait_for_knowledge
from heliostat.plan.rayservice import deletion, suspend
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.clusters import Sight, Verdict, decide_clusters, look_at_clusters, plan_clusters
from heliostat.plan.rayservice.head_label import plan_head_label
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, ObservedService, Remembered
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import initializing_timeout
from heliostat.plan.rayservice.routing import choose_target, plan_services
from heliostat.plan.rayservice.serving import Health, ServeSight, plan_serve
from heliostat.plan.rayservice.unused import plan_unused


class Look(Struct, frozen=True):
    """All that a service is decided from."""

    observed: ObservedService
    settings: Settings
    remembered: Remembered
    now: float


def plan_service(
    observed: ObservedService, settings: Settings, remembered: Remembered, now: float, *, refusal: Problem | None = None
) -> Plan:
    service, draft = observed.service, Draft()
    if not is_managed_here(service.spec.managed_by):
        by = f"spec.managedBy is {service.spec.managed_by!r}"
        draft.add(
            "managed-by", wait_beside(CommonHold.MANAGED_ELSEWHERE, by, "the controller named there is done with it")
        )
        return draft.finish()
    if service.metadata.deletion_timestamp:
        deletion.plan_deletion(draft, observed)
        return draft.finish()
    finalizer = deletion.plan_finalizer(service)
    draft.add("finalizer", finalizer)
    if finalizer.actions:
        return draft.finish()  # it moves the version that a status write would have to name
    draft.add("unused", plan_unused(observed, now))
    if refusal is not None:
        return _plan_refused(draft, observed, refusal, now)
    return _plan_accepted(draft, Look(observed, settings, remembered, now))


def _plan_refused(draft: Draft, observed: ObservedService, refusal: Problem, now: float) -> Plan:
    """What runs is left alone: a bad edit touches no service."""
    metadata = observed.service.metadata
    told = event_of(refusal, metadata.namespace, metadata.name) if refusal.reason else None
    waits = (Wait(CommonHold.REFUSED, str(refusal), refusal.fix),)
    draft.add("refusal", Part(events=(told,) if told is not None else (), waits=waits))
    message = told.note.removeprefix(f"{metadata.namespace}/{metadata.name}: ") if told is not None else str(refusal)
    status = {ACTIVE: statuses.EMPTY_SLOT, PENDING: statuses.EMPTY_SLOT, **observed.status}
    new = statuses.tidy(statuses.put_condition(status, statuses.READY, FALSE, "ValidationFailed", message, now))
    return draft.finish(status=statuses.write_status(observed, new, Because.REFUSED, now))


def _plan_accepted(draft: Draft, look: Look) -> Plan:
    observed, now = look.observed, look.now
    phase = suspend.decide_phase(observed)
    if phase is suspend.Phase.RESUMES:
        tree = {**observed.tree, "status": suspend.resume(observed, now)}
        return _plan_living(draft, replace(look, observed=replace(observed, tree=tree)), observed)
    if phase is not suspend.Phase.RUNS:
        new = suspend.plan_suspend(draft, observed, phase, now)
        return draft.finish(status=statuses.write_status(observed, new, Because.SUSPENDED, now))
    if statuses.read_condition(observed.status, statuses.READY) == (FALSE, statuses.TIMED_OUT):
        draft.add("timed-out", wait_beside(Hold.TIMED_OUT, "the time to become ready is over", "it is resumed"))
        return draft.finish()
    return _plan_living(draft, look, observed)


def _plan_living(draft: Draft, look: Look, stored: ObservedService) -> Plan:
    """``stored`` has the status that the server keeps."""
    observed, now = look.observed, look.now
    if is_incremental_upgrade(observed.service.spec, look.settings):
        draft.add("strategy", wait_beside(Hold.INCREMENTAL, "spec.upgradeStrategy", "the upgrade type is NewCluster"))
    sight = look_at_clusters(observed, look.settings)
    if isinstance(sight, Unknown):
        draft.add("clusters", wait_for_knowledge("the RayClusters of this RayService", sight))
        return draft.finish()
    draft.add("clusters", plan_clusters(observed, look.settings))
    verdict = decide_clusters(sight)
    if verdict is Verdict.OFF:
        draft.add("upgrade", wait_beside(Hold.UPGRADE_OFF, "spec.rayClusterConfig", "upgrades are turned on"))
    _plan_labels(draft, observed)
    serve = _plan_serve(draft, look, sight, verdict)
    is_pending_ready = bool(observed.pending_name) and serve.is_ready and verdict is not Verdict.NEW
    target, hindered = choose_target(observed, is_pending_ready=is_pending_ready)
    draft.add("endpoints", hindered)
    plan_services(draft, observed, target, look.settings)
    if target and target == observed.pending_name and not sight.is_pending_routed:
        serve = replace(serve, applications=None)  # with the next status it is the active one, and shown as such
    shown = _show(look, serve, sight, verdict)
    new = statuses.build_status(observed, shown, now)
    deadline = statuses.find_deadline(observed, new)
    if deadline is not None and now >= deadline:
        new, message = statuses.give_up(new, observed, now)
        draft.add("timed-out", Part(events=(initializing_timeout(message),)))
        return draft.finish(status=statuses.write_status(stored, new, Because.STATUS_CHANGED, now))
    _tell_progress(draft, observed, new)
    write = statuses.write_status(stored, new, Because.STATUS_CHANGED, now, shown.introduces)
    return draft.finish(status=write, wake_after=None if deadline is None else deadline - now)


def _plan_labels(draft: Draft, observed: ObservedService) -> None:
    for role, found in (("active", observed.find_active()), ("pending", observed.find_pending())):
        if isinstance(found, dict):
            draft.add(f"{role}-head-label", plan_head_label(observed, found))


def _plan_serve(draft: Draft, look: Look, sight: Sight, verdict: Verdict) -> ServeSight:
    """Of the pending cluster while there is one; the active one gets no configuration that is for another cluster."""
    observed = look.observed
    found = observed.find_pending() if sight.has_pending else observed.find_active()
    if not isinstance(found, dict) or (verdict is Verdict.NEW and not sight.has_pending):
        return ServeSight(Health.STARTING, NOTHING, {})
    serve = plan_serve(observed, found, look.settings, look.remembered, look.now)
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


def _tell_progress(draft: Draft, observed: ObservedService, new: JsonObject) -> None:
    if statuses.is_true(new, statuses.UPGRADE):
        text = f"from {new[ACTIVE].get('rayClusterName')} to {new[PENDING].get('rayClusterName')}"
        draft.add("upgrade", wait_beside(Hold.UPGRADE, text, "the applications run there"))
    elif not observed.endpoints and observed.active_name:
        draft.add("requests", wait_beside(Hold.NO_REQUESTS, f"RayCluster {observed.active_name}", "a Pod is ready"))
