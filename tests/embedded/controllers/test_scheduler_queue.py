"""The scheduler between caches and loop: who comes first, what is assumed, who is woken by what."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from embedded.controllers.cluster_shapes import node_tree, pod_tree
from heliostat.embedded.controllers.scheduler.controller import Scheduler
from heliostat.embedded.controllers.scheduler.demand import build_demand
from heliostat.embedded.controllers.scheduler.waiting import WaitingRoom
from heliostat.embedded.controllers.views.nodes import NODES
from heliostat.embedded.controllers.views.pods import PODS
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASSES
from heliostat.embedded.controllers.views.volume_claims import CLAIMS
from heliostat.kube.jsontree import JsonObject, merge_patch
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Create, Delete, Patch, Plan
from heliostat.runtime.cache import CachedKind, CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import KeysOf

NOON = 1_769_860_800.0  # 2026-01-31T12:00:00Z


class Town:
    """Caches that are written by hand, and the keys that the changes lead to."""

    def __init__(self, *nodes: JsonObject) -> None:
        self.caches = Caches()
        self.scheduler = Scheduler(self.caches)
        self.now = NOON
        self.asked: list[str] = []
        self.trees: dict[str, JsonObject] = {}
        for source in self.scheduler.sources():
            source.changes.subscribe(self._listen(source.keys_of))
        for each in nodes:
            self.put(NODES, each)

    def _listen(self, keys_of: KeysOf) -> Callable[[Any, Any], None]:
        def hear(before: Any, after: Any) -> None:
            self.asked += [key.name for key in keys_of(before, after)]

        return hear

    def heard(self) -> list[str]:
        heard, self.asked = sorted(set(self.asked)), []
        return heard

    def put(self, kind: CachedKind[Any], tree: JsonObject) -> None:
        self.trees[tree["metadata"]["name"]] = tree
        CacheWriter(self.caches.of(kind)).put(msgspec.convert(tree, kind.shape))

    def pod(self, name: str, **more: Any) -> None:
        self.put(PODS, pod_tree(name, **more))

    def remove(self, name: str) -> None:
        tree = self.trees.pop(name)
        CacheWriter(self.caches.of(PODS)).remove(msgspec.convert(tree, PODS.shape))

    def plan(self, name: str) -> Plan:
        return self.scheduler.plan(Key("default", name), self.now)

    def place(self, name: str) -> str:
        """Where the plan binds it, or nowhere."""
        creates = [action for action in self.plan(name).actions() if isinstance(action, Create)]
        return creates[0].object["target"]["name"] if creates else ""

    def show(self, name: str, place: str) -> None:
        """The cache learns that it is bound."""
        self.put(PODS, merge_patch(self.trees[name], {"spec": {"nodeName": place}}))

    def take_over(self, plan: Plan) -> None:
        for action in plan.actions():
            if isinstance(action, Patch):
                self.put(PODS, merge_patch(self.trees[action.ref.name], action.changes))


def half(name: str) -> JsonObject:
    return node_tree(name, cpu="1")


def test_a_pod_is_bound_with_its_uid_and_an_event() -> None:
    town = Town(node_tree("a"))
    town.pod("p")
    (action,) = town.plan("p").actions()
    assert isinstance(action, Create)
    assert action.object == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "default", "name": "p", "uid": "uid-p"},
        "target": {"kind": "Node", "name": "a"},
    }
    success = action.report.success
    assert success is not None
    assert (success.type, success.reason, success.note) == (
        "Normal",
        "Scheduled",
        "Successfully assigned default/p to a",
    )


@pytest.mark.parametrize(
    "more",
    [
        {"nodeName": "a"},
        {"schedulerName": "volcano"},
        {"schedulingGates": [{"name": "wait"}]},
        {"status": {"phase": "Failed"}},
    ],
    ids=["bound", "of-another-scheduler", "gated", "over"],
)
def test_pods_that_are_not_ours_to_place(more: dict[str, Any]) -> None:
    town = Town(node_tree("a"))
    town.pod("p", **more)
    assert town.plan("p") == Plan()
    assert town.heard() == []


def test_a_gate_that_opens_brings_the_pod_into_the_queue() -> None:
    town = Town(node_tree("a"))
    town.pod("p", schedulingGates=[{"name": "wait"}])
    town.pod("p")
    assert town.heard() == ["p"]
    assert town.place("p") == "a"


def test_what_a_decision_took_is_taken_at_once() -> None:
    town = Town(half("a"), half("b"))
    for name in ("p", "q", "r"):
        town.pod(name, requests={"cpu": "1"})
    assert {town.place("p"), town.place("q")} == {"a", "b"}
    assert town.place("r") == ""


def test_whoever_is_asked_first_the_higher_priority_gets_the_place() -> None:
    town = Town(half("a"))
    town.pod("low", requests={"cpu": "1"}, priority=1)
    town.pod("high", requests={"cpu": "1"}, priority=2)
    assert town.place("low") == ""
    assert town.place("high") == "a"


def test_among_equals_the_older_comes_first() -> None:
    town = Town(half("a"))
    young = pod_tree("young", requests={"cpu": "1"})
    young["metadata"]["creationTimestamp"] = "2026-01-31T12:00:05Z"
    town.put(PODS, young)
    town.pod("old", requests={"cpu": "1"})
    assert town.place("young") == ""
    assert town.place("old") == "a"


def test_who_is_parked_does_not_hold_up_the_others() -> None:
    town = Town(half("a"))
    town.pod("huge", requests={"cpu": "5"}, priority=9)
    town.plan("huge")
    town.pod("small", requests={"cpu": "1"})
    assert town.place("small") == "a"


def test_the_place_is_free_again_when_the_pod_is_gone_before_it_was_bound() -> None:
    town = Town(half("a"))
    town.pod("p", requests={"cpu": "1"})
    assert town.place("p") == "a"
    town.remove("p")
    town.pod("q", requests={"cpu": "1"})
    assert town.place("q") == "a"


def test_a_binding_that_failed_is_tried_again_and_takes_its_place_once() -> None:
    town = Town(half("a"))
    town.pod("p", requests={"cpu": "1"})
    assert town.place("p") == "a"
    early = town.plan("p")
    assert (early.is_empty, early.wake_after) == (True, 1.0)
    town.now += 1.0
    assert town.place("p") == "a"


def test_a_failed_pod_says_why_once_and_waits() -> None:
    town = Town(half("a"))
    town.pod("p", requests={"cpu": "2"})
    plan = town.plan("p")
    why = (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    (event,) = plan.events
    assert (event.type, event.reason, event.note) == ("Warning", "FailedScheduling", why)
    (patch,) = plan.actions()
    assert isinstance(patch, Patch)
    assert patch.subresource == "status"
    assert patch.changes["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-31T12:00:00Z",
            "observedGeneration": 1,
            "reason": "Unschedulable",
            "message": why,
        }
    ]
    town.take_over(plan)
    again = town.plan("p")
    assert (again.is_empty, again.events, again.wake_after) == (True, (), 300.0)


def test_why_is_said_again_when_the_write_was_lost() -> None:
    town = Town(half("a"))
    town.pod("p", requests={"cpu": "2"})
    assert not town.plan("p").is_empty
    assert not town.plan("p").is_empty


def test_after_five_minutes_it_is_tried_again_in_any_case() -> None:
    town = Town(half("a"))
    town.pod("p", requests={"cpu": "2"})
    town.take_over(town.plan("p"))
    town.now += 300.0
    assert town.plan("p").events != ()


def parked() -> Town:
    """A full node, and one Pod that waits."""
    town = Town(half("a"))
    town.pod("there", requests={"cpu": "1"}, nodeName="a")
    town.pod("p", requests={"cpu": "1"})
    town.take_over(town.plan("p"))
    assert town.heard() != []
    return town


def test_capacity_that_becomes_free_wakes_whom_it_helps() -> None:
    town = parked()
    town.remove("there")
    assert town.heard() == ["p"]
    assert town.place("p") == "a"


def test_among_those_that_are_woken_the_higher_priority_gets_the_place() -> None:
    town = Town(half("a"))
    town.pod("there", requests={"cpu": "1"}, nodeName="a", priority=9)
    for name, priority in (("high", 2), ("low", 1)):
        town.pod(name, requests={"cpu": "1"}, priority=priority)
        town.take_over(town.plan(name))
    town.heard()
    town.remove("there")
    assert town.heard() == ["high", "low"]
    assert town.place("low") == ""
    assert town.place("high") == "a"


def test_a_pod_that_ends_wakes_whom_it_helps() -> None:
    town = parked()
    town.put(PODS, merge_patch(town.trees["there"], {"status": {"phase": "Succeeded"}}))
    assert town.heard() == ["p"]


@pytest.mark.parametrize(("cpu", "helps"), [("1", True), ("500m", False)])
def test_a_new_node_wakes_only_whom_it_can_take(cpu: str, helps: bool) -> None:
    town = parked()
    town.put(NODES, node_tree("b", cpu=cpu))
    assert town.heard() == (["p"] if helps else [])


def test_heartbeats_of_nodes_wake_nobody() -> None:
    town = parked()
    town.put(NODES, merge_patch(half("b"), {"spec": {"unschedulable": True}}))
    town.put(NODES, merge_patch(town.trees["b"], {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
    assert town.heard() == []
    town.put(NODES, merge_patch(town.trees["b"], {"spec": {"unschedulable": None}}))
    assert town.heard() == ["p"]


def test_the_first_waking_is_answered_at_once_and_later_ones_after_a_back_off() -> None:
    room = WaitingRoom()
    new = msgspec.convert(pod_tree("p"), PODS.shape)
    room.arrive(new, build_demand(new))
    entry = room.get(new.metadata.key)
    assert entry is not None
    waits = []
    for _ in range(7):
        room.park(entry, "why", NOON)
        assert room.wake(lambda _entry: True) == [new.metadata.key]
        waits.append(room.seconds_until_due(entry, NOON))
    assert waits == [0.0, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_who_is_in_back_off_is_not_ahead_of_anybody() -> None:
    room = WaitingRoom()
    for name, priority in (("strong", 9), ("weak", 0)):
        new = msgspec.convert(pod_tree(name, priority=priority), PODS.shape)
        room.arrive(new, build_demand(new))
    strong, weak = room.get(Key("default", "strong")), room.get(Key("default", "weak"))
    assert strong is not None
    assert weak is not None
    for _ in range(2):
        room.park(strong, "why", NOON)
        room.wake(lambda _entry: True)
    assert list(room.ahead_of(weak, NOON)) == []
    assert list(room.ahead_of(weak, NOON + 1.0)) == [strong]
    assert list(room.ahead_of(weak, NOON + 1.0)) == []


def test_preemption_marks_removes_and_remembers_the_node() -> None:
    town = Town(half("a"))
    town.pod("weak", requests={"cpu": "1"}, nodeName="a")
    town.pod("strong", requests={"cpu": "1"}, priority=9)
    plan = town.plan("strong")
    own, mark, remove = plan.actions()
    assert isinstance(own, Patch)
    assert own.changes["status"]["nominatedNodeName"] == "a"
    assert own.changes["status"]["conditions"][0]["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert isinstance(mark, Patch)
    assert {name: mark.changes["status"]["conditions"][0][name] for name in ("type", "reason", "message")} == {
        "type": "DisruptionTarget",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
    }
    assert isinstance(remove, Delete)
    assert (remove.ref.name, remove.uid) == ("weak", "uid-weak")
    town.take_over(plan)
    town.pod("rival", requests={"cpu": "1"})
    town.remove("weak")
    assert town.place("rival") == ""
    assert town.place("strong") == "a"


def claim(**more: Any) -> JsonObject:
    tree: JsonObject = {"metadata": {"namespace": "default", "name": "data", "uid": "uid-data"}}
    merged: JsonObject = merge_patch(tree, more)
    return merged


VOLUMES = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
BOUND: JsonObject = {
    "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    "spec": {"volumeName": "pv"},
}


def test_a_claim_that_is_bound_at_last_lets_the_pod_go() -> None:
    town = Town(node_tree("a"))
    town.pod("p", volumes=VOLUMES)
    plan = town.plan("p")
    assert 'persistentvolumeclaim "data" not found. preemption:' in plan.events[0].note
    town.take_over(plan)
    town.heard()
    town.put(CLAIMS, claim())
    assert town.heard() == ["p"]
    town.take_over(town.plan("p"))
    town.now += 10.0
    town.put(CLAIMS, claim(**BOUND))
    assert town.heard() == ["p"]
    assert town.place("p") == "a"


def test_a_claim_that_waits_for_its_consumer_is_told_the_node_first() -> None:
    town = Town(half("a"), half("b"))
    town.put(STORAGE_CLASSES, {"metadata": {"name": "lazy"}, "volumeBindingMode": "WaitForFirstConsumer"})
    town.put(CLAIMS, claim(spec={"storageClassName": "lazy"}))
    town.pod("p", volumes=VOLUMES, requests={"cpu": "1"})
    (patch,) = town.plan("p").actions()
    assert isinstance(patch, Patch)
    chosen = patch.changes["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
    told = merge_patch(town.trees["data"], patch.changes)
    town.put(CLAIMS, told)
    assert town.plan("p").is_empty
    town.pod("rival", requests={"cpu": "1"})
    assert town.place("rival") == ({"a", "b"} - {chosen}).pop()
    town.heard()
    town.put(CLAIMS, merge_patch(told, BOUND))
    assert town.heard() == ["p"]
    assert town.place("p") == chosen


def test_a_pod_goes_to_the_node_that_its_claim_was_told_before_a_restart() -> None:
    town = Town(half("a"), half("b"))
    told = {"annotations": {**BOUND["metadata"]["annotations"], "volume.kubernetes.io/selected-node": "b"}}
    town.put(CLAIMS, claim(metadata=told, spec=BOUND["spec"]))
    town.pod("p", volumes=VOLUMES)
    assert town.place("p") == "b"


def test_an_object_that_is_gone_has_no_subject() -> None:
    town = Town()
    assert town.scheduler.subject(Key("default", "p")) is None
    town.pod("p")
    found = town.scheduler.subject(Key("default", "p"))
    assert found is not None
    assert found.uid == "uid-p"
    assert isinstance(town.caches.of(PODS).get(Key("default", "p")), Object)
