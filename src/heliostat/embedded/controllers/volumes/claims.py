"""What to do for one claim: find it a volume, tie the two together, ask for one to be made, or tell why it waits.

A plan takes one step of binding: the volume is reserved first, then the claim names it, then the status says Bound. So
whatever is interrupted goes on from where it stands, and a volume that two claims want goes to the first one alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from heliostat.embedded.controllers.views.storage_classes import StorageClass
from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.embedded.controllers.views.volumes import Volume
from heliostat.embedded.controllers.volumes.marks import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    OLD_PROVISIONER,
    PROVISIONER,
    SELECTED_NODE,
    build_claim_ref,
    class_of_claim,
    is_meant_for,
    names_class,
    patch_claim,
    patch_volume,
)
from heliostat.embedded.controllers.volumes.matching import find_mismatch, find_volume
from heliostat.kube.plan import Event, Patch, Plan, Stage

_LOST_REFERENCE = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
_LOST_VOLUME = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"
_NOTHING_THERE = "no persistent volumes available for this claim and no storage class is set"


class ClaimView(Struct, frozen=True):
    claim: Claim
    volumes: Callable[[], Sequence[Volume]]
    find_volume: Callable[[str], Volume | None]
    find_class: Callable[[str], StorageClass | None]
    default_class: Callable[[], StorageClass | None]
    unscheduled_pods: Callable[[], Sequence[str]]  # the names of those that use the claim


def plan_claim(view: ClaimView) -> Plan:
    claim = view.claim
    named = view.find_volume(claim.spec.volume_name) if claim.spec.volume_name else None
    if BIND_COMPLETED in claim.metadata.annotations:
        return _plan_bound(claim, named)
    if claim.spec.volume_name:
        return _plan_named(claim, named)
    return _plan_unnamed(view)


def _plan_bound(claim: Claim, volume: Volume | None) -> Plan:
    if not claim.spec.volume_name:
        return _lose(claim, "ClaimLost", _LOST_REFERENCE)
    if volume is None:
        return _lose(claim, "ClaimLost", _LOST_VOLUME)
    if volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.metadata.uid:
        return _bind(claim, volume)
    return _lose(claim, "ClaimMisbound", _MISBOUND)


def _lose(claim: Claim, reason: str, note: str) -> Plan:
    if claim.status.phase == "Lost":
        return Plan()
    return _plan(_set_status(claim, "Lost", None), Event("Warning", reason, "Bind", note))


def _plan_named(claim: Claim, volume: Volume | None) -> Plan:
    """Somebody asked for this volume and no other."""
    if volume is None:
        return _wait(claim)
    if is_meant_for(volume, claim):
        return _bind(claim, volume)
    if volume.spec.claim_ref is not None:
        note = f'volume "{volume.metadata.name}" already bound to a different claim.'
        return _wait(claim, Event("Warning", "FailedBinding", "Bind", note))
    if mismatch := find_mismatch(volume, claim):
        note = f'Cannot bind to requested volume "{volume.metadata.name}": {mismatch}'
        return _wait(claim, Event("Warning", "VolumeMismatch", "Bind", note))
    return _bind(claim, volume)


def _plan_unnamed(view: ClaimView) -> Plan:
    claim, class_name = view.claim, class_of_claim(view.claim)
    storage_class = view.find_class(class_name) if class_name else None
    delays = storage_class is not None and storage_class.waits_for_consumer
    volume = find_volume(claim, view.volumes(), only_reserved=delays)
    if volume is not None:
        return _bind(claim, volume)
    default = view.default_class() if not names_class(claim) else None
    if default is not None:
        changes = {"spec": {"storageClassName": default.metadata.name}}
        return _plan(patch_claim(claim, changes, "it names no class, and this is the default"))
    if delays and SELECTED_NODE not in claim.metadata.annotations:
        return _wait(claim, _tell_delay(view.unscheduled_pods()))
    if class_name:
        return _ask_for_one(claim, class_name, storage_class)
    return _wait(claim, Event("Normal", "FailedBinding", "Bind", _NOTHING_THERE))


def _tell_delay(pods: Sequence[str]) -> Event:
    if not pods:
        note = "waiting for first consumer to be created before binding"
        return Event("Normal", "WaitForFirstConsumer", "Bind", note)
    who = f"pod {pods[0]}" if len(pods) == 1 else f"pods {','.join(pods)}"
    return Event("Normal", "WaitForPodScheduled", "Bind", f"waiting for {who} to be scheduled")


def _ask_for_one(claim: Claim, class_name: str, storage_class: StorageClass | None) -> Plan:
    if storage_class is None:
        return _wait(claim, _fail_provisioning(f'storageclass.storage.k8s.io "{class_name}" not found'))
    provisioner = storage_class.provisioner
    if provisioner.startswith("kubernetes.io/"):
        return _wait(claim, _fail_provisioning(f"no volume plugin matched name: {provisioner}"))
    asked = {PROVISIONER: provisioner, OLD_PROVISIONER: provisioner}
    if asked.items() <= claim.metadata.annotations.items():
        return Plan()
    note = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the"
        " system administrator. If volume creation is delayed, please verify that the provisioner is running and"
        " correctly registered."
    )
    event = Event("Normal", "ExternalProvisioning", "Provision", note)
    return _plan(patch_claim(claim, {"metadata": {"annotations": asked}}, "no volume satisfies it"), event)


def _fail_provisioning(note: str) -> Event:
    return Event("Warning", "ProvisioningFailed", "Provision", note)


def _bind(claim: Claim, volume: Volume) -> Plan:
    """The next step on the way to Bound."""
    ref = volume.spec.claim_ref
    if ref is None or ref.uid != claim.metadata.uid:
        return _plan(_reserve(claim, volume))
    missing = {BIND_COMPLETED: "yes"} if BIND_COMPLETED not in claim.metadata.annotations else {}
    changes: dict[str, Any] = {}
    if claim.spec.volume_name != volume.metadata.name:
        missing[BOUND_BY_CONTROLLER] = "yes"
        changes["spec"] = {"volumeName": volume.metadata.name}
    if missing:
        changes["metadata"] = {"annotations": missing}
        return _plan(patch_claim(claim, changes, f"volume {volume.metadata.name} is its own"))
    return _plan(_set_status(claim, "Bound", volume))


def _reserve(claim: Claim, volume: Volume) -> Patch:
    changes: dict[str, Any] = {"spec": {"claimRef": build_claim_ref(claim)}}
    if not is_meant_for(volume, claim):
        changes["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return patch_volume(volume, changes, f"it satisfies {claim.metadata.key}")


def _wait(claim: Claim, *events: Event) -> Plan:
    return _plan(_set_status(claim, "Pending", None), *events)


def _set_status(claim: Claim, phase: str, volume: Volume | None) -> Patch | None:
    """What a Bound claim has is the volume's at the time of binding: it may grow later without it."""
    status = claim.status
    modes = volume.spec.access_modes if volume is not None else ()
    changes: dict[str, Any] = {}
    if status.phase != phase:
        changes["phase"] = phase
    if status.access_modes != modes:
        changes["accessModes"] = list(modes) or None
    if volume is None and status.capacity:
        changes["capacity"] = None
    if volume is not None and status.phase != phase:
        changes["capacity"] = dict(volume.spec.capacity)
    return patch_claim(claim, {"status": changes}, f"it is {phase}", "status") if changes else None


def _plan(action: Patch | None, *events: Event) -> Plan:
    return Plan((Stage("claim", (action,)),) if action is not None else (), events=events)
