"""Finalizers that keep a claim while a Pod uses it, and a volume while a claim has it.

Rules: every claim and volume has its finalizer; on the way out it loses it once it is not in use. A Pod uses a claim
from the moment it has a node until it is gone, also after it is over.
"""

from collections.abc import Iterable

from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.embedded.controllers.views.volumes import Volume
from heliostat.embedded.controllers.volumes.marks import patch_claim, patch_volume
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Metadata
from heliostat.kube.plan import Patch, Plan, Stage

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


def plan_claim_protection(claim: Claim, pods: Iterable[Pod]) -> Plan:
    """``pods`` are those that name the claim."""
    is_used = claim.metadata.is_terminating and any(_uses(pod, claim) for pod in pods)
    changes = _decide(claim.metadata, CLAIM_FINALIZER, is_used=is_used)
    return _plan(
        patch_claim(claim, changes, "no Pod uses it" if claim.metadata.is_terminating else "it is new"), changes
    )


def plan_volume_protection(volume: Volume) -> Plan:
    changes = _decide(volume.metadata, VOLUME_FINALIZER, is_used=volume.status.phase == "Bound")
    because = "no claim has it" if volume.metadata.is_terminating else "it is new"
    return _plan(patch_volume(volume, changes, because), changes)


def _decide(metadata: Metadata, finalizer: str, *, is_used: bool) -> JsonObject:
    has_it = finalizer in metadata.finalizers
    if metadata.is_terminating:
        others = [found for found in metadata.finalizers if found != finalizer]
        return {"metadata": {"finalizers": others or None}} if has_it and not is_used else {}
    return {} if has_it else {"metadata": {"finalizers": [*metadata.finalizers, finalizer]}}


def _plan(patch: Patch, changes: JsonObject) -> Plan:
    return Plan((Stage("protection", (patch,)),)) if changes else Plan()


def claims_of(pod: Pod) -> Iterable[str]:
    """The names of the claims that the Pod's volumes stand for."""
    for volume in pod.spec.volumes:
        claim = volume.get("persistentVolumeClaim") or {}
        if claim.get("claimName"):
            yield claim["claimName"]
        elif volume.get("ephemeral"):
            yield f"{pod.metadata.name}-{volume.get('name', '')}"


def _uses(pod: Pod, claim: Claim) -> bool:
    if not pod.spec.node_name:
        return False
    named = ((volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in pod.spec.volumes)
    if claim.metadata.name in named:
        return True
    return claim.metadata.name in claims_of(pod) and _is_made_for(claim, pod) and not _is_shut_down(pod)


def _is_made_for(claim: Claim, pod: Pod) -> bool:
    controller = claim.metadata.controller
    return controller is not None and controller.uid == pod.metadata.uid


def _is_shut_down(pod: Pod) -> bool:
    return pod.metadata.is_terminating and pod.metadata.deletion_grace_period_seconds == 0
