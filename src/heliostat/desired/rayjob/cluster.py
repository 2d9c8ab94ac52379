"""The RayCluster that a RayJob makes (rayjob.md §7)."""

from heliostat.api.markers import JsonObject
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.child_cluster import start_child_cluster
from heliostat.desired.rayjob.names import K8S_JOB_MODE, SIDECAR_MODE, submission_mode
from heliostat.desired.rayjob.scheduling import mark_cluster
from heliostat.desired.rayjob.submitter import build_sidecar_submitter
from heliostat.desired.slots import Impossible


def build_cluster_of_job(
    job: RayJob, tree: JsonObject, name: str, job_id: str, settings: Settings
) -> JsonObject | Impossible:
    """``tree`` is the RayJob as the API server keeps it: the cluster's spec is copied from there."""
    mode = submission_mode(job)
    cluster = start_child_cluster(tree, name, "RayJob", tree["spec"]["rayClusterSpec"])
    cluster["metadata"]["labels"][labels.SUBMISSION_MODE] = mode
    if mode == SIDECAR_MODE:
        container = build_sidecar_submitter(job, job_id, name, settings)
        if isinstance(container, Impossible):
            return container
        head_spec = cluster["spec"]["headGroupSpec"]["template"]["spec"]
        head_spec["containers"].append(container)
        head_spec["restartPolicy"] = "Never"
        cluster["metadata"]["annotations"][labels.DISABLE_HEAD_RESTART] = "true"
    if mode == K8S_JOB_MODE:
        mark_cluster(cluster["metadata"], job, settings)
    return cluster
