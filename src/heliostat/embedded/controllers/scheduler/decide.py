"""Where a Pod goes: the node that can take it and ranks best, or why there is none.

Rules: the node that room was made on for the Pod is tried first; room made for Pods of the same or a higher priority
counts as taken; the same view gives the same node. Nothing is changed here, and nothing is remembered but shortlists.
"""

from collections.abc import Mapping
from typing import TypeAlias

from heliostat.embedded.controllers.scheduler.accounts import NodeAccount, NodeAccounts
from heliostat.embedded.controllers.scheduler.demand import Demand, Load, build_load
from heliostat.embedded.controllers.scheduler.filters import Refusal, Surroundings, survey, why_not
from heliostat.embedded.controllers.scheduler.neighbours import NamespaceLabels
from heliostat.embedded.controllers.scheduler.scores import rank, score_all
from heliostat.embedded.controllers.scheduler.shortlists import Shortlists
from heliostat.embedded.controllers.scheduler.verdicts import Placement, Unschedulable
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.objects import Key

_Nominees: TypeAlias = dict[Key, Load]
_CONFLICT = "pod affinity terms conflict"
_OTHER_NAME = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


class Cluster:
    """What a decision reads: what nodes have, for whom room was made, and the labels of namespaces."""

    def __init__(self, namespaces: NamespaceLabels | None = None) -> None:
        self.accounts = NodeAccounts()
        self.shortlists = Shortlists(self.accounts)
        self.namespaces: NamespaceLabels = namespaces if namespaces is not None else {}
        self._nominated: dict[str, _Nominees] = {}

    def change_pod(self, before: Pod | None, after: Pod | None) -> None:
        for pod, is_now in ((before, False), (after, True)):
            if pod is not None and pod.status.nominated_node_name:
                self._nominate(pod, is_so=is_now and not pod.spec.node_name and not pod.is_over)
        self.accounts.change_pod(before, after)

    def _nominate(self, pod: Pod, *, is_so: bool) -> None:
        place, key = pod.status.nominated_node_name, pod.metadata.key
        if is_so:
            self._nominated.setdefault(place, {})[key] = build_load(pod)
            return
        self._nominated.get(place, {}).pop(key, None)
        if not self._nominated.get(place):
            self._nominated.pop(place, None)

    @property
    def has_nominated(self) -> bool:
        return bool(self._nominated)

    def account(self, name: str, demand: Demand) -> NodeAccount:
        """The node's account as this Pod must see it: with those that room was made for ahead of it."""
        account = self.accounts.registered[name]
        ahead = [
            load
            for key, load in self._nominated.get(name, {}).items()
            if load.priority >= demand.load.priority and key != demand.key and key not in account.loads
        ]
        if not ahead:
            return account
        seen = account.copy()
        for load in ahead:
            seen.add(load)
        return seen

    def survey(self, demand: Demand, trial: NodeAccount | None = None) -> Surroundings:
        """``trial`` stands in the place of the account of the same node."""
        name = trial.node.metadata.name if trial is not None and trial.node is not None else ""
        registered = self.accounts.registered
        accounts = (trial if trial is not None and found == name else registered[found] for found in registered)
        return survey(demand, accounts, are_apart=self.accounts.apart_count > 0, namespaces=self.namespaces)


def schedule(demand: Demand, cluster: Cluster, blocked: str = "") -> Placement | Unschedulable:
    """``blocked``: why the Pod can go nowhere for now, whatever the nodes (its volumes)."""
    total = len(cluster.accounts.registered)
    if not total:
        return Unschedulable(0)
    if demand.places.names is not None and not demand.places.names:
        blocked = _CONFLICT
    if blocked:
        return Unschedulable(total, blocked=blocked)
    if _is_simple(demand, cluster) and (name := cluster.shortlists.best(demand)) is not None:
        return Placement(name)
    return _schedule_among_all(demand, cluster, total)


def can_take(demand: Demand, name: str, cluster: Cluster) -> bool:
    """The node exists and nothing speaks against the Pod going there."""
    if name not in cluster.accounts.registered:
        return False
    return why_not(demand, cluster.account(name, demand), cluster.survey(demand)) is None


def _is_simple(demand: Demand, cluster: Cluster) -> bool:
    """Each node can be judged by itself, and scores do not depend on the other nodes."""
    accounts = cluster.accounts
    speaks_of_others = demand.together or demand.load.apart or demand.spread or demand.places.preferences
    return not (speaks_of_others or accounts.apart_count or accounts.soft_taint_count or cluster.has_nominated)


def _schedule_among_all(demand: Demand, cluster: Cluster, total: int) -> Placement | Unschedulable:
    if demand.nominated and can_take(demand, demand.nominated, cluster):
        return Placement(demand.nominated)
    names = [name for name in cluster.accounts.registered if _is_called(demand, name)]
    around = cluster.survey(demand)
    seen = {name: cluster.account(name, demand) for name in names}
    refusals = {name: why_not(demand, account, around) for name, account in seen.items()}
    able = {name: seen[name] for name, refusal in refusals.items() if refusal is None}
    if able:
        return Placement(_best(demand, able))
    refused: dict[str, Refusal] = {name: refusal for name, refusal in refusals.items() if refusal is not None}
    return Unschedulable(total, refused, unseen=_OTHER_NAME)


def _is_called(demand: Demand, name: str) -> bool:
    return demand.places.names is None or name in demand.places.names


def _best(demand: Demand, able: Mapping[str, NodeAccount]) -> str:
    scores = score_all(demand, list(able.values()))
    ranks = [rank(score, account, name) for score, (name, account) in zip(scores, able.items(), strict=True)]
    return min(ranks)[2]
