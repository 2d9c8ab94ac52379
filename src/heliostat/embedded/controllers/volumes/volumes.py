"""What to do for one volume: tell its phase, give it back, and find out that nobody wants it any more.

Rules: a volume is Available until a claim with a UID has it, Bound while that claim names it, Released when the claim
is gone; what becomes of it then is its reclaim policy. A volume whose claim has found another one is given back, if it
was this controller that took it, or else kept for the next claim of that name.
"""

from typing import Any

from msgspec import Struct

from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.embedded.controllers.views.volumes import Volume
from heliostat.embedded.controllers.volumes.marks import BOUND_BY_CONTROLLER, PROVISIONED_BY, patch_volume
from heliostat.kube.plan import Event, Patch, Plan, Stage


class VolumeView(Struct, frozen=True):
    volume: Volume
    claim: Claim | None  # the one that has the name in the volume's claimRef


def plan_volume(view: VolumeView) -> Plan:
    volume, ref = view.volume, view.volume.spec.claim_ref
    if ref is None or not ref.uid:
        return _plan(_set_phase(volume, "Available"))
    claim = view.claim if view.claim is not None and view.claim.metadata.uid == ref.uid else None
    if claim is None:
        return _release(volume)
    if claim.spec.volume_name == volume.metadata.name:
        return _plan(_set_phase(volume, "Bound"))
    if claim.spec.volume_name:
        return _release(volume) if is_disposable(volume) else _plan(_give_back(volume))
    if claim.spec.volume_mode != volume.spec.volume_mode:
        return Plan(events=(_tell_mode(claim),))
    return Plan()


def is_disposable(volume: Volume) -> bool:
    """It was made for one claim, and goes with it."""
    is_made = PROVISIONED_BY in volume.metadata.annotations
    return is_made and volume.spec.persistent_volume_reclaim_policy == "Delete"


def _release(volume: Volume) -> Plan:
    if volume.status.phase not in ("Released", "Failed"):
        return _plan(_set_phase(volume, "Released"))
    is_made = PROVISIONED_BY in volume.metadata.annotations
    if volume.spec.persistent_volume_reclaim_policy != "Delete" or is_made or volume.status.phase == "Failed":
        return Plan()
    note = (
        f'error getting deleter volume plugin for volume "{volume.metadata.name}": no deletable volume plugin matched'
    )
    return _plan(_set_phase(volume, "Failed", note), Event("Warning", "VolumeFailedDelete", "Delete", note))


def _give_back(volume: Volume) -> Patch:
    if BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        return patch_volume(volume, {"spec": {"claimRef": {"uid": None}}}, "its claim has another volume")
    changes: dict[str, Any] = {"spec": {"claimRef": None}, "metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}}
    return patch_volume(volume, changes, "its claim has another volume")


def _tell_mode(claim: Claim) -> Event:
    note = (
        f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim.metadata.name}" due to incompatible'
        " volumeMode."
    )
    return Event("Warning", "VolumeMismatch", "Bind", note)


def _set_phase(volume: Volume, phase: str, message: str = "") -> Patch | None:
    if volume.status.phase == phase:
        return None
    changes: dict[str, Any] = {"phase": phase}
    if volume.status.message != message:
        changes["message"] = message or None
    return patch_volume(volume, {"status": changes}, f"it is {phase}", "status")


def _plan(action: Patch | None, *events: Event) -> Plan:
    return Plan((Stage("volume", (action,)),) if action is not None else (), events=events)
