"""Clusters of a RayService that no status names any more: they go after the deletion delay (rayservice.md §4.5).

Since when a cluster is unused is written on the cluster itself, so a restart of the operator neither forgets nor
prolongs the delay. Differs from KubeRay: rayservice-unused-since.
"""

import math

from heliostat.api.kinds import RAY_CLUSTER_NAME
from heliostat.api.markers import JsonObject
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import patch_of, ref_of
from heliostat.kube.timestamps import format_timestamp, moment_of
from heliostat.plan.draft import Part, join, wait_beside
from heliostat.plan.ensure import ensure_gone, wait_for_knowledge
from heliostat.plan.rayservice.gateway import find_route, read_weights
from heliostat.plan.rayservice.observed import Look, ObservedService
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import report_cluster_delete

UNUSED_SINCE = "heliostat.dev/unused-since"
DEFAULT_DELAY = 60
# KubeRay notes that a cluster is unused one pass after requests have left it, and deletes it in a later one. Who sees
# them leave and counts the delay from there, as its own tests do, still finds it; and with a delay of 0 those who route
# requests have time to follow.
PASS_SECONDS = 2


def plan_unused(look: Look) -> Part:
    observed = look.observed
    owned = observed.list_owned(RAY_CLUSTER_NAME)
    if isinstance(owned, Unknown):
        return wait_for_knowledge("the RayClusters of this RayService", owned)
    named = {observed.active_name, observed.pending_name} - {""}
    unused = [cluster for cluster in owned if cluster["metadata"]["name"] not in named]
    routed = _find_routed(look, [cluster["metadata"]["name"] for cluster in unused]) if named and unused else set()
    return join(
        _plan_one(observed, cluster, look.now, is_routed=cluster["metadata"]["name"] in routed) for cluster in unused
    )


def _find_routed(look: Look, clusters: list[str]) -> set[str]:
    """Those that requests may still go to, also when it is only not known that they do not."""
    routed = {look.observed.routed_cluster()}
    if not look.is_incremental:
        return routed
    route = find_route(look.observed)
    if isinstance(route, Unknown):
        return {*routed, *clusters}
    return routed if route is None else {*routed, *read_weights(route, clusters)}


def _plan_one(observed: ObservedService, cluster: JsonObject, now: float, *, is_routed: bool) -> Part:
    ref, metadata = ref_of(cluster), cluster["metadata"]
    if metadata.get("deletionTimestamp"):
        return wait_beside(Hold.LEAVING, f"{ref} is being deleted", "it is gone")
    if is_routed:
        return wait_beside(Hold.UNUSED, f"requests still go to {ref}", "they go to the cluster that the status names")
    wanted = observed.service.spec.ray_cluster_deletion_delay_seconds
    delay = DEFAULT_DELAY if wanted is None else wanted
    since = moment_of((metadata.get("annotations") or {}).get(UNUSED_SINCE))
    if since is not None and now >= since + delay + PASS_SECONDS:
        return _delete(cluster, Because.UNUSED_LONG_ENOUGH)
    if since is not None:
        left = since + delay + PASS_SECONDS - now
        return wait_beside(Hold.UNUSED, f"{ref} is unused", f"{delay} s have passed since", wake_after=left)
    changes = {"metadata": {"annotations": {UNUSED_SINCE: format_timestamp(math.ceil(now))}}}
    return Part(actions=(patch_of(cluster, changes, Because.UNUSED),))


def delete_clusters(observed: ObservedService, because: Because, during: str = "") -> Part:
    """All of them, at once."""
    owned = observed.list_owned(RAY_CLUSTER_NAME)
    if isinstance(owned, Unknown):
        return wait_for_knowledge("the RayClusters of this RayService", owned)
    return join(_delete(cluster, because, during) for cluster in owned)


def _delete(cluster: JsonObject, because: Because, during: str = "") -> Part:
    return ensure_gone(cluster, because, Hold.LEAVING, report_cluster_delete(ref_of(cluster), during))


def are_clusters_gone(observed: ObservedService) -> bool:
    """False also while it is not known."""
    return observed.list_owned(RAY_CLUSTER_NAME) == ()
