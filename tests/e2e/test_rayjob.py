"""RayJobs with real Ray on this machine: each way of submitting, to its end (e2e-scenarios.md §3)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.jobs import SECONDS, Job, apply, build_job, delete, names, status_of, wait_for_phase
from e2e.local_machine import LocalMachine, local_machine, needs_local_machine, wait_for

pytestmark = needs_local_machine

ANSWER = "import ray; ray.init(); print('the answer is', ray.get(ray.remote(lambda: 6 * 7).remote()))"
FAILURE = "import sys; print('so far', flush=True); sys.exit(3)"
LONG = "import time; time.sleep(600)"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("rayjobs") / "state") as found:
        assert found.heliostat("up").returncode == 0
        yield found


def test_a_submitter_job_and_the_operator_itself_bring_jobs_to_their_end(machine: LocalMachine, tmp_path: Path) -> None:
    http = build_job("http", ANSWER, submissionMode="HTTPMode", shutdownAfterJobFinishes=True)
    k8s = build_job("k8s", ANSWER, shutdownAfterJobFinishes=True)
    apply(machine, tmp_path, http, k8s)
    for name in ("http", "k8s"):
        status = wait_for_phase(machine, name, "Complete", "Failed")
        assert (status["jobDeploymentStatus"], status.get("jobStatus")) == ("Complete", "SUCCEEDED"), machine.logs()
        assert status["succeeded"] == 1
        assert status["rayJobInfo"].keys() == {"startTime", "endTime"}
    assert names(machine, "jobs") == ["k8s"], "its log is kept"
    assert "the answer is 42" in machine.kubectl("logs", "job/k8s")
    wait_for(lambda: not names(machine, "rayclusters"), SECONDS)
    delete(machine, "http", "k8s")


def test_a_program_that_fails_in_a_sidecar_fails_its_job(machine: LocalMachine, tmp_path: Path) -> None:
    apply(machine, tmp_path, build_job("sidecar", FAILURE, submissionMode="SidecarMode"))
    status = wait_for_phase(machine, "sidecar", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status.get("jobStatus")) == ("Failed", "FAILED"), machine.logs()
    assert (status["reason"], status["failed"]) == ("AppFailed", 1)
    assert names(machine, "jobs") == []
    (cluster,) = names(machine, "rayclusters")
    assert cluster == status["rayClusterName"]
    delete(machine, "sidecar")


@pytest.mark.e2e
def test_a_job_that_runs_is_stopped_by_a_suspension_and_comes_back(machine: LocalMachine, tmp_path: Path) -> None:
    job = build_job("long", LONG, submissionMode="HTTPMode", shutdownAfterJobFinishes=True)
    apply(machine, tmp_path, job)
    first = wait_for(lambda: _is_running(machine), SECONDS)
    machine.kubectl("patch", "rayjob", "long", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    wait_for_phase(machine, "long", "Suspended")
    assert names(machine, "pods") == []
    machine.kubectl("patch", "rayjob", "long", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    second = wait_for(lambda: _is_running(machine), SECONDS)
    assert first["jobId"] != second["jobId"]
    assert first["rayClusterName"] != second["rayClusterName"]
    delete(machine, "long")


def _is_running(machine: LocalMachine) -> Job:
    status = status_of(machine, "long")
    return status if status.get("jobStatus") == "RUNNING" else {}
