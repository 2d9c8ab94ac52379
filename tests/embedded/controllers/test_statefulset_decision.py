"""StatefulSets: Pods with names and volumes that stay, made upwards, ended downwards, replaced one at a time."""

from typing import Any

import pytest

from embedded.controllers.stateful_world import SET_REF, StatefulWorld, claim_template, stateful_set
from embedded.controllers.workloads import LABELS, controlled_by, key_of, pod, template
from heliostat.kube.plan import Delete, ref_of


def settled(replicas: int = 3, **spec: Any) -> StatefulWorld:
    world = StatefulWorld()
    world.add(stateful_set(replicas, **spec))
    world.live()
    return world


def revisions(world: StatefulWorld) -> list[str]:
    return [tree["metadata"]["labels"]["controller-revision-hash"] for tree in world.of("Pod")]


def test_pods_are_made_one_after_the_other() -> None:
    world = StatefulWorld()
    world.add(stateful_set(3))
    assert world.live() == [["+db-0"], ["+db-1"], ["+db-2"]]
    assert world.events[0].note == "create Pod db-0 in StatefulSet db successful"


def test_the_next_one_waits_until_the_one_before_is_ready() -> None:
    world = StatefulWorld()
    world.add(stateful_set(2))
    world.one_pass()
    assert not world.one_pass().stages
    assert world.one_pass().is_empty
    world.run(world.one("Pod"))
    world.one_pass()
    assert world.names() == ["db-0", "db-1"]


def test_parallel_waits_for_nobody() -> None:
    world = StatefulWorld()
    world.add(stateful_set(3, podManagementPolicy="Parallel"))
    world.one_pass()
    assert world.names() == ["db-0", "db-1", "db-2"]
    for tree in world.of("Pod"):
        world.run(tree)
    world.change(SET_REF, spec={"replicas": 1})
    world.one_pass()
    assert [bool(tree["metadata"].get("deletionTimestamp")) for tree in world.of("Pod")] == [False, True, True]


def test_a_pod_knows_who_it_is() -> None:
    world = settled(1)
    tree, owner = world.one("Pod"), world.one("StatefulSet")
    assert tree["metadata"]["ownerReferences"] == controlled_by(owner)
    assert tree["metadata"]["labels"] == {
        **LABELS,
        "statefulset.kubernetes.io/pod-name": "db-0",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": owner["status"]["updateRevision"],
    }
    assert (tree["spec"]["hostname"], tree["spec"]["subdomain"]) == ("db-0", "dbs")


def test_numbers_begin_where_they_are_told_to() -> None:
    assert settled(2, ordinals={"start": 5}).names() == ["db-5", "db-6"]


def test_every_number_has_volumes_of_its_own_that_outlive_its_pod() -> None:
    given = template()
    given["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]
    world = settled(2, template=given, volumeClaimTemplates=[claim_template()])
    assert [tree["metadata"]["name"] for tree in world.of("PersistentVolumeClaim")] == ["data-db-0", "data-db-1"]
    claim = world.of("PersistentVolumeClaim")[0]
    assert claim["metadata"]["labels"] == {**LABELS, "kind": "disk"}
    assert "ownerReferences" not in claim["metadata"]
    own = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1", "readOnly": False}}
    assert world.of("Pod")[1]["spec"]["volumes"] == [own, {"name": "other", "emptyDir": {}}]
    world.change(SET_REF, spec={"replicas": 0})
    world.live()
    world.change(SET_REF, spec={"replicas": 2})
    world.live()
    assert world.of("PersistentVolumeClaim")[0]["metadata"]["uid"] == claim["metadata"]["uid"]


def test_a_volume_that_is_about_to_go_is_waited_for() -> None:
    world = StatefulWorld()
    old = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-0", "namespace": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {},
    }
    world.add(old)
    world.add(stateful_set(1, volumeClaimTemplates=[claim_template()]))
    woken: list[Any] = []
    source = world.sets.sources()[2]
    source.changes.subscribe(lambda before, after: woken.extend(source.keys_of(before, after)))
    world.one_pass()
    assert world.names() == []
    world.remove(ref_of(old))
    assert [key.name for key in woken] == ["db"]
    world.live()
    assert world.names() == ["db-0"]


def test_scaling_down_ends_the_highest_number_first_and_waits_for_each() -> None:
    world = settled(3)
    world.change(SET_REF, spec={"replicas": 1})
    world.one_pass()
    assert [bool(tree["metadata"].get("deletionTimestamp")) for tree in world.of("Pod")] == [False, False, True]
    assert not world.one_pass().stages
    assert world.live() == [["-db-2"], ["-db-1"]]
    assert world.one("StatefulSet")["status"]["replicas"] == 1


def test_nothing_is_ended_while_one_that_stays_is_not_ready() -> None:
    world = settled(3)
    world.change(ref_of(world.of("Pod")[0]), status={"conditions": [{"type": "Ready", "status": "False"}]})
    world.change(SET_REF, spec={"replicas": 1})
    assert not world.one_pass().stages


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_is_over_is_made_anew_under_its_name(phase: str) -> None:
    world = settled(2)
    first = world.of("Pod")[0]
    world.change(ref_of(first), status={"phase": phase, "conditions": []})
    world.live()
    assert world.names() == ["db-0", "db-1"]
    assert world.of("Pod")[0]["metadata"]["uid"] != first["metadata"]["uid"]


class TestUpdates:
    def test_a_new_template_replaces_one_pod_at_a_time_from_the_highest_down(self) -> None:
        world = settled(3)
        before = world.one("StatefulSet")["status"]["updateRevision"]
        world.change(SET_REF, spec={"template": template("b")})
        assert world.live() == [[f"{sign}db-{n}"] for n in (2, 1, 0) for sign in "-+"]
        status = world.one("StatefulSet")["status"]
        assert status["currentRevision"] == status["updateRevision"] != before
        assert revisions(world) == [status["updateRevision"]] * 3

    def test_an_update_waits_for_those_that_are_not_ready(self) -> None:
        world = settled(2)
        world.change(SET_REF, spec={"template": template("b")})
        world.step()
        world.one_pass()  # db-1 is made and not ready yet
        assert not any(isinstance(action, Delete) for action in world.one_pass().actions())
        status = world.one("StatefulSet")["status"]
        assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 1)
        assert status["currentRevision"] != status["updateRevision"]

    def test_below_the_partition_nothing_is_replaced(self) -> None:
        world = settled(3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
        world.change(SET_REF, spec={"template": template("b")})
        assert world.live() == [["-db-2"], ["+db-2"]]
        assert revisions(world)[0] == revisions(world)[1] != revisions(world)[2]

    def test_on_delete_leaves_it_to_others(self) -> None:
        world = settled(2, updateStrategy={"type": "OnDelete"})
        world.change(SET_REF, spec={"template": template("b")})
        assert world.live() == []
        world.remove(ref_of(world.of("Pod")[0]))
        assert world.live() == [["+db-0"]]
        assert revisions(world)[0] == world.one("StatefulSet")["status"]["updateRevision"] != revisions(world)[1]


class TestClaiming:
    def test_an_orphan_of_its_name_and_labels_is_adopted(self) -> None:
        world = StatefulWorld()
        owner = world.add(stateful_set(1, updateStrategy={"type": "OnDelete"}))
        world.add(pod("db-0"))
        world.add(pod("other"))
        world.one_pass()
        assert world.of("Pod")[0]["metadata"]["ownerReferences"] == controlled_by(owner)
        assert "ownerReferences" not in world.of("Pod")[1]["metadata"]

    @pytest.mark.parametrize("name", ["db", "db-", "db-x", "db-01", "db-1-1", "db--1", "db-9999999999", "db-٣"])
    def test_other_names_are_nobodys(self, name: str) -> None:
        world = StatefulWorld()
        world.add(stateful_set(0))
        world.add(pod(name))
        assert not world.one_pass().stages

    def test_a_pod_that_no_longer_matches_is_let_go(self) -> None:
        world = settled(1)
        world.change(ref_of(world.one("Pod")), metadata={"labels": {"app": "debug"}})
        plan = world.sets.plan(key_of(world.one("StatefulSet")), world.now)
        assert plan.stages[0].name == "claim"

    def test_a_stateful_set_that_is_being_deleted_only_counts(self) -> None:
        world = StatefulWorld()
        tree = stateful_set(2)
        tree["metadata"]["finalizers"] = ["foregroundDeletion"]
        world.add(tree)
        world.delete(ref_of(tree))
        assert not world.one_pass().stages
        assert world.one("StatefulSet")["status"]["observedGeneration"] == 1


def test_the_status_counts_what_there_is() -> None:
    status = settled(2).one("StatefulSet")["status"]
    revision = status["updateRevision"]
    assert revision.startswith("db-")
    assert status == {
        "replicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
        "observedGeneration": 1,
    }


def test_a_pod_is_available_after_a_while_and_looked_at_again_then() -> None:
    world = StatefulWorld()
    world.add(stateful_set(2, minReadySeconds=10))
    world.one_pass()
    world.run(world.one("Pod"))
    assert world.one_pass().wake_after == 10
    assert world.names() == ["db-0"]
    world.now += 10
    world.one_pass()
    assert world.names() == ["db-0", "db-1"]
