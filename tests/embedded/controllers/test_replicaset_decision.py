"""ReplicaSets: as many Pods as asked for, counted, named, adopted and let go as Kubernetes does it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.workloads import (
    LABELS,
    REPLICA_SET_REF,
    Workloads,
    controlled_by,
    failed,
    key_of,
    pod,
    replica_set,
    template,
)
from heliostat.embedded.controllers.replicasets.decision import BURST
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Create, Delete, Plan, ref_of
from heliostat.runtime.outcome import Outcome


def one_pass(world: Workloads) -> Plan:
    return world.reconcile(world.replica_sets, key_of(world.one("ReplicaSet")))


def test_missing_pods_are_created_from_the_template() -> None:
    world = Workloads()
    owner = world.add(replica_set(replicas=2))
    one_pass(world)
    pods = world.of("Pod")
    assert len(pods) == 2
    for tree in pods:
        metadata = tree["metadata"]
        assert metadata["generateName"] == "web-"
        assert metadata["name"].startswith("web-")
        assert len(metadata["name"]) == len("web-") + 5
        assert metadata["labels"] == LABELS
        assert metadata["ownerReferences"] == controlled_by(owner)
        assert tree["spec"] == template()["spec"]
    assert sorted(world.notes()) == sorted(f"Created pod: {tree['metadata']['name']}" for tree in pods)
    assert {(event.type, event.reason) for event in world.events} == {("Normal", "SuccessfulCreate")}


def test_status_counts_after_the_pods_are_seen() -> None:
    world = Workloads()
    world.add(replica_set(replicas=2))
    one_pass(world)
    assert world.one("ReplicaSet")["status"] == {"replicas": 0, "observedGeneration": 1}
    world.live()
    assert world.one("ReplicaSet")["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "observedGeneration": 1,
    }


def test_the_same_view_gives_the_same_names() -> None:
    world = Workloads()
    tree = world.add(replica_set(replicas=3))
    key = key_of(tree)
    first, second = (world.replica_sets.plan(key, world.now) for _ in range(2))
    names = [action.ref.name for action in first.actions() if isinstance(action, Create)]
    assert names == [action.ref.name for action in second.actions() if isinstance(action, Create)]
    assert len(set(names)) == 3


def test_a_pod_that_came_and_went_unnoticed_does_not_give_its_name_away() -> None:
    world = Workloads()
    world.add(replica_set(replicas=1))
    plan = one_pass(world)
    (created,) = [action.ref for action in plan.actions() if isinstance(action, Create)]
    status = world.one("ReplicaSet")["status"]
    world.remove(created)
    again = one_pass(world)
    assert world.one("ReplicaSet")["status"] == status
    assert [action.ref for action in again.actions() if isinstance(action, Create)] != [created]


def test_no_more_than_a_burst_at_once() -> None:
    world = Workloads()
    world.add(replica_set(replicas=BURST + 3))
    one_pass(world)
    assert len(world.of("Pod")) == BURST
    one_pass(world)
    assert len(world.of("Pod")) == BURST + 3
    world.change(REPLICA_SET_REF, spec={"replicas": 0})
    assert sum(isinstance(action, Delete) for action in one_pass(world).actions()) == BURST


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_over_are_replaced_and_kept(phase: str) -> None:
    world = Workloads()
    world.add(replica_set(replicas=1))
    world.live()
    over = world.one("Pod")
    world.change(ref_of(over), status={"phase": phase})
    world.live()
    assert len(world.of("Pod")) == 2
    assert world.one("ReplicaSet")["status"]["replicas"] == 1


def test_pods_that_are_being_deleted_are_replaced_at_once() -> None:
    world = Workloads()
    world.add(replica_set(replicas=1))
    world.live()
    world.delete(ref_of(world.one("Pod")))
    one_pass(world)
    assert len(world.of("Pod")) == 2


def test_a_replica_set_that_is_being_deleted_only_counts() -> None:
    world = Workloads()
    tree = replica_set(replicas=2)
    tree["metadata"]["finalizers"] = ["foregroundDeletion"]
    world.add(tree)
    world.add(pod("orphan"))
    world.delete(ref_of(tree))
    plan = one_pass(world)
    assert not plan.stages
    assert world.one("ReplicaSet")["status"]["replicas"] == 0


def test_surplus_pods_are_deleted_with_an_event() -> None:
    world = Workloads()
    world.add(replica_set(replicas=3))
    world.live()
    world.change(REPLICA_SET_REF, spec={"replicas": 1})
    world.events.clear()
    plan = one_pass(world)
    deleted = [action for action in plan.actions() if isinstance(action, Delete)]
    assert len(deleted) == 2
    assert sorted(world.notes()) == sorted(f"Deleted pod: {action.ref.name}" for action in deleted)
    assert {event.reason for event in world.events} == {"SuccessfulDelete"}


class TestClaiming:
    def test_an_orphan_that_matches_is_adopted_and_counts(self) -> None:
        world = Workloads()
        owner = world.add(replica_set(replicas=1))
        world.add(pod("orphan"))
        one_pass(world)
        assert world.one("Pod")["metadata"]["ownerReferences"] == controlled_by(owner)
        assert one_pass(world).stages == ()
        assert world.one("ReplicaSet")["status"]["replicas"] == 1

    def test_owners_beside_the_controller_are_kept(self) -> None:
        other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}
        world = Workloads()
        owner = world.add(replica_set(replicas=1))
        world.add(pod("orphan", ownerReferences=[other]))
        one_pass(world)
        assert world.one("Pod")["metadata"]["ownerReferences"] == [other, *controlled_by(owner)]

    @pytest.mark.parametrize(
        "metadata",
        [
            {"labels": {"app": "other"}},
            {"namespace": "elsewhere"},
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            {"ownerReferences": [{**controlled_by({**replica_set(), "metadata": {"name": "web", "uid": "x"}})[0]}]},
        ],
        ids=["labels", "namespace", "terminating", "an owner of the same name"],
    )
    def test_others_are_left_alone(self, metadata: JsonObject) -> None:
        world = Workloads()
        world.add(replica_set(replicas=0))
        other = world.add(pod("other", **metadata))
        assert one_pass(world).stages == ()
        assert world.one("Pod") == other

    def test_a_pod_that_no_longer_matches_is_let_go_and_replaced(self) -> None:
        world = Workloads()
        world.add(replica_set(replicas=1))
        world.live()
        taken = ref_of(world.one("Pod"))
        world.change(taken, metadata={"labels": {"app": "debug"}})
        one_pass(world)
        assert "ownerReferences" not in world.trees[taken]["metadata"]
        assert len(world.of("Pod")) == 2

    def test_who_is_woken_by_an_orphan(self) -> None:
        world = Workloads()
        world.add(replica_set("web"))
        world.add({**replica_set("other"), "spec": {"selector": {"matchLabels": {"app": "other"}}}})
        woken: list[Any] = []
        _sets, pods = world.replica_sets.sources()
        pods.changes.subscribe(lambda before, after: woken.extend(pods.keys_of(before, after)))
        tree = world.add(pod("orphan"))
        assert [key.name for key in woken] == ["web"]
        world.change(ref_of(tree), status={"phase": "Running"})
        assert len(woken) == 1


class TestAvailability:
    def test_ready_pods_become_available_after_a_while(self) -> None:
        world = Workloads()
        world.add(replica_set(replicas=2, minReadySeconds=10))
        one_pass(world)
        first, second = world.of("Pod")
        world.run(first)
        world.now += 4
        world.run(second)
        plan = one_pass(world)
        assert plan.wake_after == 6
        assert "availableReplicas" not in world.one("ReplicaSet")["status"]
        world.now += 6
        assert one_pass(world).wake_after == 4
        assert world.one("ReplicaSet")["status"]["availableReplicas"] == 1
        world.now += 4
        assert one_pass(world).wake_after is None
        assert world.one("ReplicaSet")["status"]["availableReplicas"] == 2

    def test_pods_with_other_labels_than_the_template_are_not_fully_labeled(self) -> None:
        world = Workloads()
        world.add(replica_set(replicas=2, template=template(tier="front")))
        world.add(pod("plain"))
        world.live()
        assert world.one("ReplicaSet")["status"]["fullyLabeledReplicas"] == 1


class TestFailures:
    @pytest.mark.parametrize(
        ("tag", "message", "shown"),
        [
            ("FailedCreate", "quota", ("FailedCreate", "quota")),
            ("FailedDelete", "webhook", ("FailedDelete", "unable to delete pods: webhook")),
            ("", "conflict", None),
        ],
    )
    def test_the_first_failure_is_shown(self, tag: str, message: str, shown: tuple[str, str] | None) -> None:
        world = Workloads()
        key = key_of(world.add(replica_set(replicas=0)))
        world.replica_sets.after(key, failed(tag, message))
        one_pass(world)
        conditions = world.one("ReplicaSet")["status"].get("conditions", [])
        assert [(found["reason"], found["message"]) for found in conditions] == ([shown] if shown else [])
        world.replica_sets.after(key, failed(tag, "something else"))
        assert one_pass(world).is_empty
        world.replica_sets.after(key, Outcome())
        one_pass(world)
        assert "conditions" not in world.one("ReplicaSet")["status"]

    def test_a_new_replica_set_of_the_name_starts_without_failures(self) -> None:
        world = Workloads()
        tree = world.add(replica_set(replicas=0))
        world.replica_sets.after(key_of(tree), failed("FailedCreate", "quota"))
        world.remove(ref_of(tree))
        world.add(replica_set(replicas=0))
        one_pass(world)
        assert "conditions" not in world.one("ReplicaSet")["status"]

    def test_a_selector_that_cannot_be_read_does_nothing(self) -> None:
        world = Workloads()
        world.add(replica_set(selector={"matchExpressions": [{"key": "a", "operator": "Like"}]}))
        assert one_pass(world) == Plan()


STEPS = st.lists(
    st.tuples(st.sampled_from(["pass", "run", "fail", "break", "kill", "orphan", "scale"]), st.integers(0, 4))
)


@settings(max_examples=80, deadline=None)
@given(replicas=st.integers(0, 5), steps=STEPS)
def test_it_always_ends_with_as_many_pods_as_asked_for(replicas: int, steps: list[tuple[str, int]]) -> None:
    """Whatever happens to its Pods. The world itself refuses a name that is used twice."""
    world = Workloads()
    world.add(replica_set(replicas=replicas))
    for number, (step, choice) in enumerate(steps):
        world.now += 1
        _disturb(world, step, choice, number)
    world.live()
    wanted = world.one("ReplicaSet")["spec"]["replicas"]
    alive = [tree for tree in world.of("Pod") if tree["status"]["phase"] == "Running"]
    assert len(alive) == world.one("ReplicaSet")["status"]["replicas"] == wanted
    assert one_pass(world).is_empty


def _disturb(world: Workloads, step: str, choice: int, number: int) -> None:
    pods = world.of("Pod")
    tree = pods[choice % len(pods)] if pods else None
    if step == "pass":
        one_pass(world)
    elif step == "orphan":
        world.add(pod(f"orphan-{number}"))
    elif step == "scale":
        world.change(REPLICA_SET_REF, spec={"replicas": choice})
    elif tree is None:
        return
    elif step == "run":
        world.run(tree)
    elif step == "fail":
        world.change(ref_of(tree), status={"phase": "Failed"})
    elif step == "break":
        world.break_down(tree)
    else:
        world.remove(ref_of(tree))
