"""RayJobs with real Ray on this machine: what their scenarios share."""

import json
from pathlib import Path
from typing import Any

from e2e.local_machine import LocalMachine, wait_for

SECONDS = 300.0  # a head starts in some twenty, on a machine that does nothing else
Job = dict[str, Any]


def build_job(name: str, program: str, **spec: Any) -> Job:
    container = {
        "name": "ray-head",
        "image": "rayproject/ray:2.52.0",
        "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}},
    }
    head = {"rayStartParams": {"num-cpus": "1"}, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {"entrypoint": f'python -c "{program}"', "rayClusterSpec": {"headGroupSpec": head}, **spec},
    }


def apply(machine: LocalMachine, tmp_path: Path, *jobs: Job) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": jobs}))
    machine.kubectl("apply", "-f", str(path))


def status_of(machine: LocalMachine, name: str) -> Job:
    status: Job = json.loads(machine.kubectl("get", "rayjob", name, "-o", "json")).get("status") or {}
    return status


def wait_for_phase(machine: LocalMachine, name: str, *phases: str) -> Job:
    def is_there() -> Job:
        status = status_of(machine, name)
        return status if status.get("jobDeploymentStatus") in phases else {}

    return wait_for(is_there, SECONDS)


def names(machine: LocalMachine, kind: str) -> list[str]:
    return machine.kubectl("get", kind, "-o", "jsonpath={.items[*].metadata.name}").split()


def delete(machine: LocalMachine, *jobs: str) -> None:
    machine.kubectl("delete", "rayjob", *jobs, "--timeout=120s", seconds=150)
    wait_for(lambda: not names(machine, "pods"), SECONDS)
