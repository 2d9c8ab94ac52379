"""Names and ids of what a RayJob makes, and which mode it submits in (rayjob.md §5, §6).

A generated name is derived from what the attempt is: the RayJob's UID, how many attempts have failed, and the
generation of the spec, which every suspension and every resumption changes. It is written into the status before
anything is made under it, so a repeated pass makes nothing twice.
"""

from msgspec import Struct

from heliostat.api.rayjob import RayJob
from heliostat.desired import labels
from heliostat.kube.suffixes import derive_suffix

K8S_JOB_MODE = "K8sJobMode"
HTTP_MODE = "HTTPMode"
SIDECAR_MODE = "SidecarMode"
INTERACTIVE_MODE = "InteractiveMode"

SUBMITTING_MODES = (K8S_JOB_MODE, SIDECAR_MODE)  # somebody in a Pod submits, and its end is waited for


class AttemptNames(Struct, frozen=True):
    job_id: str  # empty in InteractiveMode: the user submits, and tells the id
    cluster: str


def submission_mode(job: RayJob) -> str:
    return job.spec.submission_mode or K8S_JOB_MODE


def selected_cluster(job: RayJob) -> str | None:
    """The name of the cluster that spec.clusterSelector chooses; None: the RayJob makes one of its own."""
    selector = job.spec.cluster_selector
    return selector.get(labels.CLUSTER, "") if selector else None


def name_attempt(job: RayJob, failed: int) -> AttemptNames:
    """``failed`` is how many attempts have failed so far."""
    metadata = job.metadata
    attempt = (metadata.uid, str(failed), str(metadata.generation or 0))
    chosen = selected_cluster(job)
    cluster = f"{metadata.name}-{derive_suffix('cluster', *attempt)}" if chosen is None else chosen
    if submission_mode(job) == INTERACTIVE_MODE:
        return AttemptNames("", cluster)
    return AttemptNames(job.spec.job_id or f"{metadata.name}-{derive_suffix('job', *attempt)}", cluster)


def submitter_job_name(job: str) -> str:
    return job


def job_head_service_name(job: str) -> str:
    return f"{job}-head-svc"
