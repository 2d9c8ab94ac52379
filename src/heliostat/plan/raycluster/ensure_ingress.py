"""The head's Ingress, kept in step with the spec (raycluster.md §4.2).

Found by name. Somebody else's is left alone with a warning and blocks nothing; ours is made equal in labels,
annotations and spec. An ingress class that the cluster's admission chose stays when the user named none.
"""

from heliostat.api.markers import JsonObject
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import diff_merge_patch, drop_empty
from heliostat.kube.lookups import INGRESS
from heliostat.kube.plan import Event, patch_of, ref_of
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, wait_beside
from heliostat.plan.ensure import create
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.reports import report_ingress_update
from heliostat.plan.reports import WARNING


def ensure_ingress(wanted: JsonObject | None, observed: ObservedCluster) -> Part:
    if wanted is None:
        return NOTHING  # KubeRay: R4-13, switching it off deletes nothing
    live = observed.find(INGRESS, wanted["metadata"]["name"])
    if isinstance(live, Unknown):
        return wait_beside(Hold.NOT_KNOWN, f"the Ingress: {live.why}", "it can be read")
    if live is None:
        return create(wanted)
    return _update(live, wanted) if observed.owns(live) else _leave_foreign(live)


def _leave_foreign(live: JsonObject) -> Part:
    metadata = live["metadata"]
    note = (
        f"Ingress {metadata['namespace']}/{metadata['name']} already exists and is not owned by this RayCluster; "
        "not modifying it"
    )
    told = Event(WARNING, "FailedToCreateIngress", "Create", note)
    return wait_beside(Hold.NAME_TAKEN, note, "it is deleted or renamed", events=(told,))


def _update(live: JsonObject, wanted: JsonObject) -> Part:
    live_class = (live.get("spec") or {}).get("ingressClassName")
    spec = wanted["spec"]
    if "ingressClassName" not in spec and live_class is not None:
        spec = {**spec, "ingressClassName": live_class}
    changes = diff_merge_patch(
        _comparable(live["metadata"], live.get("spec") or {}), _comparable(wanted["metadata"], spec)
    )
    if not changes:
        return NOTHING
    return Part(actions=(patch_of(live, changes, Because.DRIFTED, report_ingress_update(ref_of(live))),))


def _comparable(metadata: JsonObject, spec: JsonObject) -> JsonObject:
    return {
        "metadata": {"labels": metadata.get("labels") or {}, "annotations": metadata.get("annotations") or {}},
        "spec": drop_empty(spec),
    }
