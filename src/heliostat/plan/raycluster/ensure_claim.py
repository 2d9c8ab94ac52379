"""The PersistentVolumeClaim of the embedded GCS storage (raycluster.md §4.8).

A user's claim is only looked for. Ours is made once and never resized: a difference is told, not repaired. Who owns
it follows the deletion policy: retained means nobody, so that it outlives the cluster. A claim without an owner is
adopted; one that somebody else controls is not touched, and the Pods wait.
"""

from collections import Counter

from heliostat.api.markers import JsonObject
from heliostat.desired.owners import owner_reference
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import CLAIM
from heliostat.kube.owners import controller_of, owner_references
from heliostat.kube.plan import Event, patch_of, ref_of
from heliostat.kube.quantity import Quantity
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, join, wait_beside, wait_for
from heliostat.plan.ensure import create, wait_for_knowledge
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.reports import WARNING


def ensure_claim(desired: DesiredCluster, observed: ObservedCluster) -> Part:
    if desired.user_gcs_claim is not None:
        return _look_for_users_claim(desired.user_gcs_claim, observed)
    wanted = desired.gcs_pvc
    if wanted is None:
        return NOTHING
    live = observed.find(CLAIM, wanted["metadata"]["name"])
    if isinstance(live, Unknown):
        return wait_for_knowledge("the GCS storage claim", live)
    if live is None:
        return create(wanted)
    owner = _sync_owner(live, observed, is_retained=desired.gcs_pvc_retained)
    return join((_tell_drift(live, wanted), owner))


def _look_for_users_claim(name: str, observed: ObservedCluster) -> Part:
    found = observed.find(CLAIM, name)
    if isinstance(found, Unknown):
        return wait_for_knowledge(f"PersistentVolumeClaim {name}", found)
    if found is not None:
        return NOTHING
    namespace = observed.cluster.metadata.namespace
    note = (
        f'GcsFaultToleranceOptions.Storage.ClaimName "{name}" not found in namespace {namespace}; '
        "the head Pod will not start until it exists"
    )
    told = Event(WARNING, "FailedToCreatePVC", "Validate", note)
    return wait_beside(Hold.CLAIM_MISSING, note, f"PersistentVolumeClaim {name} is created", events=(told,))


def _tell_drift(live: JsonObject, wanted: JsonObject) -> Part:
    drift = "; ".join(find_drift(live.get("spec") or {}, wanted["spec"]))
    if not drift:
        return NOTHING
    metadata = live["metadata"]
    note = (
        f"GCS storage PVC {metadata['namespace']}/{metadata['name']} already exists and cannot be reconfigured in "
        f"place ({drift}); delete the PVC to recreate it with the new settings"
    )
    return Part(events=(Event(WARNING, "FailedToCreatePVC", "Update", note),))


def find_drift(live: JsonObject, wanted: JsonObject) -> list[str]:
    """What the user asks for and the claim does not have, in KubeRay's words."""
    drift = []
    asked, there = _size(wanted), _size(live)
    if asked != there:
        drift.append(f"requested size {asked} != current {there}")
    storage_class = wanted.get("storageClassName")
    if storage_class is not None and storage_class != live.get("storageClassName"):
        drift.append(f"storageClassName {storage_class} != current {live.get('storageClassName') or ''}")
    modes, live_modes = wanted.get("accessModes") or [], live.get("accessModes") or []
    if Counter(modes) != Counter(live_modes):
        drift.append(f"accessModes [{' '.join(modes)}] != current [{' '.join(live_modes)}]")
    return drift


def _size(spec: JsonObject) -> Quantity:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage", 0))


def _sync_owner(live: JsonObject, observed: ObservedCluster, *, is_retained: bool) -> Part:
    owners = owner_references(live)
    uid = observed.cluster.metadata.uid
    if is_retained and observed.owns(live):
        return _set_owners(live, [owner for owner in owners if owner.get("uid") != uid])
    if is_retained or observed.owns(live):
        return NOTHING
    if controller_of(live) is not None:
        message = f"{ref_of(live)} is controlled by another object"
        return wait_for(Hold.NAME_TAKEN, message, "it is deleted, or the deletion policy is Retain")
    others = [owner for owner in owners if owner.get("uid") != uid]
    return _set_owners(live, [*others, owner_reference(observed.cluster)])


def _set_owners(live: JsonObject, owners: list[JsonObject]) -> Part:
    changes = {"metadata": {"ownerReferences": owners or None}}
    return Part(actions=(patch_of(live, changes, Because.OWNER_CHANGED),))
