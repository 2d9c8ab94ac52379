"""The RayCluster that a RayJob or a RayService makes (rayjob.md §7, rayservice.md §4.7).

Works on trees: what the owner's spec says about the cluster is copied as it stands, unknown fields included.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.model import Impossible
from heliostat.desired.scheduling.yunikorn import (
    TASK_GROUPS,
    build_task_group,
    cluster_task_groups,
    format_task_groups,
    translated_labels,
)
from heliostat.desired.spec_hash import hash_spec
from heliostat.desired.submitter import build_sidecar_submitter
from heliostat.kube.jsontree import copy_tree

K8S_JOB_MODE = "K8sJobMode"
SIDECAR_MODE = "SidecarMode"

# A submitter with the resources of the default template stands for whatever template the user brought.
_SUBMITTER_TEMPLATE: JsonObject = {
    "spec": {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}
}


def submission_mode(job: RayJob) -> str:
    return job.spec.submission_mode or K8S_JOB_MODE


def build_cluster_of_job(
    job: RayJob, tree: JsonObject, name: str, job_id: str, settings: Settings
) -> JsonObject | Impossible:
    """``tree`` is the RayJob as the API server keeps it: the cluster's spec is copied from there."""
    blocked = _blocked_by_scheduler(job, settings)
    if blocked is not None:
        return blocked
    mode = submission_mode(job)
    cluster = _start_cluster(tree, name, "RayJob", tree["spec"]["rayClusterSpec"])
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
        _mark_for_scheduler(cluster["metadata"], job, settings)
    return cluster


def build_cluster_of_service(service: RayService, tree: JsonObject, name: str, settings: Settings) -> JsonObject:
    cluster = _start_cluster(tree, name, "RayService", tree["spec"]["rayClusterConfig"])
    groups = service.spec.ray_cluster_config.worker_group_specs or []
    cluster["metadata"]["annotations"] |= {
        "ray.io/hash-without-replicas-and-workers-to-delete": hash_spec(
            service.spec.ray_cluster_config, mute_suspend=True
        ).text,
        "ray.io/num-worker-groups": str(len(groups)),
        labels.OPERATOR_VERSION: settings.operator_version,
    }
    return cluster


def _start_cluster(owner: JsonObject, name: str, kind: str, spec: JsonObject) -> JsonObject:
    metadata = owner["metadata"]
    origin = {labels.ORIGIN_NAME: metadata["name"], labels.ORIGIN_KIND: kind}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": name,
            "namespace": metadata.get("namespace", ""),
            "labels": {**(metadata.get("labels") or {}), **origin},
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [
                {
                    "apiVersion": "ray.io/v1",
                    "kind": kind,
                    "name": metadata["name"],
                    "uid": metadata.get("uid", ""),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": copy_tree(spec),
    }


def _blocked_by_scheduler(job: RayJob, settings: Settings) -> Impossible | None:
    """KubeRay: with these two schedulers such jobs wait forever (operator.md §15.4, §15.5)."""
    if settings.batch_scheduler == "scheduler-plugins":
        return Impossible("the batch scheduler scheduler-plugins does not take RayJobs; use a RayCluster instead")
    if settings.batch_scheduler == "kai-scheduler" and submission_mode(job) == K8S_JOB_MODE:
        return Impossible(
            "the batch scheduler kai-scheduler takes no RayJob in K8sJobMode; set spec.submissionMode to"
            " SidecarMode, HTTPMode or InteractiveMode"
        )
    return None


def _mark_for_scheduler(metadata: JsonObject, job: RayJob, settings: Settings) -> None:
    if settings.batch_scheduler == "volcano":
        metadata["annotations"]["scheduling.k8s.io/group-name"] = f"ray-{job.metadata.name}-pg"
        metadata["annotations"]["volcano.sh/task-spec"] = ""
    if settings.batch_scheduler == "yunikorn":
        job_labels = job.metadata.labels or {}
        metadata["labels"] |= translated_labels(job_labels)
        if labels.GANG_SCHEDULING in job_labels:
            metadata["annotations"][TASK_GROUPS] = metadata["annotations"].get(TASK_GROUPS) or _job_task_groups(job)


def _job_task_groups(job: RayJob) -> str:
    spec = job.spec.ray_cluster_spec
    groups = cluster_task_groups(spec) if spec is not None else []
    template = job.spec.submitter_pod_template or _SUBMITTER_TEMPLATE
    return format_task_groups([*groups, build_task_group(labels.SUBMITTER_GROUP, template, 1)])
