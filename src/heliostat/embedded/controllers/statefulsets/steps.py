"""What a StatefulSet does next to its Pods, in which order.

Rules: OrderedReady takes one step at a time, makes Pods upwards and waits for each to be available, then ends those
beyond the number that is wanted, downwards; Parallel waits for nobody. A Pod that is over is ended, to be made anew. A
rolling update ends one Pod of an older revision at a time, downwards to the partition, and waits for those above it;
OnDelete leaves that to others.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.controllers.replicasets.status import seconds_to_available
from heliostat.embedded.controllers.statefulsets.identity import REVISION_LABEL, name_revision
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.statefulsets import StatefulSet


class Make(Struct, frozen=True):
    ordinal: int


class End(Struct, frozen=True):
    pod: Pod
    because: str


Step: TypeAlias = Make | End
Members: TypeAlias = Mapping[int, Pod]  # by their number


def decide_steps(owner: StatefulSet, members: Members, now: float) -> tuple[Step, ...]:
    steps: list[Step] = []
    is_ordered = owner.spec.pod_management_policy != "Parallel"
    for ordinal in _wanted(owner):
        pod = members.get(ordinal)
        if pod is not None and is_healthy(owner, pod, now):
            continue
        steps.extend(_mend(ordinal, pod))
        if is_ordered:
            return tuple(steps)
    condemned = [pod for ordinal, pod in sorted(members.items(), reverse=True) if ordinal not in _wanted(owner)]
    ends = [End(pod, f"there are to be {owner.spec.replicas}") for pod in condemned if not pod.metadata.is_terminating]
    if is_ordered and condemned:
        return () if condemned[0].metadata.is_terminating else tuple(ends[:1])
    steps.extend(ends)
    return tuple(steps) or tuple(_decide_update(owner, members, now))


def is_healthy(owner: StatefulSet, pod: Pod, now: float) -> bool:
    return pod.is_active and seconds_to_available(pod, owner.spec.min_ready_seconds, now) == 0


def _wanted(owner: StatefulSet) -> range:
    return range(owner.spec.ordinals.start, owner.spec.ordinals.start + owner.spec.replicas)


def _mend(ordinal: int, pod: Pod | None) -> Iterator[Step]:
    if pod is None:
        yield Make(ordinal)
    elif pod.is_over and not pod.metadata.is_terminating:
        yield End(pod, f"it is over ({pod.status.phase})")


def _decide_update(owner: StatefulSet, members: Members, now: float) -> Iterator[Step]:
    strategy = owner.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return
    partition = strategy.rolling_update.partition if strategy.rolling_update is not None else 0
    for ordinal in reversed(_wanted(owner)[partition:]):
        pod = members.get(ordinal)
        if pod is None or pod.metadata.is_terminating:
            return
        if pod.metadata.labels.get(REVISION_LABEL) != name_revision(owner):
            yield End(pod, "the template has changed")
            return
        if not is_healthy(owner, pod, now):
            return
