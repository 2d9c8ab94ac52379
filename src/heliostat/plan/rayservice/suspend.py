"""Suspend and resume: everything that the service has goes, and is made anew later (rayservice.md §5).

What was begun is finished: a service on its way to Suspended gets there before it is resumed. So it has to get there:
where nobody shows what splits its requests, as without the Gateway API, that is waited for in vain and not for long.
Differs from KubeRay: rayservice-incremental-stages.
"""

from enum import StrEnum

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.kube.conditions import FALSE, TRUE, get_condition, remove_condition
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import GATEWAY, HTTP_ROUTE, SERVICE, KindName
from heliostat.kube.plan import ref_of
from heliostat.kube.timestamps import moment_of
from heliostat.plan.draft import Draft, Part, join, wait_beside
from heliostat.plan.ensure import ensure_gone, wait_for_knowledge
from heliostat.plan.rayservice.observed import ACTIVE, PENDING, Look, ObservedService
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import report_gateway, report_route, report_service_delete
from heliostat.plan.rayservice.status import (
    EMPTY_SLOT,
    INITIALIZING,
    READY,
    ROLLBACK,
    SUSPENDED,
    SUSPENDING,
    UPGRADE,
    is_true,
    put_condition,
    tidy,
)
from heliostat.plan.rayservice.unused import are_clusters_gone, delete_clusters

DURING = " during suspend"
SIGHT_SECONDS = 60.0  # how long what splits the requests may stay unseen before a suspension ends without it
_REPORTS = {"Gateway": report_gateway, "HTTPRoute": report_route}
_RESUMING = "RayService is initializing after resuming from suspend."


class Phase(StrEnum):
    RUNS = "it is not suspended"
    BEGINS = "suspend was asked for"
    GOES_ON = "what it has goes"
    OVER = "nothing is left"
    STAYS = "it is suspended"
    RESUMES = "it is no longer to be suspended"


def decide_phase(look: Look) -> Phase:
    observed = look.observed
    status, is_wanted = observed.status, observed.service.spec.suspend is True
    if is_true(status, SUSPENDING):
        return Phase.OVER if _is_all_gone(look) else Phase.GOES_ON
    if is_true(status, SUSPENDED):
        return Phase.STAYS if is_wanted else Phase.RESUMES
    return Phase.BEGINS if is_wanted else Phase.RUNS


def plan_suspend(draft: Draft, look: Look, phase: Phase) -> JsonObject:
    """The status as it should read; what is deleted goes into the draft."""
    observed, now = look.observed, look.now
    if phase is Phase.BEGINS:
        return _begin(observed, now)
    if phase is Phase.STAYS:
        draft.add("suspended", wait_beside(Hold.SUSPENDED, "spec.suspend is true", "spec.suspend is false"))
        return observed.status
    if phase is Phase.OVER:
        return _finish(observed.status, now)
    draft.add("clusters", delete_clusters(observed, Because.SUSPENDED, DURING))
    draft.add("services", _delete_routing(look))
    text = "Waiting for all Kubernetes resources owned by this RayService to be deleted."
    return tidy(put_condition(observed.status, SUSPENDING, TRUE, "SuspendInProgress", text, now))


def _begin(observed: ObservedService, now: float) -> JsonObject:
    status = {
        **observed.status,
        "observedGeneration": observed.service.metadata.generation or 0,
        ACTIVE: EMPTY_SLOT,
        PENDING: EMPTY_SLOT,
        "numServeEndpoints": 0,
    }
    text = "Spec.Suspend is true; will delete all Kubernetes resources owned by this RayService."
    status = put_condition(status, SUSPENDING, TRUE, "SuspendRequested", text, now)
    return tidy(_put_off(status, "SuspendInProgress", "RayService is suspending.", now))


def _finish(status: JsonObject, now: float) -> JsonObject:
    reason, text = "SuspendComplete", "All owned resources have been deleted."
    status = put_condition(status, SUSPENDING, FALSE, reason, text, now)
    status = _put_off(status, reason, "RayService is suspended.", now)
    return tidy(put_condition(status, SUSPENDED, TRUE, reason, text, now))


def _put_off(status: JsonObject, reason: str, ready: str, now: float) -> JsonObject:
    status = put_condition(status, READY, FALSE, reason, ready, now)
    status = put_condition(status, UPGRADE, FALSE, reason, "No upgrade in progress.", now)
    return put_condition(status, ROLLBACK, FALSE, reason, "No rollback in progress.", now)


def resume(observed: ObservedService, now: float) -> JsonObject:
    """Ready begins anew, and with it the time that initializing may take."""
    status = {**observed.status, "observedGeneration": observed.service.metadata.generation or 0}
    text = "Spec.Suspend is false; RayService has resumed."
    status = put_condition(status, SUSPENDED, FALSE, "RayServiceResumed", text, now)
    for type_ in (READY, UPGRADE):
        status = {**status, "conditions": remove_condition(status["conditions"], type_)}
    for type_ in (READY, UPGRADE):
        status = put_condition(status, type_, FALSE, INITIALIZING, _RESUMING, now)
    return tidy(status)


def _delete_routing(look: Look) -> Part:
    return join(_delete_kind(look, kind) for kind in (SERVICE, *_list_splitting(look)))


def _delete_kind(look: Look, kind: KindName) -> Part:
    owned = look.observed.list_owned(kind)
    if not isinstance(owned, Unknown):
        return join(map(_delete_one, owned))
    wait = wait_for_knowledge("what this RayService owns", owned)
    return wait if kind == SERVICE else replace(wait, wake_after=_find_patience(look) or None)


def _list_splitting(look: Look) -> tuple[KindName, ...]:
    """With an upgrade in steps what splits the requests."""
    return (GATEWAY, HTTP_ROUTE) if look.is_incremental else ()


def _delete_one(tree: JsonObject) -> Part:
    ref = ref_of(tree)
    report = report_service_delete(ref, DURING) if ref.kind == "Service" else _REPORTS[ref.kind]("Delete", ref)
    return ensure_gone(tree, Because.SUSPENDED, Hold.LEAVING, report)


def _is_all_gone(look: Look) -> bool:
    observed = look.observed
    if not are_clusters_gone(observed) or observed.list_owned(SERVICE) != ():
        return False
    left = [observed.list_owned(kind) for kind in _list_splitting(look)]
    is_waited_for = _find_patience(look) > 0
    return all(owned == () or (isinstance(owned, Unknown) and not is_waited_for) for owned in left)


def _find_patience(look: Look) -> float:
    """Seconds for which what splits the requests is still waited for, unseen."""
    condition = get_condition(look.observed.status.get("conditions"), SUSPENDING) or {}
    since = moment_of(condition.get("lastTransitionTime"))
    return max(0.0, (look.now if since is None else since) + SIGHT_SECONDS - look.now)
