"""What scheduling a Pod comes to, and how kube-scheduler says it.

``0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate,
preemption: 0/3 nodes are available: …`` – reasons are counted over the nodes and sorted as texts; a reason that
concerns the Pod as a whole stands alone. Claims are those for devices, told of every Pod whose nodes were looked at.
"""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from heliostat.embedded.controllers.scheduler.filters import Refusal

NO_NODES = "no nodes available to schedule pods"
_NO_CLAIMS = "no new claims to deallocate"
_LONGEST_NOTE = 1024
_CUT = " ..."


class Placement(Struct, frozen=True):
    node: str


class Unschedulable(Struct, frozen=True):
    nodes: int  # how many there are
    refusals: Mapping[str, Refusal] = {}  # by the name of the node
    unseen: str = ""  # why the nodes that are not among them were not looked at
    blocked: str = ""  # why no node was looked at


def tell_unschedulable(verdict: Unschedulable, about_preemption: str = "") -> str:
    if not verdict.nodes:
        return NO_NODES
    why = f" {verdict.blocked}." if verdict.blocked else _tell_reasons(verdict)
    if not about_preemption:
        return f"0/{verdict.nodes} nodes are available:{why}"
    devices = "" if verdict.blocked else f" {_NO_CLAIMS},"
    return f"0/{verdict.nodes} nodes are available:{why}{devices} preemption: {about_preemption}"


def _tell_reasons(verdict: Unschedulable) -> str:
    counted = Counter(reason for refusal in verdict.refusals.values() for reason in refusal.reasons)
    unseen = verdict.nodes - len(verdict.refusals)
    if unseen and verdict.unseen:
        counted[verdict.unseen] += unseen
    told = sorted(f"{count} {reason}" for reason, count in counted.items())
    return f" {', '.join(told)}." if told else ""


def shorten_note(text: str) -> str:
    """As much of it as an event can hold."""
    return text if len(text.encode()) <= _LONGEST_NOTE else _cut(text.encode())


def _cut(text: bytes) -> str:
    return text[: _LONGEST_NOTE - len(_CUT)].decode(errors="ignore") + _CUT
