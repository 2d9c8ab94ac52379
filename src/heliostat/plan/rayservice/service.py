"""One reconcile of a RayService as a value: what to write now, why, and what is waited for (rayservice.md §2).

Order: whose service is it, is it being deleted, is the spec accepted, is it suspended, has it been given up; then its
clusters, the heads' labels, Serve, the Services and the status. Stages are independent: an error in one keeps no other
from being carried out, least of all the Services that requests go through.
"""

from msgspec.structs import replace

from heliostat.api.cluster_features import is_managed_here
from heliostat.api.markers import JsonObject
from heliostat.api.validation.service import UPGRADE_DEADLINE_ANNOTATION
from heliostat.desired.rayservice.serve_config import list_applications, read_serve_config
from heliostat.desired.slots import Impossible
from heliostat.kube.conditions import FALSE
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Plan
from heliostat.kube.problems import Problem
from heliostat.plan.draft import NOTHING, Draft, Part, wait_beside
from heliostat.plan.ensure import wait_for_knowledge
from heliostat.plan.left_alone import describe_refusal, tell_manager, tell_refusal
from heliostat.plan.rayservice import deletion, overdue, suspend
from heliostat.plan.rayservice import status as statuses
from heliostat.plan.rayservice.clusters import (
    ClusterChoice,
    ClusterInputs,
    decide_clusters,
    look_at_clusters,
    plan_clusters,
)
from heliostat.plan.rayservice.head_label import plan_head_label
from heliostat.plan.rayservice.incremental import plan_incremental
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, Look, ObservedService, Remembered
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import deadline_exceeded, initializing_timeout
from heliostat.plan.rayservice.unused import plan_unused
from heliostat.plan.rayservice.whole import plan_whole
from heliostat.plan.situation import Situation


def plan_service(situation: Situation[ObservedService, None, Remembered]) -> Plan:
    observed, draft = situation.observed, Draft()
    service, look = observed.service, Look(observed, situation.settings, situation.remembered, situation.now)
    if not is_managed_here(service.spec.managed_by):
        draft.add("managed-by", tell_manager(service.spec.managed_by))
        return draft.finish()
    if service.metadata.deletion_timestamp:
        deletion.plan_deletion(draft, observed)
        return draft.finish()
    finalizer = deletion.plan_finalizer(service)
    draft.add("finalizer", finalizer)
    if finalizer.actions:
        return draft.finish()  # it moves the version that a status write would have to name
    if not statuses.is_true(observed.status, statuses.SUSPENDING):  # then all of them go, and none waits for a delay
        draft.add("unused", plan_unused(look))
    if situation.refusal is not None:
        return _plan_refused(draft, observed, situation.refusal, look.now)
    return _plan_accepted(draft, look)


def _plan_refused(draft: Draft, observed: ObservedService, refusal: Problem, now: float) -> Plan:
    """What runs is left alone: a bad edit touches no service."""
    metadata = observed.service.metadata
    draft.add("refusal", tell_refusal(refusal, metadata))
    message = describe_refusal(refusal, metadata)
    status = {ACTIVE: statuses.EMPTY_SLOT, PENDING: statuses.EMPTY_SLOT, **observed.status}
    # KubeRay: rayservice.md §2, step 7: the condition alone is touched; serviceStatus tells what runs on.
    new = statuses.put_condition(status, statuses.READY, FALSE, "ValidationFailed", message, now)
    return draft.finish(status=statuses.write_status(observed, new, Because.REFUSED, now))


def _plan_accepted(draft: Draft, look: Look) -> Plan:
    observed, now = look.observed, look.now
    phase = suspend.decide_phase(look)
    if phase is suspend.Phase.RESUMES:
        tree = {**observed.tree, "status": suspend.resume(observed, now)}
        return _plan_living(draft, replace(look, observed=replace(observed, tree=tree)), observed)
    if phase is not suspend.Phase.RUNS:
        new = suspend.plan_suspend(draft, look, phase)
        return draft.finish(status=statuses.write_status(observed, new, Because.SUSPENDED, now))
    if statuses.read_condition(observed.status, statuses.READY) == (FALSE, statuses.TIMED_OUT):
        draft.add("timed-out", wait_beside(Hold.TIMED_OUT, "the time to become ready is over", "it is resumed"))
        return draft.finish()
    return _plan_living(draft, look, observed)


def _plan_living(draft: Draft, look: Look, stored: ObservedService) -> Plan:
    """``stored`` has the status that the server keeps."""
    observed, now = look.observed, look.now
    inputs = look_at_clusters(observed, look.settings)
    if isinstance(inputs, Unknown):
        draft.add("clusters", wait_for_knowledge("the RayClusters of this RayService", inputs))
        return draft.finish()
    inputs = _judge_time(draft, look, inputs)
    draft.add("clusters", plan_clusters(observed, look.settings, is_back=inputs.is_back or inputs.is_given_up))
    choice = decide_clusters(inputs)
    draft.add("config", _check_config(observed))
    if choice is ClusterChoice.OFF:
        draft.add("upgrade", wait_beside(Hold.UPGRADE_OFF, "spec.rayClusterConfig", "upgrades are turned on"))
    _plan_labels(draft, observed)
    plan_way = plan_incremental if look.is_incremental else plan_whole
    shown = plan_way(draft, look, inputs, choice)
    limit = (observed.service.metadata.annotations or {}).get(UPGRADE_DEADLINE_ANNOTATION, "")
    new = statuses.tidy(overdue.tell_given_up(statuses.build_status(observed, shown, now), inputs, limit, now))
    deadline = statuses.find_deadline(observed, new)
    if deadline is not None and now >= deadline:
        new, message = statuses.give_up(new, observed, now)
        draft.add("timed-out", Part(events=(initializing_timeout(message),)))
        return draft.finish(status=statuses.write_status(stored, new, Because.STATUS_CHANGED, now))
    _tell_progress(draft, look, new)
    write = statuses.write_status(stored, new, Because.STATUS_CHANGED, now, shown.introduces)
    return draft.finish(status=write, wake_after=None if deadline is None else deadline - now)


def _judge_time(draft: Draft, look: Look, inputs: ClusterInputs) -> ClusterInputs:
    """Whether the upgrade has taken too long, or had before."""
    end = None if inputs.is_back else overdue.find_upgrade_end(look.observed)
    if end is not None and look.now < end:
        draft.add("deadline", Part(wake_after=end - look.now))
        return inputs
    if end is None and not overdue.is_given_up(look.observed):
        return inputs
    given_up = overdue.give_up_upgrade(look, inputs)
    if end is not None and given_up.is_given_up:
        draft.tell(deadline_exceeded(look.observed.pending_name))
    if given_up.is_given_up:
        draft.add("given-up", wait_beside(Hold.GIVEN_UP, "the last upgrade took too long", "the spec changes"))
    return given_up


def _check_config(observed: ObservedService) -> Part:
    """What is wrong with it is told whether or not there is a Serve that it would be sent to."""
    config = read_serve_config(observed.service)
    if isinstance(config, Impossible):
        return wait_beside(Hold.CONFIG_IMPOSSIBLE, config.message, "it is corrected")
    if not list_applications(config):
        return wait_beside(Hold.NO_APPLICATIONS, "without one a RayService never gets ready", "it asks for one")
    return NOTHING


def _plan_labels(draft: Draft, observed: ObservedService) -> None:
    for role, found in (("active", observed.find_active()), ("pending", observed.find_pending())):
        if isinstance(found, dict):
            draft.add(f"{role}-head-label", plan_head_label(observed, found))


def _tell_progress(draft: Draft, look: Look, new: JsonObject) -> None:
    active, pending = (new[slot].get("rayClusterName") for slot in (ACTIVE, PENDING))
    if statuses.is_true(new, statuses.ROLLBACK):
        draft.add("upgrade", wait_beside(Hold.ROLLBACK, f"from {pending} to {active}", "all requests go there"))
    elif statuses.is_true(new, statuses.UPGRADE):
        until = "all requests go there" if look.is_incremental else "the applications run there"
        draft.add("upgrade", wait_beside(Hold.UPGRADE, f"from {active} to {pending}", until))
    elif not look.observed.endpoints and look.observed.active_name:
        where = f"RayCluster {look.observed.active_name}"
        draft.add("requests", wait_beside(Hold.NO_REQUESTS, where, "a Pod is ready"))
