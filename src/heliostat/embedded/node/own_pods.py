"""The Pods that are bound to the nodes of this process, and which of those nodes are lost.

Several nodes share one watch, of all Pods that are bound to any: what a write changed is looked for in every view of
its kind, and a view that is narrowed to another node would never show it. A node is lost while its Node object is
annotated ``heliostat.dev/simulate: lost``: as after a power cut, nothing runs there and nobody speaks for it.
"""

from collections.abc import Iterable, Iterator, Sequence

from heliostat.embedded.controllers.nodes.simulation import is_lost
from heliostat.embedded.controllers.views.nodes import NODES, Node
from heliostat.embedded.node.pods import POD, NodePod, pods_of
from heliostat.kube.objects import Key
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, itself

BOUND_PODS = CachedKind(POD, NodePod, field_selector="spec.nodeName!=")


class OwnPods:
    def __init__(self, caches: Caches, nodes: Sequence[str]) -> None:
        self.cache = caches.of(pods_of(nodes[0]) if len(nodes) == 1 else BOUND_PODS)
        self._nodes = caches.of(NODES)
        self._names = frozenset(nodes)

    def __iter__(self) -> Iterator[NodePod]:
        return (pod for pod in self.cache if pod.spec.node_name in self._names)

    def get(self, key: Key) -> NodePod | None:
        pod = self.cache.get(key)
        return pod if pod is not None and pod.spec.node_name in self._names else None

    def is_on_lost_node(self, pod: NodePod) -> bool:
        """A Node that is not there is not lost: its Pods go on until they are deleted."""
        node = self._nodes.get(Key("", pod.spec.node_name))
        return node is not None and is_lost(node)

    def sources(self) -> tuple[Source, Source]:
        return Source(self.cache, itself), Source(self._nodes, self._of_node_lost_or_found)

    def _of_node_lost_or_found(self, before: Node | None, after: Node | None) -> Iterable[Key]:
        if before is None or after is None or is_lost(before) == is_lost(after):
            return ()
        return [pod.metadata.key for pod in self if pod.spec.node_name == after.metadata.name]
