"""Which volume satisfies a claim best.

Rules: a volume that is reserved for the claim comes before all others; otherwise the one with the fewest access modes
that has all that are asked for, and among those the smallest that is large enough. Class, volume mode and selector have
to match. A claim that waits for its first consumer takes nothing but what is reserved for it.
"""

from collections.abc import Iterable

from heliostat.embedded.controllers.selection import read_selector
from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.embedded.controllers.views.volumes import Volume
from heliostat.embedded.controllers.volumes.marks import class_of_claim, class_of_volume, is_meant_for
from heliostat.kube.quantity import Quantity, QuantityError
from heliostat.kube.selectors import EVERYTHING

_NONE = Quantity.parse(0)


def find_volume(claim: Claim, volumes: Iterable[Volume], *, only_reserved: bool) -> Volume | None:
    fitting = [volume for volume in volumes if _is_possible(volume, claim)]
    fitting.sort(key=lambda volume: (len(set(volume.spec.access_modes)), size_of(volume), volume.metadata.name))
    reserved = next((volume for volume in fitting if is_meant_for(volume, claim)), None)
    if reserved is not None or only_reserved:
        return reserved
    return next((volume for volume in fitting if _is_free(volume, claim)), None)


def _is_possible(volume: Volume, claim: Claim) -> bool:
    ref = volume.spec.claim_ref
    return (
        (ref is None or is_meant_for(volume, claim))
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
        and size_of(volume) >= requested_size(claim)
        and volume.spec.volume_mode == claim.spec.volume_mode
        and not volume.metadata.is_terminating
    )


def _is_free(volume: Volume, claim: Claim) -> bool:
    selector = EVERYTHING if claim.spec.selector is None else read_selector(claim.spec.selector)
    is_right = class_of_volume(volume) == class_of_claim(claim) and selector.matches(volume.metadata.labels)
    return is_right and volume.status.phase == "Available"


def find_mismatch(volume: Volume, claim: Claim) -> str:
    """Why a volume that was asked for by name will not do, in Kubernetes' words; empty if it will."""
    reasons = (
        (volume.metadata.is_terminating, f'the volume is marked for deletion "{volume.metadata.name}"'),
        (size_of(volume) < requested_size(claim), "requested PV is too small"),
        (class_of_volume(volume) != class_of_claim(claim), "storageClassName does not match"),
        (volume.spec.volume_mode != claim.spec.volume_mode, "incompatible volumeMode"),
        (not set(claim.spec.access_modes) <= set(volume.spec.access_modes), "incompatible accessMode"),
    )
    return next((words for applies, words in reasons if applies), "")


def requested_size(claim: Claim) -> Quantity:
    return _read(claim.spec.resources.requests.get("storage", 0))


def size_of(volume: Volume) -> Quantity:
    return _read(volume.spec.capacity.get("storage", 0))


def _read(value: str | int) -> Quantity:
    """What cannot be read counts as nothing; the API lets none of it in."""
    try:
        return Quantity.parse(value)
    except QuantityError:
        return _NONE
