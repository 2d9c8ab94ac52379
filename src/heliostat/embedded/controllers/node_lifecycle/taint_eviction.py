"""The taint eviction controller on the loop: Pods leave nodes with NoExecute taints that they do not tolerate."""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.node_lifecycle.eviction import (
    DISRUPTION_TARGET,
    Stay,
    decide_eviction,
    no_execute_taints,
)
from heliostat.embedded.controllers.pod_conditions import condition_trees, set_conditions
from heliostat.embedded.controllers.views.nodes import NODES, Node
from heliostat.embedded.controllers.views.pods import POD, PODS, Pod, PodCondition
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Event, Patch, Plan, Ref, Stage, Wait
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, subject_of

_TARGET = PodCondition(
    DISRUPTION_TARGET, "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"
)


class TaintEviction:
    name = "taint-eviction-controller"

    def __init__(self, caches: Caches) -> None:
        self._pods = caches.of(PODS)
        self._nodes = caches.of(NODES)
        self._by_node = self._pods.add_index(lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ())

    def sources(self) -> Sequence[Source]:
        return Source(self._pods, self._keys_of_pod), Source(self._nodes, self._keys_of_node)

    def subject(self, key: Key) -> Subject | None:
        pod = self._pods.get(key)
        return subject_of(pod, POD.api_version, POD.kind) if pod is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        pod = self._pods.get(key)
        node = self._nodes.get(Key("", pod.spec.node_name)) if pod is not None else None
        if pod is None or node is None:
            return Plan()
        verdict = decide_eviction(pod, node, now)
        if not isinstance(verdict, Stay):
            return _plan_leaving(pod, now)
        if verdict.seconds is None:
            return Plan()
        wait = Wait("Tolerated", "its node has a NoExecute taint that it tolerates for a while", "the time is over")
        return Plan(waits=(wait,), wake_after=verdict.seconds)

    def _keys_of_pod(self, before: Pod | None, after: Pod | None) -> Iterable[Key]:
        """Only what decides: where it runs, and what it tolerates."""
        if after is None or not after.spec.node_name:
            return ()
        if before is not None and before.spec == after.spec:
            return ()
        node = self._nodes.get(Key("", after.spec.node_name))
        return (after.metadata.key,) if node is not None and no_execute_taints(node) else ()

    def _keys_of_node(self, before: Node | None, after: Node | None) -> Iterable[Key]:
        if after is None or no_execute_taints(after) == (no_execute_taints(before) if before is not None else ()):
            return ()
        return [pod.metadata.key for pod in self._by_node.at(after.metadata.name)]


def _plan_leaving(pod: Pod, now: float) -> Plan:
    metadata = pod.metadata
    ref = Ref(POD.api_version, POD.kind, metadata.namespace, metadata.name)
    because = "its node has a NoExecute taint that it does not tolerate"
    conditions = set_conditions(pod, (_TARGET,), format_timestamp(now))
    changes = {"status": {"conditions": condition_trees(conditions)}}
    mark = Patch(ref, metadata.uid, metadata.resource_version, changes, because, subresource="status")
    marks = () if conditions == pod.status.conditions else (mark,)
    stages = [Stage("mark", marks), Stage("delete", (Delete(ref, metadata.uid, because),), needs=("mark",))]
    told = Event("Normal", "TaintManagerEviction", "Evicting", f"Marking for deletion Pod {metadata.key}")
    return Plan(tuple(stages), events=(told,))
