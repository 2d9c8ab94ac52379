"""Does a cluster of a RayService still fit the spec? (rayservice.md §4.2, §4.6)

A cluster carries the hash of the spec that it was made from: its stamp. That of another operator version says nothing
here: then the spec of the cluster itself counts, so that a new operator never rolls a service that nobody has edited.
"""

from enum import StrEnum

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.raycluster.spec_hash import hash_spec
from heliostat.desired.rayservice.cluster import GROUP_COUNT, SERVICE_HASH
from heliostat.kube.counts import read_count
from heliostat.plan.observing import read_cluster_spec


class Fit(StrEnum):
    SAME = "the same"
    GROWN = "worker groups were added behind those that are there"
    OTHER = "only another cluster can follow"


def has_own_stamp(cluster: JsonObject, settings: Settings) -> bool:
    annotations = cluster["metadata"].get("annotations") or {}
    return bool(annotations.get(labels.OPERATOR_VERSION) == settings.operator_version)


def compare_spec(cluster: JsonObject, wanted: RayClusterSpec, settings: Settings) -> Fit:
    made_from, groups = _read_stamp(cluster, settings)
    if hash_of(wanted) == made_from:
        return Fit.SAME
    listed = wanted.worker_group_specs or []
    if groups is None:
        return Fit.GROWN  # KubeRay: rayservice.md §4.6, a cluster without our annotations is refreshed in place
    if len(listed) >= groups and hash_of(replace(wanted, worker_group_specs=listed[:groups])) == made_from:
        return Fit.GROWN
    return Fit.OTHER


def stamp_as_it_is(cluster: JsonObject, settings: Settings) -> JsonObject:
    """Annotations that tell, as ours, what the cluster is now; whoever compares it later goes on from there."""
    made_from, groups = _read_stamp(cluster, settings)
    return {SERVICE_HASH: made_from, GROUP_COUNT: str(groups), labels.OPERATOR_VERSION: settings.operator_version}


def hash_of(spec: RayClusterSpec) -> str:
    return hash_spec(spec, mute_suspend=True).text


def _read_stamp(cluster: JsonObject, settings: Settings) -> tuple[str, int | None]:
    """The hash of what the cluster was made from, and how many worker groups that had."""
    annotations = cluster["metadata"].get("annotations") or {}
    if has_own_stamp(cluster, settings):
        return str(annotations.get(SERVICE_HASH) or ""), read_count(str(annotations.get(GROUP_COUNT) or ""))
    spec = read_cluster_spec(cluster)
    return hash_of(spec), len(spec.worker_group_specs or [])
