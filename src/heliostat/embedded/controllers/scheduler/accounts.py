"""What every node has and what is taken of it, kept up to date change by change: a decision never counts Pods.

Rules: a Pod counts from its binding (or from the decision to bind it: *assumed*) until it is over or gone; what is
assumed only delays others, and is dropped when the cache shows the Pod bound or gone. Every change of a node gives
it a new version, so that what was found out about it earlier is known to be stale.
"""

from collections.abc import Iterator

from heliostat.embedded.controllers.scheduler.demand import HostPort, Load, build_load
from heliostat.embedded.controllers.scheduler.requests import PODS, amount_of
from heliostat.embedded.controllers.taints import PREFER_NO_SCHEDULE
from heliostat.embedded.controllers.views.nodes import Node
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.objects import Key


class NodeAccount:
    """``node`` is None while Pods are bound to a node that nobody has registered."""

    __slots__ = ("allocatable", "loads", "node", "pod_limit", "ports", "scored_cpu", "scored_memory", "used", "version")

    def __init__(self, node: Node | None = None) -> None:
        self.version = 0
        self.used: dict[str, int] = {}
        self.scored_cpu = 0
        self.scored_memory = 0
        self.ports: dict[HostPort, int] = {}
        self.loads: dict[Key, Load] = {}
        self.set_node(node)

    def set_node(self, node: Node | None) -> None:
        offered = node.status.allocatable if node is not None else {}
        self.node = node
        self.allocatable = {name: amount_of(name, text) for name, text in offered.items()}
        self.pod_limit = self.allocatable.get(PODS, 0)

    def add(self, load: Load) -> None:
        self.loads[load.key] = load
        self._count(load, 1)

    def remove(self, key: Key) -> Load | None:
        load = self.loads.pop(key, None)
        if load is not None:
            self._count(load, -1)
        return load

    def copy(self) -> "NodeAccount":
        twin = NodeAccount(self.node)
        twin.used, twin.ports, twin.loads = dict(self.used), dict(self.ports), dict(self.loads)
        twin.scored_cpu, twin.scored_memory = self.scored_cpu, self.scored_memory
        return twin

    def _count(self, load: Load, sign: int) -> None:
        for name, amount in load.requests.items():
            self.used[name] = self.used.get(name, 0) + sign * amount
        self.scored_cpu += sign * load.scored_cpu
        self.scored_memory += sign * load.scored_memory
        for port in load.ports:
            self.ports[port] = self.ports.get(port, 0) + sign
            if not self.ports[port]:
                del self.ports[port]


class NodeAccounts:
    def __init__(self) -> None:
        self.sequence = 0  # of the newest change
        self.apart_count = 0  # Pods on nodes that keep others away
        self.soft_taint_count = 0
        self.registered: dict[str, NodeAccount] = {}  # the nodes that exist, by name
        self._accounts: dict[str, NodeAccount] = {}
        self._place_of: dict[Key, str] = {}
        self._assumed: dict[Key, str] = {}  # to the UID
        self._changed: dict[str, int] = {}  # the sequence of a node's last change, oldest first

    def change_node(self, before: Node | None, after: Node | None) -> None:
        item = after or before
        if item is None or (before is not None and after is not None and offers_same(before, after)):
            return
        name = item.metadata.name
        account = self._accounts.setdefault(name, NodeAccount())
        account.set_node(after)
        self.soft_taint_count += _soft_taints(after) - _soft_taints(before)
        if after is not None:
            self.registered[name] = account
        else:
            self.registered.pop(name, None)
        self._touch(name, account)

    def change_pod(self, before: Pod | None, after: Pod | None) -> None:
        item = after or before
        if item is None:
            return
        key = item.metadata.key
        if after is not None and after.spec.node_name and not after.is_over:
            self._assumed.pop(key, None)
            if self._place_of.get(key) != after.spec.node_name or not _takes_same(before, after):
                self._take(build_load(after), after.spec.node_name)
        elif after is None or after.is_over or self._assumed.get(key) != after.metadata.uid:
            self.forget(key)

    def assume(self, load: Load, node: str) -> None:
        """Taken from now on, though the cache does not show it yet."""
        self._take(load, node)
        self._assumed[load.key] = load.metadata.uid

    def assumed_place(self, key: Key) -> str:
        return self._place_of.get(key, "") if key in self._assumed else ""

    def forget(self, key: Key) -> None:
        self._assumed.pop(key, None)
        self._leave(key)

    def changed_since(self, sequence: int) -> Iterator[str]:
        """Names of nodes that changed after that, the newest change first."""
        for name in reversed(self._changed):
            if self._changed[name] <= sequence:
                return
            yield name

    def _take(self, load: Load, name: str) -> None:
        self._leave(load.key)
        account = self._accounts.setdefault(name, NodeAccount())
        account.add(load)
        self.apart_count += bool(load.apart)
        self._place_of[load.key] = name
        self._touch(name, account)

    def _leave(self, key: Key) -> None:
        name = self._place_of.pop(key, None)
        if name is None:
            return
        account = self._accounts[name]
        load = account.remove(key)
        self.apart_count -= bool(load is not None and load.apart)
        self._touch(name, account)

    def _touch(self, name: str, account: NodeAccount) -> None:
        self.sequence += 1
        account.version = self.sequence
        self._changed.pop(name, None)  # so that the newest change stands last
        if account.node is None and not account.loads:
            del self._accounts[name]
        else:
            self._changed[name] = self.sequence


def _soft_taints(node: Node | None) -> int:
    return sum(taint.effect == PREFER_NO_SCHEDULE for taint in node.spec.taints) if node is not None else 0


def offers_same(before: Node, after: Node) -> bool:
    """Heartbeats change nothing here."""
    return (
        before.spec == after.spec
        and before.metadata.labels == after.metadata.labels
        and before.status.allocatable == after.status.allocatable
    )


def _takes_same(before: Pod | None, after: Pod) -> bool:
    if before is None or before.metadata.uid != after.metadata.uid or before.is_over:
        return False
    old, new = before.spec, after.spec
    return (
        old.containers == new.containers
        and old.init_containers == new.init_containers
        and old.resources == new.resources
        and before.metadata.labels == after.metadata.labels
        and before.metadata.is_terminating == after.metadata.is_terminating
        and before.status.start_time == after.status.start_time
    )
