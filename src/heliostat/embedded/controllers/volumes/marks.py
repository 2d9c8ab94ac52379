"""What the binding of claims and volumes leaves in annotations, and the small facts that are read from both sides."""

from heliostat.embedded.controllers.views.storage_classes import StorageClass
from heliostat.embedded.controllers.views.volume_claims import CLAIM, Claim
from heliostat.embedded.controllers.views.volumes import VOLUME, Volume
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Patch, Ref

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
OLD_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OLD_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"


def class_of_claim(claim: Claim) -> str:
    """Empty: none, be it that none was named or that the empty one was."""
    return claim.metadata.annotations.get(OLD_CLASS) or claim.spec.storage_class_name or ""


def names_class(claim: Claim) -> bool:
    return OLD_CLASS in claim.metadata.annotations or claim.spec.storage_class_name is not None


def class_of_volume(volume: Volume) -> str:
    return volume.metadata.annotations.get(OLD_CLASS) or volume.spec.storage_class_name


def is_default(storage_class: StorageClass) -> bool:
    annotations = storage_class.metadata.annotations
    return "true" in (annotations.get(DEFAULT_CLASS), annotations.get(_OLD_DEFAULT_CLASS))


def is_meant_for(volume: Volume, claim: Claim) -> bool:
    """The volume names the claim; without a UID whichever claim has that name."""
    ref = volume.spec.claim_ref
    return ref is not None and ref.key == claim.metadata.key and ref.uid in ("", claim.metadata.uid)


def build_claim_ref(claim: Claim) -> JsonObject:
    metadata = claim.metadata
    return {
        "apiVersion": CLAIM.api_version,
        "kind": CLAIM.kind,
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    }


def patch_claim(claim: Claim, changes: JsonObject, because: str, subresource: str = "") -> Patch:
    metadata = claim.metadata
    ref = Ref(CLAIM.api_version, CLAIM.kind, metadata.namespace, metadata.name)
    return Patch(ref, metadata.uid, metadata.resource_version, changes, because, subresource=subresource)


def patch_volume(volume: Volume, changes: JsonObject, because: str, subresource: str = "") -> Patch:
    metadata = volume.metadata
    ref = Ref(VOLUME.api_version, VOLUME.kind, "", metadata.name)
    return Patch(ref, metadata.uid, metadata.resource_version, changes, because, subresource=subresource)
