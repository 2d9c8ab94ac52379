"""Multi-host groups: a replica is several Pods that live and die together (raycluster.md §5.4).

| a replica's Pods | verdict |
|---|---|
| one has ended, and was not just made | all go, and a new replica takes the place in the same pass |
| one is in ``workersToDelete`` or terminating, or some are missing | all go; the place is free when they are gone |
| all there | valid; more than asked for is no fault |

A Pod without a replica name belongs to no replica: it is neither counted nor deleted (KubeRay: R5-50), only reported.
Differs from KubeRay: R5-51 handles one incomplete replica per pass; here all of them, and other replicas do not wait.
"""

from enum import StrEnum
from itertools import islice

from msgspec import Struct

from heliostat.desired import labels
from heliostat.desired.raycluster.model import DesiredGroup
from heliostat.desired.raycluster.pods import stamp_worker
from heliostat.kube.plan import Create, Delete, Wait
from heliostat.kube.pods import PodView, is_terminating
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import Part, soonest
from heliostat.plan.raycluster.places import (
    MAX_NEW_PODS,
    create_worker,
    free_indices,
    tell_autoscaler_chooses,
    tell_batch,
    tell_ended_at_once,
    tell_leaving,
    wake_when_due,
    wake_when_stuck,
)
from heliostat.plan.raycluster.pod_context import PodContext, delete_pod
from heliostat.plan.raycluster.pod_health import (
    WORKER_PATIENCE,
    Presence,
    ended_at_once,
    presence_of,
    rank_victims,
    replica_index,
    why_replace,
)
from heliostat.plan.raycluster.reports import report_replica_pod


class Condition(StrEnum):
    VALID = "valid"
    BROKEN = "broken"  # replaced at once
    GOING = "going"  # replaced when it is gone
    GONE = "gone"  # only stuck Pods are left


class Replica(Struct, frozen=True):
    name: str
    pods: list[PodView]  # by name
    condition: Condition
    because: Because = Because.INCOMPLETE_REPLICA
    why: str = ""

    @property
    def index(self) -> int | None:
        return replica_index(self.pods[0])


def plan_replicas(group: DesiredGroup, members: list[PodView], context: PodContext) -> Part:
    replicas = _judge_replicas(group, members, context)
    valid = [replica for replica in replicas if replica.condition is Condition.VALID]
    going = [replica for replica in replicas if replica.condition is Condition.GOING]
    broken = [replica for replica in replicas if replica.condition is Condition.BROKEN]
    parting = [delete for replica in (*broken, *going) for delete in _delete_replica(group, replica, context)]
    surplus, surplus_waits = _plan_surplus(group, valid, context)
    creates, create_waits = _fill_places(group, [*valid, *going], context)
    leaving = [pod for replica in going for pod in replica.pods if is_terminating(pod)]
    held = ended_at_once((pod for replica in (*valid, *going) for pod in replica.pods), context.now)
    waits = [*surplus_waits, *create_waits, *tell_ended_at_once(held), *_tell_nameless(group, members)]
    if len(valid) < group.replicas:
        waits += tell_leaving(group.name, leaving)
    return Part(
        actions=(*parting, *surplus, *creates),
        waits=tuple(waits),
        is_blocked=bool(create_waits) and context.certificates is not None,
        wake_after=soonest((wake_when_stuck(leaving, context.now), wake_when_due(held, context.now))),
    )


def _judge_replicas(group: DesiredGroup, members: list[PodView], context: PodContext) -> list[Replica]:
    by_name: dict[str, list[PodView]] = {}
    for pod in members:
        if name := pod.labels.get(labels.REPLICA_NAME):
            by_name.setdefault(name, []).append(pod)
    return [_judge(group, name, pods, context) for name, pods in sorted(by_name.items())]


def _judge(group: DesiredGroup, name: str, pods: list[PodView], context: PodContext) -> Replica:
    presences = {presence_of(pod, context.now, WORKER_PATIENCE) for pod in pods}
    if presences == {Presence.STUCK}:
        return Replica(name, pods, Condition.GONE)
    ended = next((why for pod in pods if (why := why_replace(pod, context.now))), None)
    if ended is not None:
        return Replica(name, pods, Condition.BROKEN, Because.UNHEALTHY, ended)
    if any(pod.name in context.asked_away for pod in pods):
        return Replica(name, pods, Condition.GOING, Because.ASKED_FOR, "autoscaler scale-down request")
    if len(pods) < group.hosts or presences != {Presence.STAYING}:
        why = "cleanup of incomplete multi-host group"
        return Replica(name, pods, Condition.GOING, Because.INCOMPLETE_REPLICA, why)
    return Replica(name, pods, Condition.VALID)


def _delete_replica(group: DesiredGroup, replica: Replica, context: PodContext) -> list[Delete]:
    return [
        delete_pod(pod, replica.because, report_replica_pod(pod, group.name, replica.why), replica.why)
        for pod in replica.pods
        if presence_of(pod, context.now, WORKER_PATIENCE) is Presence.STAYING
    ]


def _plan_surplus(group: DesiredGroup, valid: list[Replica], context: PodContext) -> tuple[list[Delete], list[Wait]]:
    surplus = len(valid) - group.replicas
    if surplus <= 0:
        return [], []
    if not context.may_choose_victims:
        return [], [tell_autoscaler_chooses(group.name, surplus)]
    victims = [
        Replica(replica.name, replica.pods, replica.condition, Because.SCALE_DOWN, "scaling down")
        for replica in _rank(valid)[:surplus]
    ]
    return [delete for replica in victims for delete in _delete_replica(group, replica, context)], []


def _rank(valid: list[Replica]) -> list[Replica]:
    """A replica is worth what its weakest Pod is worth."""
    by_weakest = {rank_victims(replica.pods)[0].name: replica for replica in valid}
    weakest = [pod for replica in valid for pod in replica.pods if pod.name in by_weakest]
    return [by_weakest[pod.name] for pod in rank_victims(weakest)]


def _fill_places(group: DesiredGroup, keeping: list[Replica], context: PodContext) -> tuple[list[Create], list[Wait]]:
    free = group.replicas - len(keeping)
    if free <= 0:
        return [], []
    if context.certificates is not None:
        return [], [context.certificates]
    if group.hosts > MAX_NEW_PODS:
        message = f"a replica of {group.hosts} Pods cannot be made at once; {MAX_NEW_PODS} is the limit"
        return [], [Wait(Hold.TOO_MANY, message, f"numOfHosts of group {group.name} is lowered")]
    batch = min(free, MAX_NEW_PODS // group.hosts)
    indices = free_indices(replica.index for replica in keeping)
    creates = [create for index in islice(indices, batch) for create in _build_replica(group, index, context)]
    return creates, tell_batch(group.name, (free - batch) * group.hosts)


def _build_replica(group: DesiredGroup, index: int, context: PodContext) -> list[Create]:
    name = f"{group.name}-{context.names.suffix(f'{group.name}-', group.name, index, -1)}"
    creates = []
    for host in range(group.hosts):
        suffix = context.names.suffix(group.name_prefix, group.name, index, host)
        creates.append(create_worker(stamp_worker(group, suffix, index, host, name), context))
    return creates


def _tell_nameless(group: DesiredGroup, members: list[PodView]) -> list[Wait]:
    nameless = [pod.name for pod in members if not pod.labels.get(labels.REPLICA_NAME)]
    if not nameless:
        return []
    message = f"{len(nameless)} Pods of group {group.name} name no replica and are not counted: {nameless[0]}"
    return [Wait(Hold.LEFTOVER_PODS, message, "they are deleted by hand")]
