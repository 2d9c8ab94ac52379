"""How RayJobs end that do not simply succeed, with real Ray on this machine (e2e-scenarios.md §3)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.jobs import SECONDS, Job, apply, build_job, delete, names, status_of, wait_for_phase
from e2e.local_machine import LocalMachine, local_machine, needs_local_machine, wait_for

pytestmark = [*needs_local_machine, pytest.mark.e2e]

STOP = (
    "import os, time; from ray.job_submission import JobSubmissionClient as C;"
    " c = C('http://127.0.0.1:8265'); c.stop_job(c.list_jobs()[0].submission_id); time.sleep(600)"
)
LONG = "import time; time.sleep(600)"
SHORT = "import time; time.sleep(25); print('done')"
ANY = ("AppFailed", "SubmissionFailed", "JobDeploymentStatusTransitionGracePeriodExceeded")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("ends") / "state") as found:
        assert found.heliostat("up").returncode == 0
        yield found


def wait_until_it_runs(machine: LocalMachine, name: str) -> Job:
    def is_running() -> Job:
        status = status_of(machine, name)
        assert status.get("jobDeploymentStatus") not in ("Complete", "Failed"), (status, machine.logs())
        return status if status.get("jobStatus") == "RUNNING" else {}

    return wait_for(is_running, SECONDS)


def head_of(machine: LocalMachine, cluster: str) -> str:
    label = f"ray.io/cluster={cluster},ray.io/node-type=head"
    return machine.kubectl("get", "pods", "-l", label, "-o", "jsonpath={.items[*].metadata.name}")


def test_a_job_that_is_stopped_and_one_whose_program_does_not_exist(machine: LocalMachine, tmp_path: Path) -> None:
    stopped = build_job("stopped", STOP, submissionMode="HTTPMode")
    missing = build_job("missing", "", submissionMode="HTTPMode", shutdownAfterJobFinishes=True)
    missing["spec"]["entrypoint"] = "no-such-program --at-all"
    apply(machine, tmp_path, stopped, missing)
    status = wait_for_phase(machine, "stopped", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status.get("jobStatus")) == ("Complete", "STOPPED"), machine.logs()
    assert (status["failed"], status["succeeded"]) == (0, 0)
    status = wait_for_phase(machine, "missing", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "AppFailed"), machine.logs()
    explained = machine.heliostat("explain", "rayjob/missing").stdout
    assert "no-such-program" in explained, explained
    delete(machine, "stopped", "missing")


def test_a_submitter_that_cannot_reach_ray_fails_the_job(machine: LocalMachine, tmp_path: Path) -> None:
    command = ["ray", "job", "submit", "--address", "http://do-not-exist:8265", "--", "echo", "x"]
    container = {"name": "ray-job-submitter", "image": "rayproject/ray:2.52.0", "command": command}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = build_job(
        "unreached", "", submitterPodTemplate=template, submitterConfig={"backoffLimit": 0},
        shutdownAfterJobFinishes=True,
    )  # fmt: skip
    apply(machine, tmp_path, job)
    status = wait_for_phase(machine, "unreached", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "SubmissionFailed"), machine.logs()
    assert "jobStatus" not in status
    wait_for(lambda: not names(machine, "rayclusters"), SECONDS)
    assert names(machine, "jobs") == ["unreached"]
    delete(machine, "unreached")


def test_a_submitter_pod_that_is_deleted_comes_again_and_submits_nothing(machine: LocalMachine, tmp_path: Path) -> None:
    apply(machine, tmp_path, build_job("recovered", SHORT))
    running = wait_until_it_runs(machine, "recovered")
    machine.kubectl("delete", "pods", "-l", "job-name=recovered", "--wait=false")
    status = wait_for_phase(machine, "recovered", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status.get("jobStatus")) == ("Complete", "SUCCEEDED"), machine.logs()
    assert status["jobId"] == running["jobId"]
    assert "done" in machine.kubectl("logs", "job/recovered")
    delete(machine, "recovered")


@pytest.mark.parametrize("mode", ["K8sJobMode", "SidecarMode"])
def test_a_head_that_is_lost_fails_the_job(machine: LocalMachine, tmp_path: Path, mode: str) -> None:
    name = "lost-" + mode.removesuffix("Mode").lower()
    config = {"submitterConfig": {"backoffLimit": 0}} if mode == "K8sJobMode" else {}
    apply(machine, tmp_path, build_job(name, LONG, submissionMode=mode, **config))
    running = wait_until_it_runs(machine, name)
    cluster = json.loads(machine.kubectl("get", "raycluster", running["rayClusterName"], "-o", "json"))
    assert cluster["metadata"]["labels"]["ray.io/job-submission-mode"] == mode
    head = head_of(machine, running["rayClusterName"])
    machine.kubectl("delete", "pod", head, "--wait=false")
    status = wait_for_phase(machine, name, "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status["reason"] in ANY) == ("Failed", True), status
    if mode == "K8sJobMode":
        wait_for(lambda: head_of(machine, running["rayClusterName"]) not in ("", head), SECONDS)
    else:
        assert cluster["metadata"]["annotations"]["ray.io/disable-provisioned-head-restart"] == "true"
        wait_for(lambda: not head_of(machine, running["rayClusterName"]), SECONDS)
    delete(machine, name)
