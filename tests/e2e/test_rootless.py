"""Real Ray as a user without any rights: head and worker in a user namespace, and a head alone where there is none."""

import json
import os
from pathlib import Path

import pytest

from e2e.local_machine import EXAMPLES
from heliostat.kube.documents import read_documents
from local.unprivileged import Unprivileged, unprivileged

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"), pytest.mark.e2e]

SECONDS = 240.0


def run_pi(user: Unprivileged, cluster: Path) -> str:
    command = ("run", str(cluster), "--ephemeral", f"--working-dir={EXAMPLES}", "--", "python", "pi.py")
    result = user.heliostat(*command, seconds=SECONDS)
    assert result.returncode == 0, result.stderr + result.stdout
    assert "pi is about 3.1" in result.stdout
    return result.stderr


def test_a_program_runs_on_head_and_worker_in_a_user_namespace() -> None:
    with unprivileged() as user:
        said = run_pi(user, EXAMPLES / "raycluster.yaml")
        assert "✓ RayCluster hello: ready, 2 of 2 Ray nodes ready" in said


def test_a_program_runs_on_a_head_alone_where_namespaces_are_forbidden() -> None:
    with unprivileged(forbids_namespaces=True, is_offline=True) as user:
        said = run_pi(user, write_head_alone(user))
        assert "✓ RayCluster hello: ready, 1 of 1 Ray nodes ready" in said


def write_head_alone(user: Unprivileged) -> Path:
    (document,) = read_documents((EXAMPLES / "raycluster.yaml").read_text())
    spec = {name: value for name, value in document.tree["spec"].items() if name != "workerGroupSpecs"}
    path = user.home / "head.json"
    path.write_text(json.dumps({**document.tree, "spec": spec}))
    return path


def test_a_job_finds_its_head_where_no_names_are_served() -> None:
    """KubeRay's default: a Pod of its own submits the job to the head Service."""
    with unprivileged(forbids_namespaces=True, is_offline=True) as user:
        path = user.home / "job.yaml"
        path.write_text((EXAMPLES / "rayjob.yaml").read_text().replace("SidecarMode", "K8sJobMode"))
        result = user.heliostat("run", str(path), "--ephemeral", seconds=SECONDS)
        assert result.returncode == 0, result.stderr + result.stdout
        assert "✓ RayJob count: Complete, the job is SUCCEEDED" in result.stderr
