"""Planted bugs in what becomes of Pods: which go, which come, and which count."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from heliostat.plan.draft import NOTHING
from heliostat.plan.raycluster import cluster as plan_cluster
from heliostat.plan.raycluster import head, multihost, places, pod_health, upgrade, workers
from heliostat.plan.raycluster.multihost import Condition
from heliostat.plan.raycluster.names import PodNames
from heliostat.plan.raycluster.pod_context import PodContext
from heliostat.plan.raycluster.pod_health import Presence
from heliostat.plan.raycluster.upgrade import Upgrade
from heliostat.runtime import calls
from heliostat.runtime.transport import Call
from simulation.mutants import replaced


def a_delete_names_no_uid() -> Any:
    """Whatever has the name now."""

    def delete_call(*arguments: Any, original: Callable[..., Call] = calls.delete_call, **options: Any) -> Call:
        return structs.replace(original(*arguments, **options), body=b'{"kind":"DeleteOptions","apiVersion":"v1"}')

    return replaced((calls, "delete_call", delete_call))


def ready_workers_go_first() -> Any:
    def rank(pods: Any, original: Callable[..., Any] = pod_health.rank_victims) -> Any:
        return original(pods)[::-1]

    return replaced((workers, "rank_victims", rank))


def a_suspended_group_is_filled() -> Any:
    def plan_group(group: Any, context: Any, original: Callable[..., Any] = workers.plan_group) -> Any:
        filled = structs.replace(group, suspended=False, replicas=2)
        return original(filled if group.suspended else group, context)

    return replaced((workers, "plan_group", plan_group))


def a_leaving_head_counts_as_gone() -> Any:
    """kuberay#105: two heads."""

    def presence(pod: Any, now: float, patience: float, original: Any = pod_health.presence_of) -> Presence:
        found: Presence = original(pod, now, patience)
        return Presence.STUCK if found is Presence.LEAVING else found

    return replaced((head, "presence_of", presence))


def leaving_workers_count_as_gone() -> Any:
    def keeps(pod: Any, context: Any, original: Callable[..., bool] = workers._keeps_place) -> bool:
        return original(pod, context) and not pod.deletion_timestamp

    return replaced((workers, "_keeps_place", keeps))


def leaving_workers_count_as_staying() -> Any:
    """kuberay#1936: ten to nine removes more than one."""

    def surplus(group: Any, staying: Any, surplus: int, context: Any, original: Any = workers._plan_surplus) -> Any:
        mates = [pod for pod in context.pods if pod_health.group_of(pod) == group.name]
        leaving = sum(bool(pod.deletion_timestamp) for pod in mates)
        return original(group, staying, surplus + leaving if surplus > 0 else surplus, context)

    return replaced((workers, "_plan_surplus", surplus))


def a_stuck_pod_is_waited_for() -> Any:
    """kuberay#4078: a Pod on a lost node blocks its group for ever."""
    users = (pod_health, head, places)
    return replaced(*((user, "seconds_until_stuck", lambda _pod, _now, patience: patience) for user in users))


def half_a_replica_is_enough() -> Any:
    def judge(group: Any, name: str, pods: Any, context: Any, original: Any = multihost._judge) -> Any:
        found = original(group, name, pods, context)
        is_short = found.condition is Condition.GOING and found.why.startswith("cleanup")
        return structs.replace(found, condition=Condition.VALID) if is_short else found

    return replaced((multihost, "_judge", judge))


def the_operator_chooses_for_the_autoscaler() -> Any:
    return replaced((PodContext, "may_choose_victims", property(lambda _self: True)))


def names_are_used_again() -> Any:
    """The same place always has the same name, also right after the autoscaler asked it away."""

    def suffix(self: PodNames, prefix: str, group: str, index: int, position: int) -> str:
        return f"{index}x{max(0, position)}"

    return replaced((PodNames, "suffix", suffix))


def removed_groups_stay() -> Any:
    """kuberay#1739"""
    return replaced((plan_cluster, "plan_removed_groups", lambda _pods, _desired, _facts: NOTHING))


def failed_pods_are_not_asked_away() -> Any:
    """kuberay#942: one that failed is left out of workersToDelete, and the autoscaler waits for its end."""

    def part_with(members: Any, context: Any, original: Callable[..., Any] = workers._part_with) -> Any:
        failed = [pod.name for pod in members if pod_health.why_unhealthy(pod) is not None]
        left = [pod for pod in members if not (pod.name in failed and pod.name in context.asked_away)]
        return original(left, context)

    return replaced((workers, "_part_with", part_with))


def scaling_recreates() -> Any:
    """The hash covers what only scales: under Recreate another number of workers restarts all of them."""
    made_for: dict[str, list[int]] = {}

    def decide(spec: Any, head: Any, *rest: Any, original: Callable[..., Upgrade] = upgrade.decide_upgrade) -> Upgrade:
        verdict = original(spec, head, *rest)
        if head is None or spec.upgrade_strategy is None or spec.upgrade_strategy.type != "Recreate":
            return verdict
        now = [group.replicas for group in spec.worker_group_specs]
        return Upgrade.RECREATE if made_for.setdefault(head.uid, now) != now else verdict

    return replaced((upgrade, "decide_upgrade", decide))
