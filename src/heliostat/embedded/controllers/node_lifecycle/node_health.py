"""The node lifecycle controller on the loop: watches heartbeats, writes conditions and taints, and marks Pods.

When a sign of life came is told by this process' own clock, so that clocks of nodes need not agree; after a restart
every node has its full grace again. Pods of a silent node are shown as not ready. Not done: slowing down or stopping
evictions when many nodes of a zone fail together.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.node_lifecycle.health import Health, decide_health
from heliostat.embedded.controllers.pod_conditions import condition_trees, set_conditions
from heliostat.embedded.controllers.views.leases import NODE_LEASE_NAMESPACE, NODE_LEASES
from heliostat.embedded.controllers.views.nodes import NODE, NODES, Node
from heliostat.embedded.controllers.views.pods import POD, PODS, Pod, PodCondition
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Action, Event, Patch, Plan, Ref, Report, Stage
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, itself, subject_of


class _Heard(Struct, frozen=True):
    signs: tuple[str, str]  # the renewed lease, and the heartbeat of the Ready condition
    at: float


class NodeHealth:
    name = "node-controller"

    def __init__(self, caches: Caches) -> None:
        self._nodes = caches.of(NODES)
        self._leases = caches.of(NODE_LEASES)
        self._pods = caches.of(PODS)
        self._by_node = self._pods.add_index(lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ())
        self._heard: dict[str, _Heard] = {}

    def sources(self) -> Sequence[Source]:
        return Source(self._nodes, itself), Source(self._leases, _node_of_lease)

    def subject(self, key: Key) -> Subject | None:
        node = self._nodes.get(key)
        if node is None:
            self._heard.pop(key.name, None)
            return None
        return subject_of(node, NODE.api_version, NODE.kind)

    def plan(self, key: Key, now: float) -> Plan:
        node = self._nodes.get(key)
        if node is None:
            return Plan()
        events = () if key.name in self._heard else (_registered(key.name),)
        health = decide_health(node, self._heard_at(node, now), now, format_timestamp(now))
        # Taints follow conditions: both are decided from one version of the node, and only one write finds it.
        actions = _write_conditions(node, health) or _write_taints(node, health)
        pods = [_mark(pod, now) for pod in self._ready_pods(node)] if health.is_silent else []
        stages = [Stage("node", tuple(actions)), Stage("pods", tuple(pods))]
        told = tuple(stage for stage in stages if stage.actions)
        return Plan(told, events=events, wake_after=None if health.is_silent else health.seconds_left + 0.001)

    def _ready_pods(self, node: Node) -> list[Pod]:
        return [pod for pod in self._by_node.at(node.metadata.name) if pod.is_ready]

    def _heard_at(self, node: Node, now: float) -> float:
        name = node.metadata.name
        lease = self._leases.get(Key(NODE_LEASE_NAMESPACE, name))
        ready = node.condition("Ready")
        heard = self._heard.get(name)
        is_from_node = ready is not None and ready.status != "Unknown"  # else it is what was written here
        signs = (
            lease.spec.renew_time or "" if lease is not None else "",
            ready.last_heartbeat_time or "" if ready is not None and is_from_node else heard.signs[1] if heard else "",
        )
        if heard is None or heard.signs != signs:
            heard = self._heard[name] = _Heard(signs, now)
        return heard.at


def _node_of_lease(before: Object | None, after: Object | None) -> Iterable[Key]:
    item = after or before
    return (Key("", item.metadata.name),) if item is not None else ()


def _registered(name: str) -> Event:
    return Event("Normal", "RegisteredNode", "Monitoring", f"Node {name} event: Registered Node {name} in Controller")


def _write_conditions(node: Node, health: Health) -> list[Action]:
    if health.conditions == node.status.conditions:
        return []
    note = f"Node {node.metadata.name} status is now: NodeNotReady"
    report = Report(success=Event("Normal", "NodeNotReady", "Monitoring", note)) if health.is_news else Report()
    trees = [msgspec.to_builtins(condition) for condition in health.conditions]
    return [_patch(node, {"status": {"conditions": trees}}, "nothing is heard of it", report, "status")]


def _write_taints(node: Node, health: Health) -> list[Action]:
    if health.taints == node.spec.taints:
        return []
    trees = [msgspec.to_builtins(taint) for taint in health.taints]
    return [_patch(node, {"spec": {"taints": trees or None}}, "its conditions say so", Report(), "")]


def _patch(node: Node, changes: dict[str, Any], because: str, report: Report, subresource: str) -> Patch:
    metadata = node.metadata
    ref = Ref(NODE.api_version, NODE.kind, "", metadata.name)
    return Patch(ref, metadata.uid, metadata.resource_version, changes, because, report, subresource)


def _mark(pod: Pod, now: float) -> Patch:
    ready = next(condition for condition in pod.status.conditions if condition.type == "Ready")
    unready = PodCondition("Ready", "False", ready.reason, ready.message)
    conditions = condition_trees(set_conditions(pod, (unready,), format_timestamp(now)))
    metadata = pod.metadata
    ref = Ref(POD.api_version, POD.kind, metadata.namespace, metadata.name)
    because = "nothing is heard of its node"
    changes = {"status": {"conditions": conditions}}
    return Patch(ref, metadata.uid, metadata.resource_version, changes, because, subresource="status")
