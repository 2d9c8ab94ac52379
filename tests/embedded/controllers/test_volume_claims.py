"""Claims and volumes: who gets what, what both say about it, and what happens when one of them is gone."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.volume_world import CLAIM_REF, VOLUME_REF, Volumes, claim, volume
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Ref, ref_of

COMPLETED, BY_CONTROLLER = "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"


def bound_to(world: Volumes, name: str = "data") -> str:
    found: str = world.trees[Ref("v1", "PersistentVolumeClaim", "ns", name)]["spec"].get("volumeName", "")
    return found


def test_a_claim_and_a_volume_find_each_other() -> None:
    world = Volumes()
    asked, there = world.add(claim()), world.add(volume())
    world.settle()
    found = world.trees[CLAIM_REF]
    assert found["spec"]["volumeName"] == "disk"
    assert found["metadata"]["annotations"] == {COMPLETED: "yes", BY_CONTROLLER: "yes"}
    assert found["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "10Gi"},
    }
    taken = world.trees[VOLUME_REF]
    assert taken["status"] == {"phase": "Bound"}
    assert taken["metadata"]["annotations"] == {BY_CONTROLLER: "yes"}
    ref = taken["spec"]["claimRef"]
    assert (ref["kind"], ref["namespace"], ref["name"], ref["uid"]) == (
        "PersistentVolumeClaim",
        "ns",
        "data",
        asked["metadata"]["uid"],
    )
    assert there["metadata"]["uid"] == taken["metadata"]["uid"]


def test_a_volume_that_nobody_wants_is_available() -> None:
    world = Volumes()
    world.add(volume())
    world.settle()
    assert world.trees[VOLUME_REF]["status"]["phase"] == "Available"


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ({"resources": {"requests": {"storage": "11Gi"}}}, {}),
        ({"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}, {}),
        ({"storageClassName": "fast"}, {}),
        ({}, {"storageClassName": "fast"}),
        ({"volumeMode": "Block"}, {}),
        ({"selector": {"matchLabels": {"disk": "ssd"}}}, {}),
        ({}, {"claimRef": {"namespace": "ns", "name": "other"}}),
        ({}, {"claimRef": {"namespace": "ns", "name": "data", "uid": "earlier"}}),
    ],
    ids=["size", "modes", "asked class", "its class", "volume mode", "selector", "reserved", "of an earlier claim"],
)
def test_what_does_not_fit(asked: JsonObject, there: JsonObject) -> None:
    world = Volumes()
    world.add(claim(**asked))
    world.add(volume(**there))
    world.settle()
    assert bound_to(world) == ""
    assert world.trees[CLAIM_REF]["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ({"large": {"capacity": {"storage": "20Gi"}}, "small": {"capacity": {"storage": "6Gi"}}}, "small"),
        (
            {
                "many": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"], "capacity": {"storage": "6Gi"}},
                "one": {"capacity": {"storage": "9Gi"}},
            },
            "one",
        ),
        (
            {
                "mine": {"claimRef": {"namespace": "ns", "name": "data"}, "storageClassName": "any"},
                "small": {"capacity": {"storage": "6Gi"}},
            },
            "mine",
        ),
        ({"b": {}, "a": {}}, "a"),
    ],
    ids=["the smallest", "the fewest modes", "the reserved one", "by name"],
)
def test_which_of_several(volumes: dict[str, JsonObject], expected: str) -> None:
    world = Volumes()
    for name, spec in volumes.items():
        world.add(volume(name, **spec))
    world.settle()
    world.add(claim())
    world.settle()
    assert bound_to(world) == expected


def test_a_reserved_volume_is_not_marked_as_taken_by_the_controller() -> None:
    world = Volumes()
    world.add(volume(claimRef={"namespace": "ns", "name": "data"}))
    world.add(claim())
    world.settle()
    assert world.trees[VOLUME_REF]["metadata"].get("annotations", {}) == {}
    assert world.trees[VOLUME_REF]["status"]["phase"] == "Bound"


class TestByName:
    def test_the_volume_that_was_asked_for(self) -> None:
        world = Volumes()
        world.add(volume("small", capacity={"storage": "5Gi"}))
        world.add(volume())
        world.add(claim(volumeName="disk"))
        world.settle()
        assert world.trees[CLAIM_REF]["status"]["phase"] == "Bound"
        assert world.trees[CLAIM_REF]["metadata"]["annotations"] == {COMPLETED: "yes"}
        assert world.trees[VOLUME_REF]["spec"]["claimRef"]["name"] == "data"

    def test_it_may_come_later(self) -> None:
        world = Volumes()
        world.add(claim(volumeName="disk"))
        world.settle()
        woken: list[Key] = []
        volumes = world.claims.sources()[1]
        volumes.changes.subscribe(lambda before, after: woken.extend(volumes.keys_of(before, after)))
        world.add(volume())
        assert woken == [Key("ns", "data")]
        world.settle()
        assert world.trees[CLAIM_REF]["status"]["phase"] == "Bound"

    @pytest.mark.parametrize(
        ("there", "words"),
        [
            ({"capacity": {"storage": "1Gi"}}, "requested PV is too small"),
            ({"storageClassName": "fast"}, "storageClassName does not match"),
            ({"volumeMode": "Block"}, "incompatible volumeMode"),
            ({"accessModes": ["ReadOnlyMany"]}, "incompatible accessMode"),
        ],
    )
    def test_one_that_will_not_do(self, there: JsonObject, words: str) -> None:
        world = Volumes()
        world.add(volume(**there))
        world.add(claim(volumeName="disk"))
        world.settle()
        assert world.told() == [("Warning", "VolumeMismatch", f'Cannot bind to requested volume "disk": {words}')]
        assert "claimRef" not in world.trees[VOLUME_REF]["spec"]

    def test_one_that_somebody_else_has(self) -> None:
        world = Volumes()
        world.add(volume())
        world.add(claim("first"))
        world.settle()
        world.add(claim(volumeName="disk"))
        world.settle()
        assert world.told() == [("Warning", "FailedBinding", 'volume "disk" already bound to a different claim.')]


class TestLoss:
    def bound(self) -> Volumes:
        world = Volumes()
        world.add(volume())
        world.add(claim())
        world.settle()
        return world

    def test_a_volume_that_vanished(self) -> None:
        world = self.bound()
        world.remove(VOLUME_REF)
        world.settle()
        assert world.trees[CLAIM_REF]["status"] == {"phase": "Lost"}
        assert world.told() == [
            ("Warning", "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
        ]
        assert world.passes() == [Plan()] * 3

    def test_a_volume_that_another_claim_has(self) -> None:
        world = self.bound()
        world.change(VOLUME_REF, spec={"claimRef": {"name": "other", "uid": "x"}})
        world.reconcile(world.claims, Key("ns", "data"))
        assert world.trees[CLAIM_REF]["status"]["phase"] == "Lost"
        assert world.told()[0][1] == "ClaimMisbound"

    def test_a_volume_that_lost_its_claim_is_tied_again(self) -> None:
        world = self.bound()
        world.change(VOLUME_REF, spec={"claimRef": None})
        world.reconcile(world.claims, Key("ns", "data"))
        world.settle()
        assert world.trees[VOLUME_REF]["status"]["phase"] == "Bound"

    def test_a_claim_that_is_gone_releases_its_volume(self) -> None:
        world = self.bound()
        world.delete(CLAIM_REF)
        world.settle()
        assert CLAIM_REF not in world.trees
        assert world.trees[VOLUME_REF]["status"]["phase"] == "Released"
        world.add(claim())
        world.settle()
        assert bound_to(world) == ""

    def test_what_cannot_be_deleted_has_failed(self) -> None:
        world = self.bound()
        world.change(VOLUME_REF, spec={"persistentVolumeReclaimPolicy": "Delete"})
        world.delete(CLAIM_REF)
        world.settle()
        words = 'error getting deleter volume plugin for volume "disk": no deletable volume plugin matched'
        assert world.trees[VOLUME_REF]["status"] == {"phase": "Failed", "message": words}
        assert world.told() == [("Warning", "VolumeFailedDelete", words)]


class TestGivingBack:
    @pytest.mark.parametrize(("annotations", "ref"), [({BY_CONTROLLER: "yes"}, None), ({}, "data")])
    def test_a_volume_whose_claim_found_another(self, annotations: dict[str, str], ref: str | None) -> None:
        world = Volumes()
        asked = world.add(claim(volumeName="other"))
        tree = volume(claimRef={"namespace": "ns", "name": "data", "uid": asked["metadata"]["uid"]})
        tree["metadata"]["annotations"] = annotations
        world.add(tree)
        world.reconcile(world.volumes, Key("", "disk"))
        kept = world.trees[VOLUME_REF]["spec"].get("claimRef")
        assert kept == ({"namespace": "ns", "name": ref} if ref else None)
        world.reconcile(world.volumes, Key("", "disk"))
        assert world.trees[VOLUME_REF]["status"]["phase"] == "Available"


class TestClasses:
    def test_a_claim_without_a_class_gets_the_default_one(self) -> None:
        world = Volumes()
        world.add(claim(storageClassName=None))
        world.settle()
        assert world.told() == [
            ("Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
        ]
        woken: list[Key] = []
        classes = world.claims.sources()[2]
        classes.changes.subscribe(lambda before, after: woken.extend(classes.keys_of(before, after)))
        world.add(_class("slow", "x.io/x", default=True))
        assert woken == [Key("ns", "data")]
        world.settle()
        assert world.trees[CLAIM_REF]["spec"]["storageClassName"] == "slow"

    def test_the_empty_class_is_a_choice(self) -> None:
        world = Volumes()
        world.add(_class("slow", "x.io/x", default=True))
        world.add(claim(storageClassName=""))
        world.settle()
        assert world.trees[CLAIM_REF]["spec"]["storageClassName"] == ""

    def test_somebody_else_is_asked_to_make_one(self) -> None:
        world = Volumes()
        world.add(_class("slow", "x.io/x"))
        world.add(claim(storageClassName="slow"))
        world.settle()
        assert world.trees[CLAIM_REF]["metadata"]["annotations"] == {
            "volume.kubernetes.io/storage-provisioner": "x.io/x",
            "volume.beta.kubernetes.io/storage-provisioner": "x.io/x",
        }
        ((type_, reason, note),) = world.told()
        assert (type_, reason) == ("Normal", "ExternalProvisioning")
        assert note.startswith("Waiting for a volume to be created either by the external provisioner 'x.io/x' or")

    @pytest.mark.parametrize(
        ("provisioner", "words"),
        [
            (None, 'storageclass.storage.k8s.io "slow" not found'),
            ("kubernetes.io/no-provisioner", "no volume plugin matched name: kubernetes.io/no-provisioner"),
        ],
    )
    def test_nobody_can_make_one(self, provisioner: str | None, words: str) -> None:
        world = Volumes()
        if provisioner:
            world.add(_class("slow", provisioner))
        world.add(claim(storageClassName="slow"))
        world.settle()
        assert world.told() == [("Warning", "ProvisioningFailed", words)]

    @pytest.mark.parametrize(
        ("pods", "reason", "words"),
        [
            ([], "WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
            (["a"], "WaitForPodScheduled", "waiting for pod a to be scheduled"),
            (["b", "a"], "WaitForPodScheduled", "waiting for pods a,b to be scheduled"),
        ],
    )
    def test_a_class_that_waits(self, pods: list[str], reason: str, words: str) -> None:
        world = Volumes()
        world.add({**_class("slow", "x.io/x"), "volumeBindingMode": "WaitForFirstConsumer"})
        world.add(volume(storageClassName="slow"))
        for name in pods:
            world.add(using_pod(name))
        world.add(claim(storageClassName="slow"))
        world.settle()
        assert world.told() == [("Normal", reason, words)]
        assert bound_to(world) == ""


def _class(name: str, provisioner: str, *, default: bool = False) -> JsonObject:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": provisioner,
    }


def using_pod(name: str, **spec: Any) -> JsonObject:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"containers": [], "volumes": volumes, **spec},
    }


class TestProtection:
    def leaving(self) -> Volumes:
        world = Volumes()
        world.add(claim())
        world.add(using_pod("user", nodeName="n"))
        world.delete(CLAIM_REF)
        return world

    def test_a_claim_in_use_stays(self) -> None:
        world = self.leaving()
        world.settle()
        world.change(Ref("v1", "Pod", "ns", "user"), status={"phase": "Succeeded"})
        world.settle()
        assert CLAIM_REF in world.trees

    def test_it_goes_with_its_last_pod(self) -> None:
        world = self.leaving()
        woken: list[Key] = []
        pods = world.claim_protection.sources()[1]
        pods.changes.subscribe(lambda before, after: woken.extend(pods.keys_of(before, after)))
        world.remove(Ref("v1", "Pod", "ns", "user"))
        assert woken == [Key("ns", "data")]
        world.settle()
        assert CLAIM_REF not in world.trees

    @pytest.mark.parametrize(
        "spec", [{"nodeName": ""}, {"nodeName": "n", "volumes": []}], ids=["without a node", "without the volume"]
    )
    def test_who_does_not_use_it(self, spec: JsonObject) -> None:
        world = Volumes()
        world.add(claim())
        world.add(using_pod("other", **spec))
        world.delete(CLAIM_REF)
        world.settle()
        assert CLAIM_REF not in world.trees

    @pytest.mark.parametrize(("owner", "is_kept"), [("uid-of-pod", True), ("another", False)])
    def test_a_claim_of_a_pods_own(self, owner: str, *, is_kept: bool) -> None:
        world = Volumes()
        tree = claim("pod-v")
        reference = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": owner, "controller": True}
        tree["metadata"]["ownerReferences"] = [reference]
        world.add(tree)
        user = using_pod("pod", nodeName="n", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}])
        user["metadata"]["uid"] = "uid-of-pod"
        world.add(user)
        world.delete(ref_of(tree))
        world.settle()
        assert (ref_of(tree) in world.trees) == is_kept

    def test_a_volume_stays_while_a_claim_has_it(self) -> None:
        world = Volumes()
        world.add(volume())
        world.add(claim())
        world.settle()
        world.delete(VOLUME_REF)
        world.settle()
        assert VOLUME_REF in world.trees
        world.delete(CLAIM_REF)
        world.settle()
        assert VOLUME_REF not in world.trees

    def test_what_came_without_its_finalizer_gets_it(self) -> None:
        world = Volumes()
        for tree in (claim(), volume()):
            tree["metadata"]["finalizers"] = ["other"]
            world.add(tree)
        world.settle()
        assert world.trees[CLAIM_REF]["metadata"]["finalizers"] == ["other", "kubernetes.io/pvc-protection"]
        assert world.trees[VOLUME_REF]["metadata"]["finalizers"] == ["other", "kubernetes.io/pv-protection"]


SIZES = st.lists(st.integers(1, 6), max_size=5)


@settings(max_examples=60, deadline=None)
@given(asked=SIZES, there=SIZES, order=st.randoms(use_true_random=False))
def test_every_volume_has_one_claim_and_every_claim_is_large_enough(
    asked: list[int], there: list[int], order: Any
) -> None:
    world = Volumes()
    trees = [claim(f"c{number}", resources={"requests": {"storage": f"{size}Gi"}}) for number, size in enumerate(asked)]
    trees += [volume(f"v{number}", capacity={"storage": f"{size}Gi"}) for number, size in enumerate(there)]
    order.shuffle(trees)
    for tree in trees:
        world.add(tree)
        world.passes()
    world.settle()
    claims = {tree["metadata"]["name"]: tree for tree in world.of("PersistentVolumeClaim")}
    taken = [tree["spec"]["volumeName"] for tree in claims.values() if "volumeName" in tree["spec"]]
    assert len(taken) == len(set(taken))
    for tree in world.of("PersistentVolume"):
        ref = tree["spec"].get("claimRef")
        assert (tree["status"]["phase"] == "Bound") == (ref is not None)
        if ref is not None:
            size = claims[ref["name"]]["spec"]["resources"]["requests"]["storage"]
            assert int(size[:-2]) <= int(tree["spec"]["capacity"]["storage"][:-2])
    waiting = [tree for tree in claims.values() if tree["status"]["phase"] != "Bound"]
    free = [tree for tree in world.of("PersistentVolume") if tree["status"]["phase"] == "Available"]
    for tree in waiting:
        size = int(tree["spec"]["resources"]["requests"]["storage"][:-2])
        assert all(int(disk["spec"]["capacity"]["storage"][:-2]) < size for disk in free)
