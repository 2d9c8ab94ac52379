"""The columns of storage: volumes, claims, classes and drivers."""

from typing import Any

from heliostat.embedded.server.tables.columns import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    UNSET,
    Column,
    Columns,
    computed,
    entries,
    items,
    look,
    text,
    text_at,
)
from heliostat.embedded.server.tables.phrases import is_going, quantity_text
from heliostat.kube.jsontree import JsonObject

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _modes(tree: JsonObject, path: str) -> str:
    given = items(tree, path)
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _phase(tree: JsonObject) -> str:
    return "Terminating" if is_going(tree) else str(look(tree, "status.phase") or "")


def _claim(volume: JsonObject) -> str:
    reference: Any = look(volume, "spec.claimRef")
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference else ""


def _class(tree: JsonObject) -> str:
    annotated = entries(tree, "metadata.annotations").get(_CLASS_ANNOTATION)
    return str(annotated if annotated is not None else look(tree, "spec.storageClassName") or "")


def _of_bound(path: str) -> Column:
    """What a claim has only once it has a volume."""
    return computed("Capacity", lambda tree: quantity_text(look(tree, path)) if look(tree, "spec.volumeName") else "")


def _class_name(storage_class: JsonObject) -> str:
    annotations = entries(storage_class, "metadata.annotations")
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_ANNOTATIONS)
    name = look(storage_class, "metadata.name") or ""
    return f"{name} (default)" if is_default else str(name)


def _flag(name: str, path: str, *, missing: bool = False) -> Column:
    def read(tree: JsonObject) -> bool:
        value = look(tree, path)
        return missing if value is None else bool(value)

    return computed(name, read, type="boolean")


def _audiences(driver: JsonObject) -> str:
    requests = look(driver, "spec.tokenRequests")
    return UNSET if requests is None else ",".join(str(request.get("audience") or "") for request in requests)


STORAGE: dict[str, Columns] = {
    "persistentvolumes": (
        NAME,
        computed("Capacity", lambda tree: quantity_text(look(tree, "spec.capacity.storage"))),
        computed("Access Modes", lambda tree: _modes(tree, "spec.accessModes")),
        text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        computed("Status", _phase),
        computed("Claim", _claim),
        computed("StorageClass", _class),
        text("VolumeAttributesClass", "spec.volumeAttributesClassName", UNSET),
        text("Reason", "status.reason"),
        AGE,
        text("VolumeMode", "spec.volumeMode", UNSET, priority=1),
    ),
    "persistentvolumeclaims": (
        NAME,
        computed("Status", _phase),
        text("Volume", "spec.volumeName"),
        _of_bound("status.capacity.storage"),
        computed(
            "Access Modes", lambda tree: _modes(tree, "status.accessModes") if look(tree, "spec.volumeName") else ""
        ),
        computed("StorageClass", _class),
        text("VolumeAttributesClass", "spec.volumeAttributesClassName", UNSET),
        AGE,
        text("VolumeMode", "spec.volumeMode", UNSET, priority=1),
    ),
    "storageclasses.storage.k8s.io": (
        Column("Name", lambda tree, _now: _class_name(tree), format="name"),
        text("Provisioner", "provisioner"),
        text("ReclaimPolicy", "reclaimPolicy", "Delete"),
        text("VolumeBindingMode", "volumeBindingMode", UNSET),
        computed("AllowVolumeExpansion", lambda tree: bool(look(tree, "allowVolumeExpansion"))),
        AGE,
    ),
    "volumeattributesclasses.storage.k8s.io": (NAME, text("DriverName", "driverName"), AGE),
    "volumeattachments.storage.k8s.io": (
        NAME,
        Column("Attacher", text_at("spec.attacher"), format="name"),
        text("PV", "spec.source.persistentVolumeName"),
        text("Node", "spec.nodeName"),
        _flag("Attached", "status.attached"),
        AGE,
    ),
    "csidrivers.storage.k8s.io": (
        NAME,
        _flag("AttachRequired", "spec.attachRequired", missing=True),
        _flag("PodInfoOnMount", "spec.podInfoOnMount"),
        _flag("StorageCapacity", "spec.storageCapacity"),
        computed("TokenRequests", _audiences),
        _flag("RequiresRepublish", "spec.requiresRepublish"),
        computed("Modes", lambda tree: ",".join(items(tree, "spec.volumeLifecycleModes")) or NONE),
        AGE,
    ),
    "csinodes.storage.k8s.io": (
        NAME,
        computed("Drivers", lambda tree: len(items(tree, "spec.drivers")), type="integer"),
        AGE,
    ),
    "csistoragecapacities.storage.k8s.io": (NAME, CREATED_AT),
}
