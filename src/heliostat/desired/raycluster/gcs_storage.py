"""The PersistentVolumeClaim of the embedded GCS storage (raycluster.md §4.8)."""

from heliostat.api import cluster_features as features
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import GcsStorage
from heliostat.desired import labels
from heliostat.desired.names import gcs_claim_name
from heliostat.desired.raycluster.context import BuildContext, build_owned


def _storage(context: BuildContext) -> GcsStorage | None:
    """The storage options where a claim is needed at all."""
    if not context.settings.gate("GCSFaultToleranceEmbeddedStorage") or not features.is_gcs_ft_embedded(context.spec):
        return None
    options = features.gcs_ft_options(context.spec)
    return (options.storage if options else None) or GcsStorage()


def users_gcs_claim(context: BuildContext) -> str | None:
    storage = _storage(context)
    return storage.claim_name or None if storage else None


def is_gcs_claim_retained(context: BuildContext) -> bool:
    storage = _storage(context)
    return storage is not None and storage.deletion_policy == "Retain"


def build_gcs_claim(context: BuildContext) -> JsonObject | None:
    storage = _storage(context)
    if storage is None or storage.claim_name:
        return None
    claim = build_owned(
        context, "v1", "PersistentVolumeClaim", gcs_claim_name(context.name), {labels.CLUSTER: context.name}
    )
    if storage.deletion_policy == "Retain":
        del claim["metadata"]["ownerReferences"]
    claim["spec"] = {
        "accessModes": storage.access_modes or ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi" if storage.size is None else storage.size}},
    }
    if storage.storage_class_name is not None:
        claim["spec"]["storageClassName"] = storage.storage_class_name
    return claim
