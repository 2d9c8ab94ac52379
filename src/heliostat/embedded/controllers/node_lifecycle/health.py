"""What becomes of a node by its conditions and by how long it has been silent.

A node that has not been heard of for 50 seconds (60 when it never reported) is Unknown. Its taints follow from its
conditions: NoSchedule for whatever is wrong with it, NoExecute when it is not ready. Taints of others stay.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.taints import NO_EXECUTE, NO_SCHEDULE
from heliostat.embedded.controllers.views.nodes import Node, NodeCondition, Taint

MONITOR_GRACE = 50.0
STARTUP_GRACE = 60.0
_WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_PREFIX = "node.kubernetes.io/"
UNSCHEDULABLE = f"{_PREFIX}unschedulable"
# What a condition with this status says about the node.
_TAINT_OF = {
    ("Ready", "False"): f"{_PREFIX}not-ready",
    ("Ready", "Unknown"): f"{_PREFIX}unreachable",
    ("MemoryPressure", "True"): f"{_PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{_PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{_PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{_PREFIX}pid-pressure",
}
_OURS_NO_SCHEDULE = frozenset((*_TAINT_OF.values(), UNSCHEDULABLE))
_OURS_NO_EXECUTE = frozenset(taint for (type_, _status), taint in _TAINT_OF.items() if type_ == "Ready")


class Health(Struct, frozen=True):
    """As the node should read; ``is_news`` when it was thought ready until now."""

    conditions: tuple[NodeCondition, ...]
    taints: tuple[Taint, ...]
    is_news: bool
    is_silent: bool
    seconds_left: float  # until its silence counts


def decide_health(node: Node, heard_at: float, now_seconds: float, now: str) -> Health:
    """``heard_at``: when its last sign of life was noticed."""
    ready = node.condition("Ready")
    grace = MONITOR_GRACE if ready is not None else STARTUP_GRACE
    left = heard_at + grace - now_seconds
    is_silent = left < 0
    conditions = _doubted(node, now) if is_silent else node.status.conditions
    return Health(
        conditions=conditions,
        taints=_taints(node, conditions, now),
        is_news=is_silent and ready is not None and ready.status == "True",
        is_silent=is_silent,
        seconds_left=max(0.0, left),
    )


def _doubted(node: Node, now: str) -> tuple[NodeCondition, ...]:
    known = {condition.type: condition for condition in node.status.conditions}
    for type_ in _WATCHED:
        known[type_] = _doubt(known.get(type_), type_, node, now)
    return tuple(known.values())


def _doubt(condition: NodeCondition | None, type_: str, node: Node, now: str) -> NodeCondition:
    if condition is None:
        words = "NodeStatusNeverUpdated", "Kubelet never posted node status."
        return NodeCondition(type_, "Unknown", *words, node.metadata.creation_timestamp, now)
    if condition.status == "Unknown":
        return condition
    return msgspec.structs.replace(
        condition,
        status="Unknown",
        reason="NodeStatusUnknown",
        message="Kubelet stopped posting node status.",
        last_transition_time=now,
    )


def _taints(node: Node, conditions: Iterable[NodeCondition], now: str) -> tuple[Taint, ...]:
    wanted = [key for found in conditions if (key := _TAINT_OF.get((found.type, found.status))) is not None]
    if node.spec.unschedulable:
        wanted.append(UNSCHEDULABLE)
    pairs = [(key, NO_SCHEDULE) for key in wanted]
    pairs += [(key, NO_EXECUTE) for key in wanted if key in _OURS_NO_EXECUTE]
    kept = [taint for taint in node.spec.taints if not _is_ours(taint) or (taint.key, taint.effect) in pairs]
    there = {(taint.key, taint.effect) for taint in kept}
    return (*kept, *(Taint(key, effect, time_added=now) for key, effect in pairs if (key, effect) not in there))


def _is_ours(taint: Taint) -> bool:
    ours = {NO_SCHEDULE: _OURS_NO_SCHEDULE, NO_EXECUTE: _OURS_NO_EXECUTE}
    return taint.key in ours.get(taint.effect, frozenset())
