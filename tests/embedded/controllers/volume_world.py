"""Claims, volumes and classes for tests, with the controllers that bring them together."""

from pathlib import PurePath
from typing import Any

from embedded.controllers.plan_world import World
from heliostat.embedded.controllers.views.pods import PODS
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASSES
from heliostat.embedded.controllers.views.volume_claims import CLAIMS
from heliostat.embedded.controllers.views.volumes import VOLUMES
from heliostat.embedded.controllers.volumes.reconcilers import (
    ClaimProtectionReconciler,
    ClaimReconciler,
    DirectoryReconciler,
    DirectoryRemovalReconciler,
    VolumeProtectionReconciler,
    VolumeReconciler,
)
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Ref

ROOT = PurePath("/volumes")
CLAIM_REF = Ref("v1", "PersistentVolumeClaim", "ns", "data")
VOLUME_REF = Ref("v1", "PersistentVolume", "", "disk")


def claim(name: str = "data", **spec: Any) -> JsonObject:
    defaults = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "ns", "finalizers": ["kubernetes.io/pvc-protection"]},
        "spec": {**defaults, "storageClassName": "", **spec},
        "status": {"phase": "Pending"},
    }


def volume(name: str = "disk", **spec: Any) -> JsonObject:
    defaults = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}, "hostPath": {"path": "/d"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "finalizers": ["kubernetes.io/pv-protection"]},
        "spec": {**defaults, "persistentVolumeReclaimPolicy": "Retain", **spec},
        "status": {"phase": "Pending"},
    }


class Volumes(World):
    def __init__(self) -> None:
        super().__init__(CLAIMS, VOLUMES, STORAGE_CLASSES, PODS)
        self.claims = ClaimReconciler(self.caches)
        self.volumes = VolumeReconciler(self.caches)
        self.directories = DirectoryReconciler(self.caches, ROOT)
        self.removal = DirectoryRemovalReconciler(self.caches, ROOT)
        self.claim_protection = ClaimProtectionReconciler(self.caches)
        self.volume_protection = VolumeProtectionReconciler(self.caches)

    def passes(self) -> list[Plan]:
        plans = []
        for tree in self.of("PersistentVolume"):
            key = Key("", tree["metadata"]["name"])
            plans += [self.reconcile(by, key) for by in (self.volumes, self.removal, self.volume_protection)]
        for tree in self.of("PersistentVolumeClaim"):
            key = Key("ns", tree["metadata"]["name"])
            plans += [self.reconcile(by, key) for by in (self.claims, self.directories, self.claim_protection)]
        return plans

    def settle(self) -> None:
        for _ in range(30):
            if all(plan.is_empty for plan in self.passes()):
                return
        raise AssertionError("not settled")

    def told(self) -> list[tuple[str, str, str]]:
        """Each event once, in order."""
        return list(dict.fromkeys((event.type, event.reason, event.note) for event in self.events))
