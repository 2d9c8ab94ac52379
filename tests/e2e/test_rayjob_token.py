"""RayJobs on clusters that ask everybody for a token, with real Ray: each way of submitting finds it by itself."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.jobs import apply, build_job, delete, wait_for_phase
from e2e.local_machine import LocalMachine, local_machine, needs_local_machine

pytestmark = [*needs_local_machine, pytest.mark.e2e]

ANSWER = "import ray; ray.init(); print('the answer is', ray.get(ray.remote(lambda: 6 * 7).remote()))"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("tokens") / "state") as found:
        assert found.heliostat("up").returncode == 0
        yield found


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "SidecarMode"])
def test_a_job_runs_to_its_end_on_a_cluster_that_asks_for_a_token(
    machine: LocalMachine, tmp_path: Path, mode: str
) -> None:
    name = f"closed-{mode.removesuffix('Mode').lower()}"
    job = build_job(name, ANSWER, submissionMode=mode)
    job["spec"]["rayClusterSpec"] |= {"rayVersion": "2.52.0", "authOptions": {"mode": "token"}}
    apply(machine, tmp_path, job)
    status = wait_for_phase(machine, name, "Complete", "Failed", "ValidationFailed")
    assert (status["jobDeploymentStatus"], status.get("jobStatus")) == ("Complete", "SUCCEEDED"), machine.logs()
    containers = [
        *find_containers(machine, f"ray.io/cluster={status['rayClusterName']}"),
        *find_containers(machine, f"job-name={name}"),
    ]
    with_submitter = [] if mode == "HTTPMode" else ["ray-job-submitter"]
    assert [container["name"] for container in containers] == ["ray-head", *with_submitter]
    for container in containers:
        check_token(container, status["rayClusterName"])
    answers = [machine.kubectl("logs", f"job/{name}")] if mode == "K8sJobMode" else []
    assert all("the answer is 42" in log for log in answers)
    delete(machine, name)


def find_containers(machine: LocalMachine, label: str) -> list[dict[str, Any]]:
    pods = json.loads(machine.kubectl("get", "pods", "-l", label, "-o", "json"))["items"]
    return [container for pod in pods for container in pod["spec"]["containers"]]


def check_token(container: dict[str, Any], secret: str) -> None:
    variables = {variable["name"]: variable for variable in container["env"]}
    assert variables["RAY_AUTH_MODE"]["value"] == "token"
    reference = variables["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
    assert (reference["name"], reference["key"]) == (secret, "auth_token")
