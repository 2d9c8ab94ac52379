"""Volumes that are local directories: made for a claim, bound to it, and removed with it."""

from typing import Any

import pytest

from embedded.controllers.volume_world import CLAIM_REF, Volumes, claim
from heliostat.embedded.controllers.volumes.directories import build_default_class
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Ref

PROVISIONER = "heliostat.dev/local-directory"


def made(*, waits: bool = False, **spec: Any) -> Volumes:
    world = Volumes()
    world.add(build_default_class(waits_for_consumer=waits))
    world.add(claim(**{"storageClassName": "standard", **spec}))
    world.settle()
    return world


def done(world: Volumes) -> list[tuple[str, str]]:
    return [(effect.payload["operation"], effect.payload["path"]) for effect in world.effects]


def test_a_claim_of_the_default_class_gets_a_directory() -> None:
    world = made()
    asked = world.trees[CLAIM_REF]
    name = f"pvc-{asked['metadata']['uid']}"
    path = f"/volumes/{name}_ns_data"
    assert done(world) == [("create", path)]
    assert asked["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}}
    found = world.one("PersistentVolume")
    assert found["metadata"]["name"] == asked["spec"]["volumeName"] == name
    assert found["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": PROVISIONER}
    assert found["spec"]["hostPath"] == {"path": path, "type": "DirectoryOrCreate"}
    assert found["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert found["spec"]["storageClassName"] == "standard"
    assert found["status"]["phase"] == "Bound"
    assert [(reason, note) for _type, reason, note in world.told() if reason != "ExternalProvisioning"] == [
        ("Provisioning", 'External provisioner is provisioning volume for claim "ns/data"'),
        ("ProvisioningSucceeded", f"Successfully provisioned volume {name}"),
    ]


def test_the_directory_goes_with_the_claim() -> None:
    world = made()
    path = world.one("PersistentVolume")["spec"]["hostPath"]["path"]
    world.delete(CLAIM_REF)
    world.settle()
    assert done(world)[1:] == [("remove", path)]
    assert world.of("PersistentVolume") == []


def test_a_volume_to_be_retained_stays() -> None:
    world = made()
    name = world.one("PersistentVolume")["metadata"]["name"]
    world.change(Ref("v1", "PersistentVolume", "", name), spec={"persistentVolumeReclaimPolicy": "Retain"})
    world.delete(CLAIM_REF)
    world.settle()
    assert world.one("PersistentVolume")["status"]["phase"] == "Released"
    assert len(world.effects) == 1


@pytest.mark.parametrize("path", ["/etc", "/volumes", "/volumes/..", "/volumes/a/b", "", "/volumes/../etc"])
def test_no_other_directory_is_ever_removed(path: str) -> None:
    world = made()
    name = world.one("PersistentVolume")["metadata"]["name"]
    world.change(Ref("v1", "PersistentVolume", "", name), spec={"hostPath": {"path": path}})
    world.delete(CLAIM_REF)
    world.settle()
    assert len(world.effects) == 1
    assert world.one("PersistentVolume")["status"]["phase"] == "Released"
    assert world.told()[-1][1] == "VolumeFailedDelete"


def test_a_class_that_waits_for_the_first_consumer() -> None:
    world = made(waits=True)
    assert world.effects == []
    world.change(CLAIM_REF, metadata={"annotations": {"volume.kubernetes.io/selected-node": "n1"}})
    world.settle()
    assert world.trees[CLAIM_REF]["status"]["phase"] == "Bound"
    terms = world.one("PersistentVolume")["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"selector": {"matchLabels": {"a": "b"}}}, "claim.Spec.Selector is not supported"),
        ({"volumeMode": "Block"}, f"{PROVISIONER} does not support block volume provisioning"),
    ],
)
def test_what_a_directory_cannot_be(spec: JsonObject, words: str) -> None:
    world = made(**spec)
    assert world.effects == []
    note = f'failed to provision volume with StorageClass "standard": {words}'
    assert ("Warning", "ProvisioningFailed", note) in world.told()


def test_the_volume_waits_for_its_directory() -> None:
    world = Volumes()
    world.add(build_default_class())
    tree = claim(storageClassName="standard")
    tree["metadata"]["annotations"] = {"volume.kubernetes.io/storage-provisioner": PROVISIONER}
    world.add(tree)
    plan = world.directories.plan(Key("ns", "data"), world.now)
    assert [(stage.name, stage.needs) for stage in plan.stages] == [("directory", ()), ("volume", ("directory",))]
