"""Edits that a running job does not follow: its cluster and its program stay as they were when the attempt began.

KubeRay ignores such an edit without a word (rayjob.md §7 rule 5). The RayJob's status has no conditions, so it is told
as an event, and ``plan`` and ``explain`` say it for as long as it is so. Differs from KubeRay: rayjob-spec-not-applied.
"""

import msgspec

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.spec_hash import HALF, hash_spec
from heliostat.desired.rayjob.cluster import build_cluster_of_job
from heliostat.desired.rayjob.names import selected_cluster
from heliostat.desired.slots import Impossible
from heliostat.plan.draft import NOTHING, Part, wait_beside
from heliostat.plan.rayjob.answers import JobInfo
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.reasons import Hold
from heliostat.plan.rayjob.reports import spec_not_applied

_FOLLOWED_LATER = "; the attempt that runs keeps what it began with, and another attempt takes the change up"


def tell_unapplied(observed: ObservedJob, cluster: JsonObject | None, info: JobInfo | None, settings: Settings) -> Part:
    if (observed.job.metadata.generation or 1) <= 1:
        return NOTHING  # it was never edited
    fields = []
    if info is not None and info.entrypoint and info.entrypoint.strip() != (observed.job.spec.entrypoint or "").strip():
        fields.append("spec.entrypoint")
    if cluster is not None and _has_other_spec(observed, cluster, settings):
        fields.append("spec.rayClusterSpec")
    if not fields:
        return NOTHING
    told = spec_not_applied(f"{' and '.join(fields)} changed{_FOLLOWED_LATER}")
    return wait_beside(Hold.EDIT_WAITS, told.note, "another attempt begins", events=(told,))


def _has_other_spec(observed: ObservedJob, cluster: JsonObject, settings: Settings) -> bool:
    if selected_cluster(observed.job) is not None:
        return False
    wanted = build_cluster_of_job(observed.job, observed.tree, observed.cluster_name, observed.job_id, settings)
    if isinstance(wanted, Impossible):
        return False
    return _first_half(wanted["spec"]) != _first_half(cluster["spec"])


def _first_half(spec: JsonObject) -> str:
    return hash_spec(msgspec.convert(spec, RayClusterSpec)).text[:HALF]
