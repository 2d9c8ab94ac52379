"""Volumes that are directories of this machine, made when a claim asks for one and removed with it.

The directory itself is made and removed by whoever carries out the effect ``local-directory``; its payload says
``operation`` (``create`` or ``remove``) and ``path``. The volume appears only once its directory is there, and goes
only once its directory is gone.
"""

from pathlib import PurePath

from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASS, StorageClass
from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.embedded.controllers.views.volumes import VOLUME, Volume
from heliostat.embedded.controllers.volumes.marks import (
    BIND_COMPLETED,
    DEFAULT_CLASS,
    OLD_PROVISIONER,
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    build_claim_ref,
    class_of_claim,
)
from heliostat.embedded.controllers.volumes.volumes import is_disposable
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Create, Delete, Effect, Event, Plan, Ref, Report, Stage

LOCAL_DIRECTORIES = "heliostat.dev/local-directory"
EFFECT = "local-directory"


def build_default_class(*, waits_for_consumer: bool = False) -> JsonObject:
    """The class that claims get which name none."""
    return {
        "apiVersion": STORAGE_CLASS.api_version,
        "kind": STORAGE_CLASS.kind,
        "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
        "provisioner": LOCAL_DIRECTORIES,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer" if waits_for_consumer else "Immediate",
    }


def plan_directory(claim: Claim, storage_class: StorageClass | None, known: Volume | None, root: PurePath) -> Plan:
    """A volume for a claim that asks us for one; ``known`` is the one that it has already got."""
    if storage_class is None or known is not None or not _asks_us(claim, storage_class):
        return Plan()
    if problem := _find_problem(claim):
        return Plan(events=(_fail(claim, problem),))
    tree = build_volume(claim, storage_class, root)
    make = _effect("create", tree["spec"]["hostPath"]["path"], tree["metadata"]["name"], "its volume is to be made")
    name = tree["metadata"]["name"]
    report = Report(
        success=Event("Normal", "ProvisioningSucceeded", "Provision", f"Successfully provisioned volume {name}"),
        failure=_fail(claim, ""),
        separator="",
    )
    begun = f'External provisioner is provisioning volume for claim "{claim.metadata.key}"'
    create = Create(tree, "a claim asks for it", report)
    return Plan(
        (Stage("directory", (make,)), Stage("volume", (create,), needs=("directory",))),
        events=(Event("Normal", "Provisioning", "Provision", begun),),
    )


def _asks_us(claim: Claim, storage_class: StorageClass) -> bool:
    annotations = claim.metadata.annotations
    asked = annotations.get(PROVISIONER) or annotations.get(OLD_PROVISIONER)
    is_open = not claim.spec.volume_name and BIND_COMPLETED not in annotations and not claim.metadata.is_terminating
    may_begin = not storage_class.waits_for_consumer or SELECTED_NODE in annotations
    return asked == storage_class.provisioner == LOCAL_DIRECTORIES and is_open and may_begin


def _find_problem(claim: Claim) -> str:
    if claim.spec.selector is not None:
        return "claim.Spec.Selector is not supported"
    if claim.spec.volume_mode != "Filesystem":
        return f"{LOCAL_DIRECTORIES} does not support block volume provisioning"
    return ""


def _fail(claim: Claim, problem: str) -> Event:
    note = f'failed to provision volume with StorageClass "{class_of_claim(claim)}": {problem}'
    return Event("Warning", "ProvisioningFailed", "Provision", note)


def name_volume(claim: Claim) -> str:
    return f"pvc-{claim.metadata.uid}"


def build_volume(claim: Claim, storage_class: StorageClass, root: PurePath) -> JsonObject:
    metadata, name = claim.metadata, name_volume(claim)
    spec: JsonObject = {
        "capacity": {"storage": claim.spec.resources.requests.get("storage", "0")},
        "accessModes": list(claim.spec.access_modes),
        "claimRef": build_claim_ref(claim),
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy,
        "storageClassName": storage_class.metadata.name,
        "volumeMode": "Filesystem",
        "hostPath": {
            "path": str(root / f"{name}_{metadata.namespace}_{metadata.name}"),
            "type": "DirectoryOrCreate",
        },
    }
    node = metadata.annotations.get(SELECTED_NODE)
    if node:
        spec["nodeAffinity"] = _only_on(node)
    return {
        "apiVersion": VOLUME.api_version,
        "kind": VOLUME.kind,
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: LOCAL_DIRECTORIES}},
        "spec": spec,
    }


def _only_on(node: str) -> JsonObject:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def plan_removal(volume: Volume, root: PurePath) -> Plan:
    """A volume that we made goes with its directory, once it is released and its policy says so."""
    path = str((volume.spec.host_path or {}).get("path", ""))
    is_ours = volume.metadata.annotations.get(PROVISIONED_BY) == LOCAL_DIRECTORIES and is_disposable(volume)
    if not is_ours or volume.status.phase != "Released" or volume.metadata.is_terminating:
        return Plan()
    name = volume.metadata.name
    if not _is_inside(path, root):
        note = f"{path or 'no path'} is not below {root}: the directory is not ours to remove"
        return Plan(events=(Event("Warning", "VolumeFailedDelete", "Delete", note),))
    remove = _effect("remove", path, name, "its volume is released")
    ref = Ref(VOLUME.api_version, VOLUME.kind, "", name)
    delete = Delete(ref, volume.metadata.uid, "it is released and its directory is gone")
    return Plan((Stage("directory", (remove,)), Stage("volume", (delete,), needs=("directory",))))


def _is_inside(path: str, root: PurePath) -> bool:
    """Directly below; a volume can be edited by hand, and then nothing else may be removed."""
    return PurePath(path).parent == root and PurePath(path).name not in ("", ".", "..")


def _effect(operation: str, path: str, name: str, because: str) -> Effect:
    return Effect(EFFECT, {"operation": operation, "path": path}, f"{operation} {name}", because)
