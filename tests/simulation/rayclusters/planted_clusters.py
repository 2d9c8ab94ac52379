"""Planted bugs in what a RayCluster says and goes through: suspension, clean-up, another version, its status."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import structs

from heliostat.kube import conditions as kube_conditions
from heliostat.kube.facts import Unknown
from heliostat.operator.raycluster.memory import Memory
from heliostat.plan.draft import NOTHING
from heliostat.plan.itself import Finalizer
from heliostat.plan.raycluster import cluster as plan_cluster
from heliostat.plan.raycluster import deletion, kind, status, status_conditions, suspend, upgrade
from heliostat.plan.raycluster.deletion import Step
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_context import PodContext
from heliostat.plan.raycluster.suspend import SUSPENDING, PodsFate
from heliostat.plan.raycluster.upgrade import Upgrade
from heliostat.runtime import calls
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.transport import Call
from simulation.mutants import replaced


def labels_are_ownership() -> Any:
    """Every Pod that wears the cluster's label is its own: KubeRay's workersToDelete deletes such ones too."""

    def own_pods(self: ObservedCluster) -> Any:
        return self.pods if isinstance(self.pods, Unknown) else tuple(sorted(self.pods, key=lambda pod: pod.name))

    return replaced((ObservedCluster, "own_pods", property(own_pods)))


def suspension_is_not_announced() -> Any:
    """Pods go as soon as the wish is there; it can be taken back half-way."""

    def decide(*, gate: bool, status: str, suspend: bool) -> PodsFate:
        return PodsFate.DELETE_ALL if suspend else PodsFate.RECONCILE

    return replaced((suspend, "decide_pods_fate", decide))


def suspended_is_said_too_early() -> Any:
    def conditions(
        status: str, *, has_pods: bool, suspend: Any, original: Callable[..., Any] = suspend.next_suspend_conditions
    ) -> Any:
        return original(status, has_pods=False, suspend=suspend)

    return replaced((status_conditions, "next_suspend_conditions", conditions))


def the_finalizer_goes_before_the_job_ended() -> Any:
    def decide(*, original: Callable[..., Step] = deletion.decide_cleanup, **facts: Any) -> Step:
        step = original(**facts)
        return Step.RELEASE if step is Step.WAIT_FOR_JOB else step

    return replaced((deletion, "decide_cleanup", decide))


def recreation_begins_with_the_head() -> Any:
    """The head carries the hash: when it is gone, nobody knows of the old workers any more."""

    def plan(context: PodContext, original: Callable[..., Any] = upgrade.plan_recreate) -> Any:
        return original(context)[::-1]

    return replaced((upgrade, "plan_recreate", plan))


def a_new_version_recreates() -> Any:
    """The hash changes with the operator (kuberay#2315), and every cluster rolls."""

    def decide(*arguments: Any, original: Callable[..., Upgrade] = upgrade.decide_upgrade) -> Upgrade:
        verdict = original(*arguments)
        return Upgrade.RECREATE if verdict is Upgrade.RESTAMP else verdict

    return replaced((upgrade, "decide_upgrade", decide))


def who_manages_it_does_not_matter() -> Any:
    return replaced((plan_cluster, "is_managed_here", lambda _name: True))


def a_failure_is_never_forgotten() -> Any:
    def ended(self: Memory, key: Any, outcome: Outcome, original: Callable[..., bool] = Memory.ended) -> bool:
        return original(self, key, outcome) if outcome.failures else False

    return replaced((Memory, "ended", ended))


def a_status_is_written_blindly() -> Any:
    """Over whatever somebody else has written meanwhile."""

    def status_call(
        *arguments: Any, resource_version: str, original: Callable[..., Call] = calls.status_call, **options: Any
    ) -> Call:
        call = original(*arguments, resource_version=resource_version, **options)
        operations = msgspec.json.decode(call.body)
        return structs.replace(call, body=msgspec.json.encode([operations[0], operations[2]]))

    return replaced((calls, "status_call", status_call))


def suspension_is_taken_back() -> Any:
    """Half-way, when the wish is gone: who counts on the capacity finds it taken."""

    def conditions(
        status: str, *, has_pods: bool, suspend: Any, original: Callable[..., Any] = suspend.next_suspend_conditions
    ) -> Any:
        is_unwanted = status == SUSPENDING and suspend is False
        return {SUSPENDING: False} if is_unwanted else original(status, has_pods=has_pods, suspend=suspend)

    return replaced((status_conditions, "next_suspend_conditions", conditions))


def no_finalizer() -> Any:
    """Redis keeps what nobody will ever read again."""
    return replaced((deletion, "plan_finalizer", lambda _cluster, _settings: NOTHING))


def transition_times_stay() -> Any:
    def set_condition(conditions: Any, new: Any, now: str, original: Any = kube_conditions.set_condition) -> Any:
        former = {each["type"]: each["lastTransitionTime"] for each in conditions or ()}
        found = original(conditions, new, now)
        return [{**each, "lastTransitionTime": former.get(each["type"], each["lastTransitionTime"])} for each in found]

    return replaced((status_conditions, "set_condition", set_condition))


def _told_otherwise(**fields: Any) -> Any:
    def describe(*arguments: Any, original: Callable[..., Any] = status._describe) -> Any:
        return {**original(*arguments), **fields}

    return replaced((status, "_describe", describe))


def available_workers_are_not_counted() -> Any:
    return _told_otherwise(availableWorkerReplicas=0)


def the_generation_stays_the_first() -> Any:
    return _told_otherwise(observedGeneration=1)


def the_wish_is_told_wrongly() -> Any:
    return _told_otherwise(desiredWorkerReplicas=99)


def finalizers_of_others_go() -> Any:
    return replaced((Finalizer, "_list_others", lambda _self, _metadata: []))


def an_absent_field_breaks_it() -> Any:
    """kuberay#4102: nobody thought of a spec without it."""

    def plan(situation: Any, original: Callable[..., Any] = plan_cluster.plan_cluster) -> Any:
        spec = situation.observed.cluster.spec
        if spec.worker_group_specs is None or spec.head_group_spec.ray_start_params is None:
            raise LookupError("a field is absent")
        return original(situation)

    return replaced((kind, "plan_cluster", plan))
