"""Where requests go: the head and serve Services select one cluster (rayservice.md §9).

Requests move to the pending cluster only when its applications run as the spec asks for and, if another cluster serves
meanwhile, when at least one Pod of the pending one could answer. Each Service is a stage of its own: one that cannot be
changed never keeps the other from moving. Differs from KubeRay: rayservice-switch-needs-endpoint.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.rayservice.services import build_service_head_service, build_service_serve_service
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import SERVICE
from heliostat.kube.plan import Create, patch_of, ref_of
from heliostat.kube.pods import is_ready, is_terminating
from heliostat.plan.because import Hold as CommonHold
from heliostat.plan.draft import NOTHING, Draft, Part, wait_beside, wait_for
from heliostat.plan.ensure import name_taken, wait_for_knowledge
from heliostat.plan.moving_services import changes_of_move
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import report_service_create, report_service_update


def choose_target(observed: ObservedService, *, is_pending_ready: bool) -> tuple[str, Part]:
    """The cluster that requests should go to, and what keeps them from going to the next one; empty: nowhere yet."""
    active, pending = observed.find_active(), observed.pending_name
    has_active = isinstance(active, dict)
    if pending and observed.routed_cluster() == pending:
        return pending, NOTHING  # it has moved: nothing that Serve says now moves it back
    if is_pending_ready and pending:
        if not has_active or can_answer(observed, pending):
            return pending, NOTHING
        wait = wait_beside(Hold.NO_ENDPOINT, f"RayCluster {pending}", "one of its Pods with ray.io/serve=true is ready")
        return observed.active_name, wait
    return (observed.active_name if has_active else ""), NOTHING


def can_answer(observed: ObservedService, cluster: str) -> bool:
    """Whether a Pod of this cluster would be an endpoint of the serve Service."""
    pods = observed.pods.get(cluster, ())
    if isinstance(pods, Unknown):
        return False
    return any(pod.labels.get(labels.SERVE) == "true" and is_ready(pod) and not is_terminating(pod) for pod in pods)


def plan_services(draft: Draft, observed: ObservedService, target: str, settings: Settings) -> None:
    if not target:
        return
    serve = build_service_serve_service(observed.service, target, observed.spec_of(target))
    draft.add("serve-service", _ensure(observed, serve, target))
    draft.add("head-service", _ensure_head_service(observed, target, settings))


def follow_services(draft: Draft, observed: ObservedService, target: str, settings: Settings) -> None:
    """Of an incremental upgrade: the head Service; a serve Service of before follows, too, where there is one.

    Differs from KubeRay: rayservice-former-route.
    """
    if isinstance(observed.find_serve_service(), dict):
        plan_services(draft, observed, target, settings)
        return
    draft.add("head-service", _ensure_head_service(observed, target, settings))


def _ensure_head_service(observed: ObservedService, target: str, settings: Settings) -> Part:
    wanted = build_service_head_service(observed.service, target, observed.spec_of(target), settings)
    return _ensure(observed, wanted, target)


def _ensure(observed: ObservedService, wanted: JsonObject | Impossible, target: str) -> Part:
    if isinstance(wanted, Impossible):
        return wait_for(CommonHold.IMPOSSIBLE, wanted.message, "the spec is changed")
    ref = ref_of(wanted)
    found = observed.find(SERVICE, ref.name)
    if isinstance(found, Unknown):
        return wait_for_knowledge(str(ref), found)
    if found is None:
        return Part(actions=(Create(wanted, Because.MISSING, report_service_create(ref)),))
    if not observed.owns(found):
        return name_taken(ref, observed.owner_kind)
    spec = found["spec"]
    if found["metadata"].get("deletionTimestamp") or (spec.get("selector") or {}).get(labels.CLUSTER) == target:
        return NOTHING
    changes = {"spec": changes_of_move(spec, wanted["spec"])}
    return Part(actions=(patch_of(found, changes, Because.MOVED, report_service_update(ref)),))
