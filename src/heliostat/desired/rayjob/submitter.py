"""What submits a RayJob's program to Ray: a container beside the head, or a Job with a Pod of its own (rayjob.md §8).

A user's template keeps all that it says. Only its first container is touched: it gets a command when it has none, and
the three variables that tell it where Ray is and which job it submits.
"""

from heliostat.api.cluster_features import ray_container
from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.auth import add_token_volume, authenticate
from heliostat.desired.containers import append_env, env
from heliostat.desired.owners import owner_reference
from heliostat.desired.ports import DASHBOARD_PORT, container_port
from heliostat.desired.rayjob.command import build_submit_command
from heliostat.desired.rayjob.names import submitter_job_name
from heliostat.desired.rayjob.scheduling import mark_submitter
from heliostat.desired.slots import Impossible
from heliostat.kube.jsontree import copy_tree

SUBMITTER_CONTAINER = "ray-job-submitter"
SUBMITTER_BACKOFF_LIMIT = 2  # KubeRay: rayjob.md §1, so three Pods in all


def build_sidecar_submitter(job: RayJob, job_id: str, cluster_name: str, settings: Settings) -> JsonObject | Impossible:
    """The container that SidecarMode adds to the head."""
    spec = job.spec.ray_cluster_spec
    if spec is None:
        return Impossible("SidecarMode needs spec.rayClusterSpec")
    port = container_port(ray_container(spec.head_group_spec.template), "dashboard", DASHBOARD_PORT)
    command = build_submit_command(
        job,
        job_id,
        address=f"http://127.0.0.1:{port}",
        health=f"http://localhost:{port}/api/gcs_healthz",
        resumable=settings.gate("SidecarSubmitterRestart"),
    )
    if isinstance(command, Impossible):
        return command
    container = _build_container(spec)
    _give_command(container, command, settings)
    if settings.gate("SidecarSubmitterRestart"):
        container["restartPolicy"] = "OnFailure"
    _tell_where(container, "", job_id)  # KubeRay: the cluster is built before its address is known
    authenticate(container, spec, cluster_name)
    return container


def build_submitter_job(
    job: RayJob, cluster_spec: RayClusterSpec, cluster_name: str, job_id: str, dashboard_url: str, settings: Settings
) -> JsonObject | Impossible:
    """The Job of K8sJobMode. The image and the authentication are those of the cluster that is really there."""
    template = _build_template(job, cluster_spec)
    address = dashboard_url if dashboard_url.startswith("http://") else f"http://{dashboard_url}"
    command = build_submit_command(job, job_id, address=address, health=f"{address}/api/gcs_healthz", resumable=True)
    if isinstance(command, Impossible):
        return command
    containers = (template.get("spec") or {}).get("containers")
    if not containers:  # the CRD lets it through; KubeRay: a crash that is caught, again and again
        return Impossible("spec.submitterPodTemplate has no container; add the one that submits, with its image")
    container = containers[0]
    if not container.get("command"):
        _give_command(container, command, settings)
    _tell_where(container, dashboard_url, job_id)
    authenticate(container, cluster_spec, cluster_name)
    add_token_volume(template["spec"], cluster_spec)
    origin = origin_labels(job)
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **origin}
    mark_submitter(template, job, settings)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": submitter_job_name(job.metadata.name),
            "namespace": job.metadata.namespace,
            "labels": origin,
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {"backoffLimit": submitter_backoff_limit(job), "template": template},
    }


def submitter_backoff_limit(job: RayJob) -> int:
    config = job.spec.submitter_config
    given = config.backoff_limit if config is not None else None
    return SUBMITTER_BACKOFF_LIMIT if given is None else given


def origin_labels(job: RayJob) -> dict[str, str]:
    return {
        labels.ORIGIN_NAME: job.metadata.name,
        labels.ORIGIN_KIND: "RayJob",
        labels.CREATED_BY: labels.OPERATOR,
    }


def _build_template(job: RayJob, cluster_spec: RayClusterSpec) -> JsonObject:
    users = job.spec.submitter_pod_template
    if users is not None:
        template: JsonObject = copy_tree(users)
        return template
    return {"spec": {"containers": [_build_container(cluster_spec)], "restartPolicy": "Never"}}


def _build_container(cluster_spec: RayClusterSpec) -> JsonObject:
    return {
        "name": SUBMITTER_CONTAINER,
        "image": ray_container(cluster_spec.head_group_spec.template).get("image", ""),
        "resources": {
            "requests": {"cpu": "500m", "memory": "200Mi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        },
    }


def _give_command(container: JsonObject, command: str, settings: Settings) -> None:
    container["command"] = ["/bin/bash", "-cel" if settings.login_shell else "-ce", "--"]
    container["args"] = [command]


def _tell_where(container: JsonObject, dashboard_url: str, job_id: str) -> None:
    append_env(
        container,
        env("PYTHONUNBUFFERED", "1"),
        env("RAY_DASHBOARD_ADDRESS", dashboard_url),
        env("RAY_JOB_SUBMISSION_ID", job_id),
    )
