"""The best node for Pods of one shape, without looking at every node for every Pod.

For each shape the nodes that can take it stand in a heap by rank. Only nodes that changed since the shape was last
asked for are judged again; an entry whose node has a newer version is stale and thrown away when it comes up. Holds
for Pods whose judgement of a node depends on that node alone.
"""

from heapq import heapify, heappop, heappush

from heliostat.embedded.controllers.scheduler.accounts import NodeAccounts
from heliostat.embedded.controllers.scheduler.demand import Demand
from heliostat.embedded.controllers.scheduler.filters import why_not
from heliostat.embedded.controllers.scheduler.scores import Rank, rank, score_capacity

_MOST_SHAPES = 200
_SPARE_ENTRIES = 64


class _Shortlist:
    __slots__ = ("heap", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.heap: list[tuple[Rank, int]] = []  # with the version of the node that was judged


class Shortlists:
    def __init__(self, accounts: NodeAccounts) -> None:
        self._accounts = accounts
        self._by_shape: dict[bytes, _Shortlist] = {}

    def best(self, demand: Demand) -> str | None:
        """The name of the best node, None when no node can take the Pod."""
        shortlist = self._of(demand.shape)
        self._judge_changed(demand, shortlist)
        heap = shortlist.heap
        while heap:
            (_score, _pods, name), version = heap[0]
            if self._is_current(name, version):
                return name
            heappop(heap)
        return None

    def _of(self, shape: bytes) -> _Shortlist:
        found = self._by_shape.pop(shape, None) or _Shortlist()
        self._by_shape[shape] = found  # the one asked for last stands last
        if len(self._by_shape) > _MOST_SHAPES:
            del self._by_shape[next(iter(self._by_shape))]
        return found

    def _judge_changed(self, demand: Demand, shortlist: _Shortlist) -> None:
        registered = self._accounts.registered
        for name in self._accounts.changed_since(shortlist.seen):
            account = registered.get(name)
            if account is not None and why_not(demand, account) is None:
                entry = rank(score_capacity(demand, account), account, name), account.version
                heappush(shortlist.heap, entry)
        shortlist.seen = self._accounts.sequence
        if len(shortlist.heap) > 2 * len(registered) + _SPARE_ENTRIES:
            shortlist.heap = [entry for entry in shortlist.heap if self._is_current(entry[0][2], entry[1])]
            heapify(shortlist.heap)

    def _is_current(self, name: str, version: int) -> bool:
        account = self._accounts.registered.get(name)
        return account is not None and account.version == version
