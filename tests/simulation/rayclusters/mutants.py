"""Planted bugs of a RayCluster operator: each is one that an operator of Ray has had, or nearly had.

The random search must find every one of them by itself; ``since`` is a seed near which it was found.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import msgspec
from msgspec import structs

from heliostat.operator.raycluster.memory import Memory
from heliostat.plan import cluster as plan_cluster
from heliostat.plan import deletion, head, multihost, pod_health, status_conditions, suspend, upgrade, workers
from heliostat.plan.deletion import Step
from heliostat.plan.multihost import Condition
from heliostat.plan.names import PodNames
from heliostat.plan.observed import ObservedCluster, Unknown
from heliostat.plan.parts import NOTHING
from heliostat.plan.pod_context import PodContext
from heliostat.plan.pod_health import Presence
from heliostat.plan.suspend import PodsFate
from heliostat.plan.upgrade import Verdict
from heliostat.runtime import calls
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.transport import Call
from simulation import mutants as loop
from simulation.mutants import Mutant


@contextmanager
def _replaced(*bugs: tuple[Any, str, Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, bug in bugs:
            stack.enter_context(patch.object(owner, name, bug))
        yield


def a_delete_names_no_uid() -> Any:
    """Whatever has the name now."""

    def delete_call(*arguments: Any, original: Callable[..., Call] = calls.delete_call, **options: Any) -> Call:
        return structs.replace(original(*arguments, **options), body=b'{"kind":"DeleteOptions","apiVersion":"v1"}')

    return _replaced((calls, "delete_call", delete_call))


def ready_workers_go_first() -> Any:
    def rank(pods: Any, original: Callable[..., Any] = pod_health.rank_victims) -> Any:
        return original(pods)[::-1]

    return _replaced((workers, "rank_victims", rank))


def labels_are_ownership() -> Any:
    """Every Pod that wears the cluster's label is its own: KubeRay's workersToDelete deletes such ones too."""

    def own_pods(self: ObservedCluster) -> Any:
        return self.pods if isinstance(self.pods, Unknown) else tuple(sorted(self.pods, key=lambda pod: pod.name))

    return _replaced((ObservedCluster, "own_pods", own_pods))


def a_suspended_group_is_filled() -> Any:
    def plan_group(group: Any, context: Any, original: Callable[..., Any] = workers.plan_group) -> Any:
        filled = structs.replace(group, suspended=False, replicas=2)
        return original(filled if group.suspended else group, context)

    return _replaced((workers, "plan_group", plan_group))


def suspension_is_not_announced() -> Any:
    """Pods go as soon as the wish is there; it can be taken back half-way."""

    def decide(*, gate: bool, status: str, suspend: bool) -> PodsFate:
        return PodsFate.DELETE_ALL if suspend else PodsFate.RECONCILE

    return _replaced((suspend, "decide_pods_fate", decide))


def suspended_is_said_too_early() -> Any:
    def conditions(
        status: str, *, has_pods: bool, suspend: Any, original: Callable[..., Any] = suspend.next_suspend_conditions
    ) -> Any:
        return original(status, has_pods=False, suspend=suspend)

    return _replaced((status_conditions, "next_suspend_conditions", conditions))


def the_finalizer_goes_before_the_job_ended() -> Any:
    def decide(*, original: Callable[..., Step] = deletion.decide_cleanup, **facts: Any) -> Step:
        step = original(**facts)
        return Step.RELEASE if step is Step.WAIT_FOR_JOB else step

    return _replaced((deletion, "decide_cleanup", decide))


def recreation_begins_with_the_head() -> Any:
    """The head carries the hash: when it is gone, nobody knows of the old workers any more."""

    def plan(context: PodContext, original: Callable[..., Any] = upgrade.plan_recreate) -> Any:
        return original(context)[::-1]

    return _replaced((upgrade, "plan_recreate", plan))


def a_new_version_recreates() -> Any:
    """The hash changes with the operator (kuberay#2315), and every cluster rolls."""

    def decide(*arguments: Any, original: Callable[..., Verdict] = upgrade.decide_upgrade) -> Verdict:
        verdict = original(*arguments)
        return Verdict.RECREATE if verdict is Verdict.RESTAMP else verdict

    return _replaced((upgrade, "decide_upgrade", decide))


def a_leaving_head_counts_as_gone() -> Any:
    """kuberay#105: two heads."""

    def presence(pod: Any, now: float, patience: float, original: Any = pod_health.presence_of) -> Presence:
        found: Presence = original(pod, now, patience)
        return Presence.STUCK if found is Presence.LEAVING else found

    return _replaced((head, "presence_of", presence))


def leaving_workers_count_as_gone() -> Any:
    def keeps(pod: Any, context: Any, original: Callable[..., bool] = workers._keeps_place) -> bool:
        return original(pod, context) and not pod.deletion_timestamp

    return _replaced((workers, "_keeps_place", keeps))


def leaving_workers_count_as_staying() -> Any:
    """kuberay#1936: ten to nine removes more than one."""

    def surplus(group: Any, staying: Any, surplus: int, context: Any, original: Any = workers._plan_surplus) -> Any:
        mates = [pod for pod in context.pods if pod_health.group_of(pod) == group.name]
        leaving = sum(bool(pod.deletion_timestamp) for pod in mates)
        return original(group, staying, surplus + leaving if surplus > 0 else surplus, context)

    return _replaced((workers, "_plan_surplus", surplus))


def a_stuck_pod_is_waited_for() -> Any:
    """kuberay#4078: a Pod on a lost node blocks its group for ever."""
    places = (pod_health, head, upgrade)
    return _replaced(*((place, "seconds_until_stuck", lambda _pod, _now, patience: patience) for place in places))


def half_a_replica_is_enough() -> Any:
    def judge(group: Any, name: str, pods: Any, context: Any, original: Any = multihost._judge) -> Any:
        found = original(group, name, pods, context)
        is_short = found.condition is Condition.GOING and found.why.startswith("cleanup")
        return structs.replace(found, condition=Condition.VALID) if is_short else found

    return _replaced((multihost, "_judge", judge))


def the_operator_chooses_for_the_autoscaler() -> Any:
    return _replaced((PodContext, "may_choose_victims", property(lambda _self: True)))


def names_are_used_again() -> Any:
    """The same place always has the same name, also right after the autoscaler asked it away."""

    def suffix(self: PodNames, prefix: str, group: str, index: int, position: int) -> str:
        return f"{index}x{max(0, position)}"

    return _replaced((PodNames, "suffix", suffix))


def who_manages_it_does_not_matter() -> Any:
    return _replaced((plan_cluster, "is_managed_here", lambda _name: True))


def a_failure_is_never_forgotten() -> Any:
    def ended(self: Memory, key: Any, outcome: Outcome, original: Callable[..., bool] = Memory.ended) -> bool:
        return original(self, key, outcome) if outcome.failures else False

    return _replaced((Memory, "ended", ended))


def removed_groups_stay() -> Any:
    """kuberay#1739"""
    return _replaced((plan_cluster, "plan_removed_groups", lambda _pods, _desired, _facts: NOTHING))


def a_status_is_written_blindly() -> Any:
    """Over whatever somebody else has written meanwhile."""

    def status_call(
        *arguments: Any, resource_version: str, original: Callable[..., Call] = calls.status_call, **options: Any
    ) -> Call:
        call = original(*arguments, resource_version=resource_version, **options)
        operations = msgspec.json.decode(call.body)
        return structs.replace(call, body=msgspec.json.encode([operations[0], operations[2]]))

    return _replaced((calls, "status_call", status_call))


def _mutant(plant: Callable[[], Any], since: int = 0) -> Mutant:
    return Mutant(f"ray-{plant.__name__.replace('_', '-')}", "rayclusters", plant, since)


RAY_MUTANTS = (
    _mutant(loop.skip_freshness),
    _mutant(loop.forget_creates),
    _mutant(loop.forget_deletes, since=1),
    _mutant(loop.a_failed_list_is_empty, since=18),
    _mutant(loop.relist_without_departures),
    _mutant(loop.begin_a_watch_at_the_newest, since=4),
    _mutant(loop.work_on_a_key_twice),
    _mutant(a_delete_names_no_uid),
    _mutant(a_status_is_written_blindly),
    _mutant(ready_workers_go_first, since=13),
    _mutant(labels_are_ownership),
    _mutant(a_suspended_group_is_filled, since=29),
    _mutant(suspension_is_not_announced, since=15),
    _mutant(suspended_is_said_too_early, since=15),
    _mutant(the_finalizer_goes_before_the_job_ended, since=20),
    _mutant(recreation_begins_with_the_head, since=640),
    _mutant(a_new_version_recreates, since=4),
    _mutant(a_leaving_head_counts_as_gone, since=49),
    _mutant(leaving_workers_count_as_gone, since=52),
    _mutant(leaving_workers_count_as_staying, since=78),
    _mutant(a_stuck_pod_is_waited_for, since=37),
    _mutant(half_a_replica_is_enough, since=58),
    _mutant(the_operator_chooses_for_the_autoscaler, since=14),
    _mutant(names_are_used_again, since=105),
    _mutant(who_manages_it_does_not_matter),
    _mutant(a_failure_is_never_forgotten),
    _mutant(removed_groups_stay, since=31),
)
