"""What a batch scheduler needs of a RayJob beside its cluster's Pods (rayjob.md §7 rule 9, operator.md §15).

Volcano: one PodGroup for the whole job; the submitter's resources count in it, the submitter as a member does not, or
the cluster would wait for a Pod that waits for the cluster. YuniKorn: the gang is written on the RayCluster. Marks on
the RayCluster are for K8sJobMode alone (KubeRay: in the other modes the RayCluster makes them itself).
"""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster, RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.owners import owner_reference
from heliostat.desired.raycluster.context import BuildContext, build_context
from heliostat.desired.rayjob.names import (
    K8S_JOB_MODE,
    SIDECAR_MODE,
    selected_cluster,
    submission_mode,
)
from heliostat.desired.scheduling import volcano
from heliostat.desired.scheduling.yunikorn import (
    TASK_GROUP_NAME,
    TASK_GROUPS,
    build_task_group,
    cluster_task_groups,
    format_task_groups,
    translated_labels,
)
from heliostat.desired.slots import Impossible, Slot

# A submitter with the resources of the default template stands for whatever template the user brought.
_SUBMITTER_TEMPLATE: JsonObject = {
    "spec": {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}
}


def find_scheduler_problem(job: RayJob, settings: Settings) -> Impossible | None:
    """KubeRay: such jobs wait for ever, and only its log says why (operator.md §15.2, §15.4, §15.5)."""
    scheduler = settings.batch_scheduler
    if scheduler == "scheduler-plugins":
        return Impossible("the batch scheduler scheduler-plugins does not take RayJobs; use a RayCluster instead")
    if scheduler == "kai-scheduler" and submission_mode(job) == K8S_JOB_MODE:
        return Impossible(
            "the batch scheduler kai-scheduler takes no RayJob in K8sJobMode; set spec.submissionMode to"
            " SidecarMode, HTTPMode or InteractiveMode"
        )
    if scheduler == "volcano" and selected_cluster(job) is not None:
        return Impossible(
            "the batch scheduler volcano takes no RayJob with spec.clusterSelector; give it a spec.rayClusterSpec"
        )
    return None


def build_job_pod_group(job: RayJob, settings: Settings) -> Slot:
    """The PodGroup that a RayJob has with Volcano."""
    spec = job.spec.ray_cluster_spec
    if settings.batch_scheduler != "volcano" or spec is None:
        return None
    group = volcano.build_pod_group(_as_cluster(job, spec, settings), pod_group_name(job), _extra_requests(job))
    if isinstance(group, dict):
        group["metadata"]["ownerReferences"] = [owner_reference(job)]
    return group


def pod_group_name(job: RayJob) -> str:
    return f"ray-{job.metadata.name}-pg"


def _as_cluster(job: RayJob, spec: RayClusterSpec, settings: Settings) -> BuildContext:
    """The job's labels and annotations with its cluster's sizes."""
    return build_context(
        RayCluster(api_version="ray.io/v1", kind="RayCluster", metadata=job.metadata, spec=spec), settings
    )


def _extra_requests(job: RayJob) -> tuple[JsonObject, ...]:
    mode = submission_mode(job)
    if mode == SIDECAR_MODE:
        return (_SUBMITTER_TEMPLATE,)
    return (job.spec.submitter_pod_template or _SUBMITTER_TEMPLATE,) if mode == K8S_JOB_MODE else ()


def mark_cluster(metadata: JsonObject, job: RayJob, settings: Settings) -> None:
    if settings.batch_scheduler == "volcano":
        metadata["annotations"]["scheduling.k8s.io/group-name"] = pod_group_name(job)
        metadata["annotations"]["volcano.sh/task-spec"] = ""
    if settings.batch_scheduler == "yunikorn":
        job_labels = job.metadata.labels or {}
        metadata["labels"] |= translated_labels(job_labels)
        if labels.GANG_SCHEDULING in job_labels:
            metadata["annotations"][TASK_GROUPS] = metadata["annotations"].get(TASK_GROUPS) or _job_task_groups(job)


def mark_submitter(template: JsonObject, job: RayJob, settings: Settings) -> None:
    metadata, job_labels = template["metadata"], job.metadata.labels or {}
    if settings.batch_scheduler == "volcano":
        volcano.mark_pod_of(template, job_labels, pod_group_name(job), labels.SUBMITTER_GROUP)
    if settings.batch_scheduler == "yunikorn":
        metadata["labels"] |= translated_labels(job_labels)
        template["spec"]["schedulerName"] = "yunikorn"
        if labels.GANG_SCHEDULING in job_labels:
            given = (job.metadata.annotations or {}).get(TASK_GROUPS)
            annotations = metadata.get("annotations") or {}
            gang = {TASK_GROUPS: given or _job_task_groups(job), TASK_GROUP_NAME: labels.SUBMITTER_GROUP}
            metadata["annotations"] = {**annotations, **gang}


def _job_task_groups(job: RayJob) -> str:
    spec = job.spec.ray_cluster_spec
    groups = cluster_task_groups(spec) if spec is not None else []
    template = job.spec.submitter_pod_template or _SUBMITTER_TEMPLATE
    return format_task_groups([*groups, build_task_group(labels.SUBMITTER_GROUP, template, 1)])
