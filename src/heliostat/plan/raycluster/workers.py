"""Worker groups with one Pod per replica: who goes, how many come (raycluster.md §5.3).

1. A Pod that has ended goes, unless it was just made, and so does one that ``workersToDelete`` names; neither keeps
   its place.
2. Every other Pod keeps its place, a terminating one too, until it is gone or stuck.
3. Free places are filled, with the smallest indices that no Pod has.
4. Only Pods that stay beyond ``replicas`` are surplus; with the autoscaler on it chooses them, not we.

An ended worker is replaced in the same pass (KubeRay deletes, reports an error and comes back): the view that holds
the old Pod gives the new one another name. Groups do not wait for each other.
"""

from collections.abc import Iterator
from itertools import islice

from heliostat.desired import labels
from heliostat.desired.raycluster.model import DesiredGroup
from heliostat.desired.raycluster.pods import stamp_worker
from heliostat.kube.plan import Create, Delete, Wait
from heliostat.kube.pods import PodView, is_terminating
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import Part, soonest, wait_beside
from heliostat.plan.raycluster.multihost import plan_replicas
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
    group_of,
    node_type,
    presence_of,
    rank_victims,
    replica_index,
    why_replace,
)
from heliostat.plan.raycluster.reports import (
    report_asked_worker,
    report_group_suspension,
    report_surplus_worker,
    report_unhealthy_worker,
)
from heliostat.plan.raycluster.suspend import delete_all


def plan_groups(context: PodContext) -> Iterator[tuple[str, Part]]:
    """One part for each group, in the order of the spec."""
    seen: set[str] = set()
    for group in context.desired.groups:
        if group.name in seen:
            # Differs from KubeRay: R5-22. Two groups of one name would take each other's Pods for their own, for ever.
            message = f"there is more than one worker group named {group.name}; only the first counts"
            yield group.name, wait_beside(Hold.DUPLICATE_GROUP, message, "each group has a name of its own")
        else:
            seen.add(group.name)
            yield group.name, plan_group(group, context)


def plan_group(group: DesiredGroup, context: PodContext) -> Part:
    members = [pod for pod in context.pods if group_of(pod) == group.name and node_type(pod) == labels.WORKER]
    if group.suspended:
        report = report_group_suspension(group.name, context.place)
        return Part(actions=delete_all(tuple(members), Because.GROUP_SUSPENDED, report))
    if group.hosts > 1 and context.settings.gate("RayMultiHostIndexing"):
        return plan_replicas(group, members, context)
    return _plan_single_hosts(group, members, context)


def _plan_single_hosts(group: DesiredGroup, members: list[PodView], context: PodContext) -> Part:
    keeping = [pod for pod in members if _keeps_place(pod, context)]
    staying = [pod for pod in keeping if not is_terminating(pod)]
    wanted = max(0, group.pods)
    parting = _part_with(members, context)
    surplus, surplus_waits = _plan_surplus(group, staying, len(staying) - wanted, context)
    creates, create_waits = _fill_places(group, keeping, wanted - len(keeping), context)
    leaving = [pod for pod in keeping if is_terminating(pod)]
    held = ended_at_once(keeping, context.now)
    waits = [*surplus_waits, *create_waits, *tell_ended_at_once(held)]
    if len(staying) < wanted:
        waits += tell_leaving(group.name, leaving)
    return Part(
        actions=(*parting, *surplus, *creates),
        waits=tuple(waits),
        is_blocked=bool(create_waits) and context.certificates is not None,
        wake_after=soonest((wake_when_stuck(leaving, context.now), wake_when_due(held, context.now))),
    )


def _keeps_place(pod: PodView, context: PodContext) -> bool:
    is_stuck = presence_of(pod, context.now, WORKER_PATIENCE) is Presence.STUCK
    return why_replace(pod, context.now) is None and pod.name not in context.asked_away and not is_stuck


def _part_with(members: list[PodView], context: PodContext) -> Iterator[Delete]:
    for pod in members:
        if is_terminating(pod):
            continue
        why = why_replace(pod, context.now)
        if why is not None:
            yield delete_pod(pod, Because.UNHEALTHY, report_unhealthy_worker(pod), why)
        elif pod.name in context.asked_away:
            # Differs from KubeRay: R5-26, where such a name deletes any Pod of the namespace.
            yield delete_pod(pod, Because.ASKED_FOR, report_asked_worker(pod))


def _plan_surplus(
    group: DesiredGroup, staying: list[PodView], surplus: int, context: PodContext
) -> tuple[list[Delete], list[Wait]]:
    if surplus <= 0:
        return [], []
    if not context.may_choose_victims:
        return [], [tell_autoscaler_chooses(group.name, surplus)]
    victims = rank_victims(staying)[:surplus]
    return [delete_pod(pod, Because.SCALE_DOWN, report_surplus_worker(pod)) for pod in victims], []


def _fill_places(
    group: DesiredGroup, keeping: list[PodView], free: int, context: PodContext
) -> tuple[list[Create], list[Wait]]:
    if free <= 0:
        return [], []
    if context.certificates is not None:
        return [], [context.certificates]
    indices = free_indices(replica_index(pod) for pod in keeping)
    has_index = context.settings.gate("RayMultiHostIndexing")
    creates = []
    for position, index in enumerate(islice(indices, min(free, MAX_NEW_PODS))):
        suffix = context.names.suffix_again(group.name_prefix, group.name, index, position)
        pod = stamp_worker(group, suffix, index if has_index else None)
        creates.append(create_worker(pod, context))
    return creates, tell_batch(group.name, free - len(creates))
