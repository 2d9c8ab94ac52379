"""RayJobs that KubeRay accepts and that do not mean what they seem to: warnings for people, never events."""

from collections.abc import Iterator

from heliostat.api.rayjob import RayJobSpec
from heliostat.api.validation.pod_template import containers, ray_container
from heliostat.kube.paths import Path, format_path
from heliostat.kube.problems import Problem

_INTERACTIVE = "InteractiveMode"
_K8S_JOB = "K8sJobMode"


def job_advice(spec: RayJobSpec, at: Path) -> Iterator[Problem]:
    if spec.cluster_selector and spec.ray_cluster_spec is not None:
        yield _warning(
            (*at, "rayClusterSpec"),
            f"it is not used: {format_path((*at, 'clusterSelector'))} chooses a RayCluster that exists",
            "leave out one of the two",
        )
    template = spec.submitter_pod_template
    if template is not None and not containers(template):
        yield _warning(
            (*at, "submitterPodTemplate"),
            "it has no container, so nothing submits the job",
            "add the container that submits, with its image, or leave submitterPodTemplate out",
        )
    active, before = spec.active_deadline_seconds, spec.pre_running_deadline_seconds
    if active is not None and before is not None and 0 < active <= before:
        yield _warning(
            (*at, "preRunningDeadlineSeconds"),
            f"{before} s never pass: activeDeadlineSeconds counts from the same moment and ends the attempt after"
            f" {active} s",
            "make it smaller than activeDeadlineSeconds",
        )
    if not (spec.entrypoint or "").strip() and not _is_submitted_otherwise(spec):
        yield _warning((*at, "entrypoint"), "there is nothing to run", "write the command, such as python my_script.py")


def _is_submitted_otherwise(spec: RayJobSpec) -> bool:
    """By people, or by a submitter with a command of its own, such as KubeRay's ``/submitter``."""
    if spec.submission_mode == _INTERACTIVE:
        return True
    template = spec.submitter_pod_template if spec.submission_mode in (None, "", _K8S_JOB) else None
    return template is not None and bool(ray_container(template).get("command"))


def _warning(path: Path, problem: str, fix: str) -> Problem:
    return Problem(path=path, problem=problem, fix=fix, rule=f"advice.{path[-1]}", severity="warning")
