"""Whether the volumes of a Pod let it be scheduled: claims must exist, live and be bound, or wait for the Pod.

A claim whose class binds only for its first consumer does not hold the Pod back: the scheduler tells it the node that
was chosen, and the Pod is bound once the claim is. Node affinity of volumes is not looked at.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.storage_classes import StorageClass
from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.embedded.controllers.volumes.marks import BIND_COMPLETED, SELECTED_NODE, class_of_claim

_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"

FindClaim: TypeAlias = Callable[[str], Claim | None]
FindClass: TypeAlias = Callable[[str], StorageClass | None]


class Volumes(Struct, frozen=True):
    """``blocked`` says why the Pod cannot be scheduled; ``waiting`` are claims that wait for a node."""

    blocked: str = ""
    waiting: tuple[Claim, ...] = ()
    chosen: str = ""  # the node that a claim was told before


def judge_volumes(pod: Pod, find_claim: FindClaim, find_class: FindClass) -> Volumes:
    claims = []
    for name, is_own in _claim_names(pod):
        claim = find_claim(name)
        if claim is None:
            return Volumes(_tell_missing(name, is_own=is_own))
        if (problem := _problem(claim)) != "":
            return Volumes(problem)
        claims.append(claim)
    open_claims = [claim for claim in claims if not _is_bound(claim)]
    if not all(_waits_for_consumer(claim, find_class) for claim in open_claims):
        return Volumes(_UNBOUND)
    chosen = (claim.metadata.annotations.get(SELECTED_NODE, "") for claim in claims)
    return Volumes("", tuple(open_claims), next(filter(None, chosen), ""))


def _claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """With whether the claim is made for the Pod's volume."""
    for volume in pod.spec.volumes:
        if (claim := volume.get("persistentVolumeClaim")) is not None:
            yield claim.get("claimName", ""), False
        elif volume.get("ephemeral") is not None:
            yield f"{pod.metadata.name}-{volume.get('name', '')}", True


def _tell_missing(name: str, *, is_own: bool) -> str:
    if is_own:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    return f'persistentvolumeclaim "{name}" not found'


def _problem(claim: Claim) -> str:
    name = claim.metadata.name
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    return f'persistentvolumeclaim "{name}" is being deleted' if claim.metadata.is_terminating else ""


def _is_bound(claim: Claim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def _waits_for_consumer(claim: Claim, find_class: FindClass) -> bool:
    found = find_class(class_of_claim(claim)) if not claim.spec.volume_name else None
    return found is not None and found.waits_for_consumer
