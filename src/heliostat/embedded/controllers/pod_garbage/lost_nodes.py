"""Whether a Node that Pods name is really gone: it has to be missing for a while, and then the server is asked for it.

A view may lag behind the server, and a Node may be registered after its first Pods. What is remembered here only
delays: after a restart a missing Node has its full quarantine again. A verdict holds for the Pods that were on the Node
when the server was asked, and only until the Node shows up again.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from heliostat.embedded.controllers.views.nodes import NODE, NODES, Node
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.kube.objects import Key
from heliostat.kube.plan import Effect, Plan, Ref, Stage, Wait
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.caches import Caches
from heliostat.runtime.errors import NotFoundError
from heliostat.runtime.reconciler import Signal, Source, Subject

QUARANTINE_SECONDS = 40.0
LOOK_FOR_NODE = "look-for-node"


class LostPods:
    """Pods whose Node the server does not have."""

    def __init__(self, caches: Caches) -> None:
        self.found = Signal()
        self.by_node = caches.of(PODS).add_index(_place_of)
        self._uids: set[str] = set()
        caches.of(PODS).subscribe(self._pod_changed)
        caches.of(NODES).subscribe(self._node_changed)

    def has(self, pod: Pod) -> bool:
        return pod.metadata.uid in self._uids

    def add(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            self._uids.add(pod.metadata.uid)
            self.found.send(pod.metadata.key)

    def _pod_changed(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None and after is None:
            self._uids.discard(before.metadata.uid)

    def _node_changed(self, _before: Node | None, after: Node | None) -> None:
        if after is not None and self._uids:
            self._uids.difference_update(pod.metadata.uid for pod in self.by_node.at(after.metadata.name))


class NodeQuarantine:
    """One key for each Node that Pods name and nobody has seen."""

    name = "missing-node-quarantine"

    def __init__(self, caches: Caches, lost: LostPods) -> None:
        self._pods = caches.of(PODS)
        self._nodes = caches.of(NODES)
        self._by_node = lost.by_node
        self._missed_since: dict[str, float] = {}
        self._nodes.subscribe(self._node_changed)

    def sources(self) -> Sequence[Source]:
        return Source(self._pods, self._keys_of_pod), Source(self._nodes, self._keys_of_node)

    def subject(self, key: Key) -> Subject | None:
        if self._nodes.get(key) is not None or not self._by_node.has(key.name):
            self._missed_since.pop(key.name, None)
            return None
        return Subject(Ref(NODE.api_version, NODE.kind, "", key.name), f"missing {key.name}")

    def plan(self, key: Key, now: float) -> Plan:
        left = self._missed_since.setdefault(key.name, now) + QUARANTINE_SECONDS - now
        if left > 0:
            wait = Wait("NodeMissing", f"Pods are on Node {key.name}, which is not there", "the quarantine is over")
            return Plan(waits=(wait,), wake_after=left)
        self._missed_since[key.name] = now
        look = Effect(LOOK_FOR_NODE, {"name": key.name}, key.name, "it has been missing for a while")
        return Plan((Stage("look", (look,)),), wake_after=QUARANTINE_SECONDS)

    def _keys_of_pod(self, before: Pod | None, after: Pod | None) -> Iterable[Key]:
        if after is None or not after.spec.node_name:
            return ()
        if before is not None and before.spec.node_name == after.spec.node_name:
            return ()
        key = Key("", after.spec.node_name)
        return (key,) if self._nodes.get(key) is None else ()

    def _node_changed(self, _before: Node | None, after: Node | None) -> None:
        if after is not None:
            self._missed_since.pop(after.metadata.name, None)

    def _keys_of_node(self, before: Node | None, after: Node | None) -> Iterable[Key]:
        return (before.metadata.key,) if before is not None and after is None else ()


class Getter(Protocol):
    async def get(self, resource: ResourceType, namespace: str, name: str, /) -> bytes: ...


class NodeSearch:
    """Asks the server for the Node."""

    effect = LOOK_FOR_NODE

    def __init__(self, client: Getter, lost: LostPods) -> None:
        self._client = client
        self._lost = lost

    async def carry_out(self, effect: Effect) -> None:
        name = effect.payload["name"]
        there = self._lost.by_node.at(name)
        try:
            await self._client.get(NODE, "", name)
        except NotFoundError:
            self._lost.add(there)


def _place_of(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()
