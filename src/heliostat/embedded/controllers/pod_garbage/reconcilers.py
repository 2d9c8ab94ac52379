"""The wiring of Pod garbage: one key for each Pod that may have to go, and one for all that are over."""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.pod_garbage.decision import (
    MOST_FINISHED,
    decide_removal,
    is_out_of_service,
    plan_removal,
    plan_surplus,
)
from heliostat.embedded.controllers.pod_garbage.lost_nodes import LostPods
from heliostat.embedded.controllers.views.nodes import NODES, Node
from heliostat.embedded.controllers.views.pods import POD, PODS, Pod
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Ref
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, signalled, subject_of

LOOK_EVERY_SECONDS = 20.0
_FINISHED = Key("", "finished")


class PodGarbage:
    """Pods without a Node that could end them."""

    name = "pod-garbage-collector-controller"

    def __init__(self, caches: Caches, lost: LostPods) -> None:
        self._pods = caches.of(PODS)
        self._nodes = caches.of(NODES)
        self._lost = lost

    def sources(self) -> Sequence[Source]:
        return (
            Source(self._pods, _if_terminating),
            Source(self._nodes, self._keys_of_node),
            Source(self._lost.found, signalled),
        )

    def subject(self, key: Key) -> Subject | None:
        pod = self._pods.get(key)
        return subject_of(pod, POD.api_version, POD.kind) if pod is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        pod = self._pods.get(key)
        if pod is None:
            return Plan()
        node = self._nodes.get(Key("", pod.spec.node_name)) if pod.spec.node_name else None
        removal = decide_removal(pod, node, is_node_gone=self._lost.has(pod))
        return plan_removal(pod, removal, now) if removal is not None else Plan()

    def _keys_of_node(self, _before: Node | None, after: Node | None) -> Iterable[Key]:
        if after is None or not is_out_of_service(after):
            return ()
        return [pod.metadata.key for pod in self._lost.by_node.at(after.metadata.name) if pod.metadata.is_terminating]


class FinishedPods:
    """Of the Pods that are over only so many are kept. They are counted when one is over, at most every 20 seconds."""

    name = "finished-pods-controller"

    def __init__(self, caches: Caches, most: int = MOST_FINISHED) -> None:
        self._pods = caches.of(PODS)
        self._most = most
        self._counted_at: float | None = None

    def sources(self) -> Sequence[Source]:
        return (Source(self._pods, self._if_over),)

    def subject(self, key: Key) -> Subject | None:
        return Subject(Ref(POD.api_version, "PodList", "", key.name), key.name)

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  there is one
        left = self._counted_at + LOOK_EVERY_SECONDS - now if self._counted_at is not None else 0.0
        if left > 0:
            return Plan(wake_after=left)
        self._counted_at = now
        return plan_surplus(self._pods, self._most)

    def _if_over(self, before: Pod | None, after: Pod | None) -> Iterable[Key]:
        if after is None or not after.is_over or (before is not None and before.is_over):
            return ()
        return (_FINISHED,) if len(self._pods) > self._most else ()


def _if_terminating(_before: Pod | None, after: Pod | None) -> Iterable[Key]:
    return (after.metadata.key,) if after is not None and after.metadata.is_terminating else ()
