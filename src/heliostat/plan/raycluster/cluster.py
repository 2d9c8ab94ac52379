"""One reconcile of a RayCluster as a value: what to write now, why, and what is waited for (raycluster.md §1).

Order: whose cluster is it, is the spec accepted, is it being deleted; then the objects around the Pods, the Pods, the
status. Stages do not wait for each other unless one really needs the other: Pods need what they mount, run as or are
found by, so a failed Ingress blocks nothing (KubeRay stops at the first error). Network policies and certificates
come last and also for a refused spec, because KubeRay keeps them in controllers of their own.
"""

from heliostat.api.cluster_features import is_managed_here
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import ObjectMeta
from heliostat.api.settings import Settings
from heliostat.api.validation.verdict import event_of
from heliostat.desired.raycluster.context import build_context
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.desired.raycluster.mtls import build_tls_objects
from heliostat.desired.raycluster.network_policies import build_network_policies
from heliostat.desired.raycluster.redis_cleanup import build_redis_cleanup_job
from heliostat.desired.slots import Impossible
from heliostat.kube.conditions import get_condition
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Event, Patch, Plan
from heliostat.kube.pods import PodView
from heliostat.kube.problems import Problem
from heliostat.plan import ensure
from heliostat.plan.because import Hold
from heliostat.plan.draft import Draft, Part, wait_beside
from heliostat.plan.left_alone import tell_manager, tell_refusal
from heliostat.plan.own_conditions import SPEC_NOT_APPLIED, hindered, list_waits_for_people
from heliostat.plan.raycluster import deletion, singletons, suspend, upgrade
from heliostat.plan.raycluster.certificates import find_missing_certificate, plan_certificates
from heliostat.plan.raycluster.ensure_claim import ensure_claim
from heliostat.plan.raycluster.ensure_ingress import ensure_ingress
from heliostat.plan.raycluster.head import plan_head
from heliostat.plan.raycluster.names import PodNames
from heliostat.plan.raycluster.network_policies import plan_network_policies
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_context import PodContext, names_asked_away
from heliostat.plan.raycluster.pod_health import tell_unready
from heliostat.plan.raycluster.removed_groups import plan_removed_groups
from heliostat.plan.raycluster.scheduling import plan_scheduling
from heliostat.plan.raycluster.situation import Situation
from heliostat.plan.raycluster.status import plan_own_conditions, plan_status
from heliostat.plan.raycluster.suspend import PodsFate
from heliostat.plan.raycluster.unapplied import find_unapplied
from heliostat.plan.raycluster.upgrade import Upgrade
from heliostat.plan.raycluster.workers import plan_groups

STATUS_POLL = 2.0  # KubeRay: looks again soon after each status write

POD_NEEDS = (
    "finalizer", "service-account", "role", "role-binding", "auth-secret", "head-service", "gcs-claim", "scheduling",
)  # fmt: skip
# KubeRay: R13-1, the scheduler is asked after a recreate; all else comes before it and stops it (R1-6).
RECREATE_NEEDS = tuple(need for need in POD_NEEDS if need != "scheduling")


def plan_cluster(situation: Situation) -> Plan:
    observed, draft = situation.observed, Draft()
    cluster = observed.cluster
    if not is_managed_here(cluster.spec.managed_by):
        draft.add("managed-by", tell_manager(cluster.spec.managed_by))
        return draft.finish()
    if situation.refusal is not None:
        _plan_refused(draft, situation, situation.refusal)
        return draft.finish()
    draft.add("warnings", Part(events=_list_warnings(cluster.metadata, situation.warnings)))
    if cluster.metadata.deletion_timestamp:
        return _plan_leaving(draft, situation)
    return _plan_living(draft, situation)


def _list_warnings(metadata: ObjectMeta, warnings: tuple[Problem, ...]) -> tuple[Event, ...]:
    return tuple(event_of(problem, metadata.namespace, metadata.name) for problem in warnings if problem.reason)


def _plan_refused(draft: Draft, situation: Situation, refusal: Problem) -> None:
    """KubeRay: R1-5, nothing but the event; what separate controllers keep is kept all the same."""
    observed, settings, now = situation.observed, situation.settings, situation.now
    draft.add("refusal", tell_refusal(refusal, observed.cluster.metadata))
    if observed.cluster.metadata.deletion_timestamp:
        draft.add("deletion", deletion.plan_deletion(observed, settings, now, None))
    else:
        context = build_context(observed.cluster, settings)
        _plan_policies(draft, observed, build_network_policies(context), settings)
        draft.add("certificates", plan_certificates(build_tls_objects(context), observed, settings, now))


def _plan_leaving(draft: Draft, situation: Situation) -> Plan:
    observed, settings, now = situation.observed, situation.settings, situation.now
    cluster = observed.cluster
    job = build_redis_cleanup_job(cluster, settings) if deletion.needs_cleanup(cluster, settings) else None
    part = deletion.plan_deletion(observed, settings, now, job)
    draft.add("deletion", part)
    status = None
    if deletion.has_finalizer(cluster.metadata) and not any(isinstance(action, Patch) for action in part.actions):
        found = (
            hindered((*list_waits_for_people(draft.waits), *situation.remembered.hindrances)),
            get_condition(observed.conditions, SPEC_NOT_APPLIED),
        )
        status = plan_own_conditions(situation, tuple(one for one in found if one is not None))
    return draft.finish(status=status)


def _plan_living(draft: Draft, situation: Situation) -> Plan:
    observed, desired, settings, now = situation.observed, situation.parts, situation.settings, situation.now
    finalizer = deletion.plan_finalizer(observed.cluster, settings)
    draft.add("finalizer", finalizer)
    _ensure_surroundings(draft, observed, desired)
    _plan_pods(draft, situation)
    is_blocked = draft.is_blocked()
    _plan_policies(draft, observed, desired.network_policies, settings)
    draft.add("certificates", plan_certificates(desired.tls_objects, observed, settings, now))
    failure = situation.remembered.failure
    if failure is not None:
        draft.add("failure", wait_beside(Hold.LAST_FAILURE, failure.message, "the next attempt succeeds"))
    status = None
    if not finalizer.actions:  # it moves the version that a status write would have to name
        status = plan_status(situation, is_blocked=is_blocked, own=_own_conditions(draft, situation))
    return draft.finish(status=status, wake_after=STATUS_POLL if status else _periodic_look(settings))


def _periodic_look(settings: Settings) -> float | None:
    """KubeRay: constants.md §6.1, zero and less mean that only a change wakes it."""
    return float(settings.requeue_seconds) if settings.requeue_seconds > 0 else None


def _own_conditions(draft: Draft, situation: Situation) -> tuple[JsonObject, ...]:
    version = situation.settings.operator_version
    found = (
        hindered((*list_waits_for_people(draft.waits), *situation.remembered.hindrances)),
        find_unapplied(situation.observed, situation.parts.hashes_in_force, version),
    )
    return tuple(condition for condition in found if condition is not None)


def _ensure_surroundings(draft: Draft, observed: ObservedCluster, desired: DesiredCluster) -> None:
    """In KubeRay's order (R1-6)."""
    account = singletons.ensure_service_account(desired.service_account, desired.user_service_account, observed)
    draft.add("service-account", account)
    draft.add("role", ensure.ensure_by_name(desired.role, observed))
    draft.add("role-binding", ensure.ensure_by_name(desired.role_binding, observed))
    draft.add("ingress", ensure_ingress(desired.ingress, observed))
    draft.add("route", singletons.ensure_route(desired.route, observed))
    draft.add("auth-secret", ensure.ensure_by_name(desired.auth_secret, observed))
    draft.add("head-service", singletons.ensure_head_service(desired.head_service, observed))
    draft.add("headless-service", singletons.ensure_headless_service(desired.headless_service, observed))
    draft.add("serve-service", singletons.ensure_serve_service(desired.serve_service, observed))
    if not _lacks_serve_service(draft, desired):
        draft.add("gcs-claim", ensure_claim(desired, observed))


def _lacks_serve_service(draft: Draft, desired: DesiredCluster) -> bool:
    """KubeRay: R4-40, a serve Service that is not there and cannot be built stops everything after it."""
    return isinstance(desired.serve_service, Impossible) and draft.is_blocked("serve-service")


def _plan_pods(draft: Draft, situation: Situation) -> None:
    observed = situation.observed
    pods = observed.own_pods
    if isinstance(pods, Unknown):
        draft.add("pods", ensure.wait_for_knowledge("the Pods", pods))
        return
    status = suspend.suspend_status(observed.conditions)
    gate = situation.settings.gate("RayClusterStatusConditions")
    fate = suspend.decide_pods_fate(gate=gate, status=status, suspend=observed.cluster.spec.suspend is True)
    if fate is PodsFate.DELETE_ALL:
        draft.add("suspend", suspend.plan_suspension(observed.cluster, pods))
    elif fate is PodsFate.LEAVE:
        draft.add("suspend", suspend.explain_leaving_alone(status))
    else:
        _bring_pods_in_line(draft, situation, _pod_context(situation, pods))
        draft.add("readiness", Part(waits=tuple(tell_unready(pods))))


def _pod_context(situation: Situation, pods: tuple[PodView, ...]) -> PodContext:
    observed, desired, remembered = situation.observed, situation.parts, situation.remembered
    asked_away = names_asked_away(desired)
    in_view = pods if isinstance(observed.pods, Unknown) else observed.pods
    moment = (remembered.since, remembered.moves)
    return PodContext(
        cluster=observed.cluster,
        desired=desired,
        settings=situation.settings,
        now=situation.now,
        pods=pods,
        conditions=observed.conditions,
        names=PodNames(observed.cluster, in_view, asked_away, remembered.unanswered, moment),
        asked_away=asked_away,
        certificates=find_missing_certificate(observed) if desired.tls else None,
    )


def _bring_pods_in_line(draft: Draft, situation: Situation, context: PodContext) -> None:
    desired, settings = context.desired, context.settings
    if _lacks_serve_service(draft, desired):
        return
    head = upgrade.stamped_head(context)
    verdict = upgrade.decide_upgrade(context.cluster.spec, head, desired.spec_hash, settings.operator_version)
    if verdict is Upgrade.RECREATE:
        workers, heads = upgrade.plan_recreate(context)
        draft.add("recreate-workers", workers, RECREATE_NEEDS)
        draft.add("recreate-head", heads, (*RECREATE_NEEDS, "recreate-workers"))
        return
    if verdict is Upgrade.RESTAMP and head is not None:
        draft.add("restamp", upgrade.plan_restamp(head, desired, settings))
    draft.add("removed-groups", plan_removed_groups(context.pods, desired, situation.remembered))
    draft.add("scheduling", plan_scheduling(desired, situation.observed, settings))
    draft.add("head-pod", plan_head(context), POD_NEEDS)
    if draft.is_blocked("head-pod"):
        return
    for group, part in plan_groups(context):
        draft.add(f"workers/{group}", part, (*POD_NEEDS, "headless-service", "head-pod"))


def _plan_policies(draft: Draft, observed: ObservedCluster, wanted: tuple[JsonObject, ...], settings: Settings) -> None:
    if settings.gate("RayClusterNetworkPolicy"):
        draft.add("network-policies", plan_network_policies(wanted, observed))
