"""The lightweight submitter with real Ray on this machine (e2e-scenarios.md §4)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.jobs import SECONDS, Job, apply, build_job, delete, names, status_of, wait_for_phase
from e2e.local_machine import LocalMachine, local_machine, needs_local_machine, wait_for

pytestmark = [*needs_local_machine, pytest.mark.e2e]

COUNTER = (
    "import os, time, ray; ray.init();"
    " [(print(os.environ['counter_name'], 'got', n, flush=True), time.sleep({pause})) for n in range(1, 6)]"
)
ENVIRONMENT = json.dumps({"env_vars": {"counter_name": "test_counter"}})


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("submitter") / "state") as found:
        assert found.heliostat("up").returncode == 0
        yield found


def build_submitted(name: str, *args: str, **spec: Any) -> Job:
    container = {"name": "submitter", "image": "quay.io/kuberay/submitter:nightly", "command": ["/submitter"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container | {"args": list(args)}]}}
    return build_job(name, "pass", submitterPodTemplate=template, **spec)


def pods_of(machine: LocalMachine, job: str) -> list[str]:
    found = machine.kubectl("get", "pods", "-l", f"job-name={job}", "-o", "jsonpath={.items[*].metadata.name}")
    return found.split()


def program(pause: float) -> tuple[str, ...]:
    return ("--runtime-env-json", ENVIRONMENT, "--", "python", "-c", f'"{COUNTER.format(pause=pause)}"')


def test_a_job_is_submitted_and_its_log_followed(machine: LocalMachine, tmp_path: Path) -> None:
    apply(machine, tmp_path, build_submitted("counter", *program(0.1)))
    status = wait_for_phase(machine, "counter", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status.get("jobStatus")) == ("Complete", "SUCCEEDED"), machine.logs()
    log = machine.kubectl("logs", "job/counter")
    assert [f"test_counter got {number}" in log for number in range(1, 6)] == [True] * 5, log
    assert f"SUCC -- Job '{status['jobId']}' submitted successfully" in log
    delete(machine, "counter")


def test_words_that_are_no_numbers_fail_the_submission_after_three_pods(machine: LocalMachine, tmp_path: Path) -> None:
    args = ("--entrypoint-resources", '{"cpu": "much"}', "--", "python", "x.py")
    apply(machine, tmp_path, build_submitted("refused", *args, submitterConfig={"backoffLimit": 2}))
    status = wait_for_phase(machine, "refused", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "SubmissionFailed"), machine.logs()
    assert len(pods_of(machine, "refused")) == 3
    delete(machine, "refused")


def test_a_submitter_whose_pod_is_deleted_comes_again_and_only_follows(machine: LocalMachine, tmp_path: Path) -> None:
    apply(machine, tmp_path, build_submitted("again", *program(4.0)))

    def is_submitted() -> list[str]:
        pods = pods_of(machine, "again")
        return pods if pods and "SUCC -- Job '" in machine.kubectl("logs", pods[0]) else []

    (first,) = wait_for(is_submitted, SECONDS, every=0.5)
    machine.kubectl("delete", "pod", first, "--wait=false")
    status = wait_for_phase(machine, "again", "Complete", "Failed")
    assert (status["jobDeploymentStatus"], status.get("jobStatus")) == ("Complete", "SUCCEEDED"), machine.logs()
    (second,) = [pod for pod in pods_of(machine, "again") if pod != first]
    log = machine.kubectl("logs", second)
    assert "has already been submitted, tailing logs." in log
    assert [f"test_counter got {number}" in log for number in range(1, 6)] == [True] * 5, log
    assert status_of(machine, "again")["jobId"] == status["jobId"]
    assert names(machine, "jobs") == ["again"]
    delete(machine, "again")
