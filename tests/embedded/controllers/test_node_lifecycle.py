"""Nodes that fall silent, the taints they get, and the Pods that must leave them."""

from typing import Any

import msgspec
import pytest

from embedded.controllers.cluster_shapes import node_tree, pod_tree
from embedded.controllers.plan_world import World
from heliostat.embedded.controllers.node_lifecycle.eviction import Leave, Stay, decide_eviction
from heliostat.embedded.controllers.node_lifecycle.health import decide_health
from heliostat.embedded.controllers.node_lifecycle.node_health import NodeHealth
from heliostat.embedded.controllers.node_lifecycle.taint_eviction import TaintEviction
from heliostat.embedded.controllers.views.leases import NODE_LEASES
from heliostat.embedded.controllers.views.nodes import NODES, Node, Taint
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Patch, Ref

NOW = "2026-01-31T12:00:00Z"
NOON = 1_769_860_800.0
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


def node(ready: str | None = "True", spec: Any = None, **conditions: str) -> Node:
    told = {**({"Ready": ready} if ready else {}), **conditions}
    tree = node_tree("a", spec=spec)
    tree["status"]["conditions"] = [{"type": type_, "status": status} for type_, status in told.items()]
    return msgspec.convert(tree, Node)


def pairs(taints: tuple[Taint, ...]) -> list[tuple[str, str]]:
    return [(taint.key.removeprefix("node.kubernetes.io/"), taint.effect) for taint in taints]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (node(), []),
        (node("False"), [("not-ready", "NoSchedule"), ("not-ready", "NoExecute")]),
        (node("Unknown"), [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]),
        (node(MemoryPressure="True"), [("memory-pressure", "NoSchedule")]),
        (
            node(DiskPressure="True", PIDPressure="True"),
            [("disk-pressure", "NoSchedule"), ("pid-pressure", "NoSchedule")],
        ),
        (node(NetworkUnavailable="True"), [("network-unavailable", "NoSchedule")]),
        (node(MemoryPressure="Unknown"), []),
        (node(spec={"unschedulable": True}), [("unschedulable", "NoSchedule")]),
    ],
)
def test_taints_follow_conditions(found: Node, expected: list[tuple[str, str]]) -> None:
    health = decide_health(found, NOON, NOON, NOW)
    assert pairs(health.taints) == expected
    assert all(taint.time_added == NOW for taint in health.taints)


def test_taints_of_others_stay_and_ours_are_swapped() -> None:
    taints = [
        {"key": "team", "effect": "NoSchedule"},
        {"key": NOT_READY, "effect": "NoExecute", "timeAdded": "2026-01-31T11:00:00Z"},
        {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": "2026-01-31T11:30:00Z"},
        {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"},
    ]
    health = decide_health(node("Unknown", {"taints": taints}), NOON, NOON, NOW)
    assert health.taints == (
        Taint("team", "NoSchedule"),
        Taint(UNREACHABLE, "NoExecute", time_added="2026-01-31T11:30:00Z"),
        Taint(UNREACHABLE, "NoSchedule", time_added=NOW),
    )


@pytest.mark.parametrize(("ready", "grace"), [("True", 50.0), ("False", 50.0), (None, 60.0)])
def test_silence_counts_after_a_grace(ready: str | None, grace: float) -> None:
    patient = decide_health(node(ready), NOON, NOON + grace, NOW)
    assert (patient.is_silent, patient.seconds_left) == (False, 0.0)
    health = decide_health(node(ready), NOON, NOON + grace + 1, NOW)
    assert health.is_silent
    assert health.is_news is (ready == "True")
    told = {found.type: (found.status, found.reason) for found in health.conditions}
    never, stopped = ("Unknown", "NodeStatusNeverUpdated"), ("Unknown", "NodeStatusUnknown")
    assert told == {
        "Ready": stopped if ready else never,
        "MemoryPressure": never,
        "DiskPressure": never,
        "PIDPressure": never,
    }
    assert pairs(health.taints) == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]


def tolerate(seconds: int | None = None, **more: Any) -> JsonObject:
    toleration = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", **more}
    return toleration | ({"tolerationSeconds": seconds} if seconds is not None else {})


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], Leave()),
        ([tolerate(300)], Stay(200.0)),
        ([tolerate(100)], Leave()),
        ([tolerate(0)], Leave()),
        ([tolerate()], Stay()),
        ([tolerate(), tolerate(300)], Stay(200.0)),
        ([tolerate(300, effect="")], Stay(200.0)),
        ([tolerate(300, key="other")], Leave()),
    ],
)
def test_how_long_a_pod_may_stay(tolerations: list[JsonObject], expected: Stay | Leave) -> None:
    taints = [{"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": NOW}]
    tainted = node("Unknown", {"taints": taints})
    pod = msgspec.convert(pod_tree("p", nodeName="a", tolerations=tolerations), Pod)
    assert decide_eviction(pod, tainted, NOON + 100) == expected


def test_no_taint_no_eviction() -> None:
    pod = msgspec.convert(pod_tree("p", nodeName="a"), Pod)
    soft = node(spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    assert decide_eviction(pod, soft, NOON) == Stay()


@pytest.mark.parametrize(("conditions", "expected"), [([], Leave()), ([{"type": "DisruptionTarget"}], Stay())])
def test_a_pod_that_is_going_for_another_reason_is_told_once(conditions: list[JsonObject], expected: Any) -> None:
    tree = pod_tree("p", nodeName="a", status={"conditions": conditions})
    tree["metadata"]["deletionTimestamp"] = NOW
    tainted = node("Unknown", {"taints": [{"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": NOW}]})
    assert decide_eviction(msgspec.convert(tree, Pod), tainted, NOON) == expected


class Watch:
    """The controllers of the lifecycle, on a world whose writes are seen at once."""

    def __init__(self) -> None:
        self.world = World(NODES, NODE_LEASES, PODS)
        self.health = NodeHealth(self.world.caches)
        self.evictions = TaintEviction(self.world.caches)
        tree = node_tree("a")
        tree["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": NOW}]
        self.world.add(tree)
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"renewTime": "1"}}
        self.world.add({**lease, "metadata": {"namespace": "kube-node-lease", "name": "a"}})

    def look(self) -> Any:
        return self.world.reconcile(self.health, Key("", "a"))

    def renew(self, text: str) -> None:
        self.world.change(Ref("coordination.k8s.io/v1", "Lease", "kube-node-lease", "a"), spec={"renewTime": text})

    def run(self) -> int:
        """Until there is nothing more to do; how many plans wrote something."""
        for count in range(10):
            if self.look().is_empty:
                return count
        raise AssertionError("it never comes to rest")


def test_a_node_that_falls_silent_and_comes_back() -> None:
    watch = Watch()
    first = watch.look()
    assert first.wake_after == pytest.approx(50.0, abs=0.01)
    assert [event.reason for event in first.events] == ["RegisteredNode"]
    watch.world.now += 40
    watch.renew("2")
    assert watch.look().is_empty
    watch.world.now += 49
    assert watch.look().is_empty
    watch.world.now += 2
    assert watch.run() == 2
    assert [event.note for event in watch.world.events][1:] == ["Node a status is now: NodeNotReady"]
    assert [found["key"] for found in watch.world.one("Node")["spec"]["taints"]] == [UNREACHABLE, UNREACHABLE]
    watch.world.now += 1000
    assert watch.run() == 0
    watch.renew("3")
    ready = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "later"}]
    watch.world.change(Ref("v1", "Node", "", "a"), status={"conditions": ready})
    assert watch.run() == 1
    assert "taints" not in watch.world.one("Node")["spec"]


def test_ready_pods_of_a_silent_node_are_marked() -> None:
    watch = Watch()
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    watch.world.add(pod_tree("p", nodeName="a", status=ready))
    watch.world.add(pod_tree("elsewhere", nodeName="b", status=ready))
    watch.look()
    watch.world.now += 51
    watch.run()
    marked = {tree["metadata"]["name"]: tree["status"]["conditions"][0]["status"] for tree in watch.world.of("Pod")}
    assert marked == {"p": "False", "elsewhere": "True"}


def test_a_pod_leaves_with_a_mark_an_event_and_its_uid() -> None:
    watch = Watch()
    watch.world.add(pod_tree("p", nodeName="a"))
    woken: list[Key] = []
    pods, nodes = watch.evictions.sources()
    nodes.changes.subscribe(lambda before, after: woken.extend(nodes.keys_of(before, after)))
    pods.changes.subscribe(lambda before, after: woken.extend(pods.keys_of(before, after)))
    assert woken == []
    taints = [{"key": UNREACHABLE, "effect": "NoExecute"}]
    watch.world.change(Ref("v1", "Node", "", "a"), spec={"taints": taints})
    assert woken == [Key("default", "p")]
    plan = watch.evictions.plan(Key("default", "p"), watch.world.now)
    mark, delete = plan.actions()
    assert isinstance(mark, Patch)
    condition = mark.changes["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "DeletionByTaintManager")
    assert condition["message"] == "Taint manager: deleting due to NoExecute taint"
    assert isinstance(delete, Delete)
    assert delete.uid == "uid-p"
    assert [event.note for event in plan.events] == ["Marking for deletion Pod default/p"]


def test_a_pod_that_is_tolerated_for_a_while_is_looked_at_again() -> None:
    watch = Watch()
    watch.world.add(pod_tree("p", nodeName="a", tolerations=[tolerate(300)]))
    taints = [{"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": "2023-11-14T22:13:20Z"}]
    watch.world.change(Ref("v1", "Node", "", "a"), spec={"taints": taints})
    plan = watch.evictions.plan(Key("default", "p"), watch.world.now + 100)
    assert (plan.is_empty, plan.wake_after) == (True, 200.0)
    watch.world.change(Ref("v1", "Node", "", "a"), spec={"taints": None})
    assert watch.evictions.plan(Key("default", "p"), watch.world.now + 400).is_empty
