"""The container that submits a RayJob's program to Ray, and its shell command (rayjob.md §8).

Only the sidecar form is built so far: it is part of the RayCluster that a RayJob makes.
"""

import re

from heliostat.api.cluster_features import ray_container
from heliostat.api.markers import JsonObject
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.auth import authenticate
from heliostat.desired.containers import append_env, env
from heliostat.desired.model import Impossible
from heliostat.desired.ports import DASHBOARD_PORT, container_port
from heliostat.kube.document_error import DocumentError
from heliostat.kube.go_text import go_json, go_quote
from heliostat.kube.yaml_value import read_yaml_value

SUBMITTER_CONTAINER = "ray-job-submitter"

_METADATA_SINCE = (2, 6, 0)
_STRICT_VERSION = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def build_sidecar_submitter(job: RayJob, job_id: str, cluster_name: str, settings: Settings) -> JsonObject | Impossible:
    spec = job.spec.ray_cluster_spec
    if spec is None:
        return Impossible("SidecarMode needs spec.rayClusterSpec")
    head = ray_container(spec.head_group_spec.template)
    port = container_port(head, "dashboard", DASHBOARD_PORT)
    command = build_submit_command(
        job,
        job_id,
        address=f"http://127.0.0.1:{port}",
        health=f"http://localhost:{port}/api/gcs_healthz",
        resumable=settings.gate("SidecarSubmitterRestart"),
    )
    if isinstance(command, Impossible):
        return command
    container: JsonObject = {
        "name": SUBMITTER_CONTAINER,
        "image": head.get("image", ""),
        "command": ["/bin/bash", "-cel" if settings.login_shell else "-ce", "--"],
        "args": [command],
        "resources": {
            "requests": {"cpu": "500m", "memory": "200Mi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        },
    }
    if settings.gate("SidecarSubmitterRestart"):
        container["restartPolicy"] = "OnFailure"
    append_env(
        container,
        env("PYTHONUNBUFFERED", "1"),
        env("RAY_DASHBOARD_ADDRESS", ""),  # KubeRay: the cluster is built before its address is known
        env("RAY_JOB_SUBMISSION_ID", job_id),
    )
    authenticate(container, spec, cluster_name)
    return container


def build_submit_command(job: RayJob, job_id: str, *, address: str, health: str, resumable: bool) -> str | Impossible:
    """Wait for the dashboard, then submit. A resumable submitter may run again and then only follows the log."""
    options = _submit_options(job, job_id)
    if isinstance(options, Impossible):
        return options
    probe = (
        f"python -c \"import urllib.request; r=urllib.request.urlopen('{health}', timeout=10); "
        "exit(0 if b'success' in r.read() else 1)\""
    )
    waiting = f'echo "Waiting for Ray Dashboard GCS to become healthy at {address} ..."'
    words = [f"until {probe} >/dev/null 2>&1 ; do {waiting} ; sleep 2 ; done ;"]
    if resumable:
        words.append(f"if ! ray job status --address {address} {job_id} >/dev/null 2>&1 ; then")
    words.append(f"ray job submit --address {address}")
    if resumable:
        words.append("--no-wait")
    words += [*options, f"-- {(job.spec.entrypoint or '').strip()} ;"]
    if resumable:
        words.append(f"fi ; ray job logs --address {address} --follow {job_id}")
    return " ".join(words)


def _submit_options(job: RayJob, job_id: str) -> list[str] | Impossible:
    spec = job.spec
    options: list[str] = []
    if spec.runtime_env_yaml:
        try:
            runtime_env = read_yaml_value(spec.runtime_env_yaml, "runtimeEnvYAML")
        except DocumentError as error:
            return Impossible(f"spec.runtimeEnvYAML cannot be read: {error}")
        options.append(f"--runtime-env-json {go_quote(go_json(runtime_env))}")
    if spec.metadata:
        if not _supports_metadata(spec.ray_cluster_spec.ray_version if spec.ray_cluster_spec else None):
            return Impossible("spec.metadata needs Ray 2.6.0 or later; set spec.rayClusterSpec.rayVersion accordingly")
        options.append(f"--metadata-json {go_quote(go_json(spec.metadata))}")
    if job_id:
        options.append(f"--submission-id {job_id}")
    for flag, number in (("num-cpus", spec.entrypoint_num_cpus), ("num-gpus", spec.entrypoint_num_gpus)):
        if number is not None and number > 0:
            options.append(f"--entrypoint-{flag} {number:f}")
    if spec.entrypoint_resources:
        options.append(f"--entrypoint-resources {go_quote(spec.entrypoint_resources)}")
    return options


def _supports_metadata(ray_version: str | None) -> bool:
    """Strict semantic versions here, unlike everywhere else; no version at all is fine (rayjob.md §8.1)."""
    if not ray_version:
        return True
    match = _STRICT_VERSION.fullmatch(ray_version)
    if match is None:
        return False
    is_release = match[4] is None  # KubeRay: any pre-release counts as too old
    return is_release and tuple(int(part or 0) for part in match.groups()[:3]) >= _METADATA_SINCE
