"""Pods that nobody is left to end: of Nodes that are gone or out of service, never scheduled, or one too many over."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.controllers.cluster_shapes import node, node_tree, pod, pod_tree
from embedded.controllers.plan_world import World
from heliostat.embedded.controllers.pod_garbage.decision import Removal, decide_removal, plan_surplus
from heliostat.embedded.controllers.pod_garbage.lost_nodes import LostPods, NodeQuarantine, NodeSearch
from heliostat.embedded.controllers.pod_garbage.reconcilers import FinishedPods, PodGarbage
from heliostat.embedded.controllers.views.nodes import NODES
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Patch, Ref
from heliostat.runtime.errors import NotFoundError, UnavailableError

GOING = "2026-01-31T12:00:30Z"
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
POD = Ref("v1", "Pod", "default", "p")
NODE = Ref("v1", "Node", "", "a")
NODE_KEY, POD_KEY = Key("", "a"), Key("default", "p")


def going(found: Pod) -> Pod:
    metadata = msgspec.structs.replace(found.metadata, deletion_timestamp=GOING, deletion_grace_period_seconds=30)
    return msgspec.structs.replace(found, metadata=metadata)


def machine(ready: str, *taints: JsonObject) -> JsonObject:
    tree = node_tree("a", spec={"taints": list(taints)})
    tree["status"]["conditions"] = [{"type": "Ready", "status": ready}]
    return tree


@pytest.mark.parametrize(
    ("found", "where", "is_gone", "because"),
    [
        (pod(nodeName="a"), node("a"), False, None),
        (pod(nodeName="a"), node("a"), True, None),  # it came back
        (pod(nodeName="a"), None, False, None),  # the view alone proves nothing
        (pod(nodeName="a"), None, True, "its Node is gone"),
        (pod(), None, False, None),
        (going(pod()), None, False, "it was deleted before it had a Node"),
        (going(pod(nodeName="a")), None, False, None),
        (going(pod(nodeName="a")), msgspec.convert(machine("False"), NODES.shape), False, None),
        (going(pod(nodeName="a")), msgspec.convert(machine("True", OUT_OF_SERVICE), NODES.shape), False, None),
        (pod(nodeName="a"), msgspec.convert(machine("False", OUT_OF_SERVICE), NODES.shape), False, None),
        (
            going(pod(nodeName="a")),
            msgspec.convert(machine("Unknown", OUT_OF_SERVICE), NODES.shape),
            False,
            "its Node is out of service",
        ),
    ],
)
def test_who_must_go(found: Pod, where: Any, is_gone: bool, because: str | None) -> None:
    removal = decide_removal(found, where, is_node_gone=is_gone)
    assert (removal.because if isinstance(removal, Removal) else None) == because


class Nodes:
    """A server that is asked for one Node."""

    def __init__(self, answer: Exception | None) -> None:
        self.answer = answer
        self.asked = 0

    async def get(self, *_place: Any) -> bytes:
        self.asked += 1
        if self.answer is not None:
            raise self.answer
        return b"{}"


class Cleaning:
    """The controllers on a world whose writes are seen at once."""

    def __init__(self, *trees: JsonObject) -> None:
        self.world = World(NODES, PODS)
        self.lost = LostPods(self.world.caches)
        self.quarantine = NodeQuarantine(self.world.caches, self.lost)
        self.garbage = PodGarbage(self.world.caches, self.lost)
        self.server = Nodes(NotFoundError(404, "NotFound", 'nodes "a" not found'))
        for tree in trees:
            self.world.add(tree)

    def look(self) -> Any:
        return self.world.reconcile(self.garbage, POD_KEY)

    def look_for_node(self) -> Any:
        """And ask the server, if that was planned."""
        plan = self.world.reconcile(self.quarantine, NODE_KEY)
        for effect in self.world.effects:
            asyncio.run(NodeSearch(self.server, self.lost).carry_out(effect))
        self.world.effects.clear()
        return plan


def test_a_pod_whose_node_is_gone_is_marked_and_removed_after_a_quarantine() -> None:
    cleaning = Cleaning(pod_tree("p", nodeName="a", status={"phase": "Running"}))
    assert cleaning.look_for_node().wake_after == 40.0
    cleaning.world.now += 39.0
    assert cleaning.look_for_node().wake_after == 1.0
    assert (cleaning.look().is_empty, cleaning.server.asked) == (True, 0)
    cleaning.world.now += 1.0
    cleaning.look_for_node()
    assert cleaning.server.asked == 1
    mark, delete = cleaning.look().actions()
    assert isinstance(mark, Patch)
    assert mark.changes["status"]["phase"] == "Failed"
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in mark.changes["status"]["conditions"]] == [
        ("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists")
    ]
    assert isinstance(delete, Delete)
    assert (delete.grace_seconds, delete.uid) == (0, "uid-p")
    assert cleaning.world.of("Pod") == []


def test_a_node_that_only_the_view_misses_costs_no_pod() -> None:
    cleaning = Cleaning(pod_tree("p", nodeName="a"))
    cleaning.server.answer = None
    for _ in range(4):
        cleaning.look_for_node()
        assert cleaning.look().is_empty
        cleaning.world.now += 40.0
    assert cleaning.server.asked == 3


def test_a_server_that_does_not_answer_costs_no_pod() -> None:
    cleaning = Cleaning(pod_tree("p", nodeName="a"))
    cleaning.server.answer = UnavailableError(503, "ServiceUnavailable", "later")
    cleaning.look_for_node()
    cleaning.world.now += 40.0
    with pytest.raises(UnavailableError):
        cleaning.look_for_node()
    assert cleaning.look().is_empty


def test_a_node_that_comes_back_frees_its_pods_from_the_verdict() -> None:
    cleaning = Cleaning(pod_tree("p", nodeName="a"))
    cleaning.look_for_node()
    cleaning.world.now += 40.0
    cleaning.look_for_node()
    cleaning.world.add(node_tree("a"))
    assert cleaning.look().is_empty
    cleaning.world.now += 30.0
    cleaning.world.remove(NODE)
    assert cleaning.look().is_empty
    assert cleaning.look_for_node().wake_after == 40.0
    assert cleaning.server.asked == 1


def test_a_verdict_is_about_the_pods_that_were_there() -> None:
    cleaning = Cleaning(pod_tree("first", nodeName="a"))
    cleaning.look_for_node()
    cleaning.world.now += 40.0
    cleaning.look_for_node()
    cleaning.world.add(pod_tree("p", nodeName="a"))
    assert cleaning.look().is_empty


def test_what_a_finalizer_holds_is_removed_once() -> None:
    tree = pod_tree("p", status={"phase": "Running"})
    tree["metadata"]["finalizers"] = ["hold"]
    cleaning = Cleaning(tree)
    cleaning.world.delete(POD)
    (mark,) = cleaning.look().actions()  # deleted without a grace already
    assert isinstance(mark, Patch)
    assert "conditions" not in mark.changes["status"]
    assert cleaning.look().is_empty


def test_a_pod_that_is_over_is_not_marked() -> None:
    cleaning = Cleaning(machine("False", OUT_OF_SERVICE), pod_tree("p", nodeName="a", status={"phase": "Succeeded"}))
    cleaning.world.delete(POD)
    (delete,) = cleaning.look().actions()
    assert isinstance(delete, Delete)
    assert cleaning.world.of("Pod") == []


def finished(name: str, created: int, phase: str = "Succeeded", reason: str = "") -> Pod:
    tree = pod_tree(name, status={"phase": phase, "reason": reason})
    tree["metadata"]["creationTimestamp"] = f"2026-01-31T12:00:{created:02}Z"
    return msgspec.convert(tree, Pod)


def removed(pods: list[Pod], most: int) -> list[str]:
    actions = list(plan_surplus(pods, most).actions())
    assert all(isinstance(action, Delete) and action.grace_seconds == 0 for action in actions)
    return [action.ref.name for action in actions if isinstance(action, Delete)]


def test_of_those_that_are_over_evicted_and_then_old_ones_go() -> None:
    pods = [
        finished("young", 9),
        finished("old", 1),
        finished("evicted", 8, "Failed", "Evicted"),
        finished("running", 0, "Running"),
        finished("b", 5),
        finished("a", 5, "Failed"),
    ]
    assert removed(pods, 1) == ["evicted", "old", "a", "b"]
    assert removed(pods, 5) == []


@given(st.lists(st.tuples(st.integers(0, 59), st.sampled_from(["Running", "Failed", "Succeeded"]))), st.integers(0, 9))
def test_no_more_go_than_are_too_many(shapes: list[tuple[int, str]], most: int) -> None:
    pods = [finished(f"p{index}", created, phase) for index, (created, phase) in enumerate(shapes)]
    gone = removed(pods, most)
    left = [found for found in pods if found.metadata.name not in gone]
    over = sum(found.is_over for found in pods)
    assert len(gone) == max(0, over - most)
    assert removed(left, most) == []


def test_finished_pods_are_counted_at_most_every_twenty_seconds() -> None:
    world = World(PODS)
    counting = FinishedPods(world.caches, most=1)
    (source,) = counting.sources()
    woken: list[Key] = []
    source.changes.subscribe(lambda before, after: woken.extend(source.keys_of(before, after)))
    world.add(pod_tree("first", status={"phase": "Succeeded"}))
    assert woken == []
    world.add(pod_tree("second", status={"phase": "Running"}))
    world.change(Ref("v1", "Pod", "default", "second"), status={"phase": "Succeeded"})
    (key,) = woken
    assert len(list(world.reconcile(counting, key).actions())) == 1
    world.add(pod_tree("third", status={"phase": "Succeeded"}))
    world.now += 5.0
    waiting = world.reconcile(counting, key)
    assert (waiting.is_empty, waiting.wake_after) == (True, 15.0)
    world.now += 15.0
    assert len(list(world.reconcile(counting, key).actions())) == 1
