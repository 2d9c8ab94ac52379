"""Whether a Pod can go to a node, and if not, why, in kube-scheduler's order and words.

The first filter that refuses gives the reasons; a refusal is *final* when no Pod's leaving could change it. Filters
look at one node, except those about neighbours and spreading, whose view of all nodes is surveyed once per decision.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.controllers.scheduler.accounts import NodeAccount
from heliostat.embedded.controllers.scheduler.demand import ANY_ADDRESS, Demand, HostPort
from heliostat.embedded.controllers.scheduler.neighbours import (
    NamespaceLabels,
    Neighbourhood,
    Resident,
    survey_neighbours,
)
from heliostat.embedded.controllers.scheduler.places import ANYWHERE
from heliostat.embedded.controllers.scheduler.spreading import NO_LABEL, Site, Spread, survey_spread
from heliostat.embedded.controllers.taints import NO_SCHEDULE, is_tolerated, keeps_away
from heliostat.embedded.controllers.views.nodes import Node, Taint

_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", NO_SCHEDULE)


class Refusal(Struct, frozen=True):
    reasons: tuple[str, ...]
    is_final: bool = True


class Surroundings(Struct, frozen=True):
    """What one decision must know of all nodes; None: nothing of the kind matters to the Pod."""

    neighbourhood: Neighbourhood | None = None
    spread: Spread | None = None


NO_SURROUNDINGS = Surroundings()
Filter: TypeAlias = Callable[[Demand, Node, NodeAccount], Refusal | None]

_CLOSED = Refusal(("node(s) were unschedulable",))
_TAINTED = Refusal(("node(s) had untolerated taint(s)",))
_ELSEWHERE = Refusal(("node(s) didn't match Pod's node affinity/selector",))
_PORT_TAKEN = Refusal(("node(s) didn't have free ports for the requested pod ports",), is_final=False)


def _is_closed(demand: Demand, node: Node, _account: NodeAccount) -> Refusal | None:
    return _CLOSED if node.spec.unschedulable and not is_tolerated(_UNSCHEDULABLE, demand.tolerations) else None


def _is_tainted(demand: Demand, node: Node, _account: NodeAccount) -> Refusal | None:
    return _TAINTED if node.spec.taints and keeps_away(node.spec.taints, demand.tolerations) else None


def _is_elsewhere(demand: Demand, node: Node, _account: NodeAccount) -> Refusal | None:
    return None if demand.places is ANYWHERE or demand.places.allow(node) else _ELSEWHERE


def _is_port_taken(demand: Demand, _node: Node, account: NodeAccount) -> Refusal | None:
    if not demand.load.ports or not account.ports:
        return None
    return _PORT_TAKEN if any(_clashes(port, account.ports) for port in demand.load.ports) else None


def _clashes(wanted: HostPort, taken: Mapping[HostPort, int]) -> bool:
    address, protocol, port = wanted
    if address == ANY_ADDRESS:
        return any(other[1:] == (protocol, port) for other in taken)
    return wanted in taken or (ANY_ADDRESS, protocol, port) in taken


def _is_full(demand: Demand, _node: Node, account: NodeAccount) -> Refusal | None:
    reasons = ["Too many pods"] if len(account.loads) + 1 > account.pod_limit else []
    is_final = False
    for name, amount in demand.load.requests.items():
        offered = account.allocatable.get(name, 0)
        if amount > offered - account.used.get(name, 0):
            reasons.append(f"Insufficient {name}")
            is_final = is_final or amount > offered
    return Refusal(tuple(reasons), is_final) if reasons else None


FILTERS: tuple[Filter, ...] = (_is_closed, _is_tainted, _is_elsewhere, _is_port_taken, _is_full)
_FINAL_AMONG_OTHERS = (NO_LABEL, "node(s) didn't match pod affinity rules")


def why_not(demand: Demand, account: NodeAccount, around: Surroundings = NO_SURROUNDINGS) -> Refusal | None:
    """None: the Pod can go there."""
    node = account.node
    if node is None:
        return _ELSEWHERE
    for refuse in FILTERS:
        if (refusal := refuse(demand, node, account)) is not None:
            return refusal
    return None if around is NO_SURROUNDINGS else _why_not_among_others(node, around)


def _why_not_among_others(node: Node, around: Surroundings) -> Refusal | None:
    for view in (around.spread, around.neighbourhood):
        if view is not None and (reason := view.why_not(node.metadata.labels)):
            return Refusal((reason,), is_final=reason in _FINAL_AMONG_OTHERS)
    return None


def survey(
    demand: Demand, accounts: Iterable[NodeAccount], *, are_apart: bool, namespaces: NamespaceLabels
) -> Surroundings:
    """``are_apart``: some Pod on these nodes keeps others away."""
    asks_neighbours = are_apart or demand.together or demand.load.apart
    if not asks_neighbours and not demand.spread:
        return NO_SURROUNDINGS
    found = list(accounts)
    neighbourhood = spread = None
    if asks_neighbours:
        load = demand.load
        neighbourhood = survey_neighbours(load.metadata, demand.together, load.apart, _residents(found), namespaces)
    if demand.spread:
        spread = survey_spread(demand.spread, demand.load.metadata, _sites(demand, found))
    return Surroundings(neighbourhood, spread)


def _residents(accounts: Iterable[NodeAccount]) -> Iterable[Resident]:
    for account in accounts:
        if account.node is not None:
            labels = account.node.metadata.labels
            for load in account.loads.values():
                yield Resident(load.metadata, labels, load.apart)


def _sites(demand: Demand, accounts: Iterable[NodeAccount]) -> Iterable[Site]:
    for account in accounts:
        node = account.node
        if node is not None:
            staying = [load.metadata for load in account.loads.values() if not load.metadata.is_terminating]
            is_tainted = keeps_away(node.spec.taints, demand.tolerations)
            yield Site(node.metadata.labels, staying, demand.places.allow(node), is_tainted)
