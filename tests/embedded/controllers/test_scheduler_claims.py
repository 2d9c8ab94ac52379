from typing import Any

import msgspec
import pytest

from embedded.controllers.cluster_shapes import pod
from heliostat.embedded.controllers.scheduler.claims import Volumes, judge_volumes
from heliostat.embedded.controllers.views.storage_classes import StorageClass
from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.kube.jsontree import JsonObject, merge_patch

BOUND = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv"}}
LAZY = {"spec": {"storageClassName": "lazy"}}
CLASSES = {"lazy": "WaitForFirstConsumer", "eager": "Immediate"}


def claim(*changes: JsonObject) -> Claim:
    tree: JsonObject = {"metadata": {"name": "data", "namespace": "default"}}
    for change in changes:
        tree = merge_patch(tree, change)
    return msgspec.convert(tree, Claim)


def judge(found: Claim | None, volume: dict[str, Any] | None = None) -> Volumes:
    volume = volume or {"persistentVolumeClaim": {"claimName": "data"}}
    classes = {
        name: msgspec.convert({"metadata": {"name": name}, "volumeBindingMode": mode}, StorageClass)
        for name, mode in CLASSES.items()
    }
    consumer = pod("p", volumes=[{"name": "v", **volume}])
    return judge_volumes(consumer, lambda name: found if name in ("data", "p-v") else None, classes.get)


@pytest.mark.parametrize(
    ("found", "blocked"),
    [
        (None, 'persistentvolumeclaim "data" not found'),
        (claim(), "pod has unbound immediate PersistentVolumeClaims"),
        (claim({"spec": {"storageClassName": "eager"}}), "pod has unbound immediate PersistentVolumeClaims"),
        (claim({"spec": {"volumeName": "pv"}}), "pod has unbound immediate PersistentVolumeClaims"),
        (claim(BOUND), ""),
        (claim(LAZY), ""),
        (
            claim(BOUND, {"status": {"phase": "Lost"}}),
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
        ),
        (
            claim(BOUND, {"metadata": {"deletionTimestamp": "2026-01-31T12:00:00Z"}}),
            'persistentvolumeclaim "data" is being deleted',
        ),
    ],
    ids=["missing", "unbound", "eager", "half-bound", "bound", "lazy", "lost", "deleted"],
)
def test_which_claims_hold_a_pod_back(found: Claim | None, blocked: str) -> None:
    assert judge(found).blocked == blocked


def test_the_claim_of_an_ephemeral_volume_has_the_name_of_both() -> None:
    ephemeral: dict[str, Any] = {"ephemeral": {"volumeClaimTemplate": {}}}
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'
    assert judge(None, ephemeral).blocked == waiting
    assert judge(claim(BOUND), ephemeral).blocked == ""


def test_a_lazy_claim_waits_for_a_node_and_remembers_it() -> None:
    told = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "a"}}}
    assert judge(claim(LAZY)).waiting != ()
    assert judge(claim(LAZY, told)).chosen == "a"
    assert judge(claim(LAZY, BOUND, told)) == Volumes(chosen="a")


def test_other_volumes_do_not_matter() -> None:
    assert judge(None, {"emptyDir": {}}) == Volumes()
