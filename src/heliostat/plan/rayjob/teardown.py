"""Everything of an attempt goes, and its end is waited for: before another attempt, while suspended, when refused.

Suspended means that the Pods are gone, not only asked to go: whoever queues jobs gives their room to others then.
The submitter Job is deleted in the foreground, so that its end is, as a rule, the end of its Pods; what the garbage
collector has overlooked is waited for as well.
Differs from KubeRay: rayjob-suspended-pods.
"""

from heliostat.kube.facts import Unknown
from heliostat.kube.plan import ref_of
from heliostat.plan.draft import NOTHING, Part, join, wait_beside
from heliostat.plan.ensure import ensure_gone, wait_for_knowledge
from heliostat.plan.rayjob.cluster import delete_cluster
from heliostat.plan.rayjob.observed import ObservedJob
from heliostat.plan.rayjob.reasons import Because, Hold
from heliostat.plan.rayjob.reports import report_submitter_delete


def tear_down(observed: ObservedJob, because: Because) -> Part:
    return join((delete_cluster(observed, because), delete_submitter(observed, because), _wait_for_pods(observed)))


def is_torn_down(observed: ObservedJob) -> bool:
    """False also while it is not known."""
    cluster, submitter = observed.find_cluster(), observed.find_submitter()
    if isinstance(cluster, Unknown) or isinstance(submitter, Unknown) or isinstance(observed.pods, Unknown):
        return False
    is_cluster_gone = cluster is None or not observed.owns(cluster)
    is_submitter_gone = observed.submitter_left is None if submitter is None else not observed.owns(submitter)
    return is_cluster_gone and is_submitter_gone and not (cluster is None and observed.pods)


def delete_submitter(observed: ObservedJob, because: Because) -> Part:
    found = observed.find_submitter()
    if isinstance(found, Unknown):
        return wait_for_knowledge("the submitter Job", found)
    if found is None and observed.submitter_left is not None:
        return wait_beside(Hold.LEAVING, observed.submitter_left.why, "they are gone")
    if found is None or not observed.owns(found):
        return NOTHING
    return ensure_gone(found, because, Hold.LEAVING, report_submitter_delete(ref_of(found)), "Foreground")


def _wait_for_pods(observed: ObservedJob) -> Part:
    if isinstance(observed.pods, Unknown) or not observed.pods:
        return NOTHING
    return wait_beside(Hold.LEAVING, f"{len(observed.pods)} Pods of the cluster are still there", "they are gone")
