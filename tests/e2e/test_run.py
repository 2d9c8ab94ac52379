"""``heliostat run`` with real Ray: from nothing to a result, and its exit code."""

import hashlib
import os
import re
import urllib.request
from pathlib import Path

from e2e.local_machine import EXAMPLES, LocalMachine, local_machine, needs_local_machine, wait_for

pytestmark = needs_local_machine

CLUSTER = str(EXAMPLES / "raycluster.yaml")


def test_a_program_with_50_megabytes_runs_on_the_nodes_of_a_cluster_to_its_result(tmp_path: Path) -> None:
    """Its working directory is noise, which does not get smaller when it is packed."""
    program, noise = tmp_path / "program", os.urandom(50 * 1024 * 1024)
    program.mkdir()
    (program / "noise.bin").write_bytes(noise)
    (program / "pi.py").write_bytes((EXAMPLES / "pi.py").read_bytes())
    (program / "look.py").write_text(
        "import hashlib, pathlib\nprint(hashlib.sha256(pathlib.Path('noise.bin').read_bytes()).hexdigest())\n"
    )
    command = ("sh", "-c", "python look.py && python pi.py")
    with local_machine(tmp_path / "state") as machine:
        result = machine.heliostat("run", CLUSTER, "--ephemeral", f"--working-dir={program}", "--", *command)
        assert result.returncode == 0, result.stderr + result.stdout
        assert hashlib.sha256(noise).hexdigest() in result.stdout
        assert "pi is about 3.1" in result.stdout
        ran = re.findall(r"(\d) of 8 tasks ran in Pod hello-(?:head|workers-worker)-", result.stdout)
        assert sum(map(int, ran)) == 8, "on which of the two is for Ray to choose"
        assert "✓ RayCluster hello: ready, 2 of 2 Ray nodes ready" in result.stderr
        assert not machine.state.is_locked()


def test_the_whole_life_of_a_cluster_that_stays(tmp_path: Path) -> None:
    """Its exit codes, scaling, commands inside, ports from outside, and deletion without traces: one start of Ray."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "fail.py").write_text("import sys\nprint('so far', flush=True)\nsys.exit(7)\n")
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        failed = machine.heliostat("run", CLUSTER, "--keep", f"--working-dir={program}", "--", "python", "fail.py")
        assert "so far" in failed.stdout, failed.stderr + failed.stdout + machine.logs()
        assert failed.returncode == 7
        _commands_inside(machine)
        _look_at_dashboard(machine)
        _scale(machine)
        _delete(machine)


def _commands_inside(machine: LocalMachine) -> None:
    head = machine.kubectl("get", "pods", "-l", "ray.io/node-type=head", "-o", "name").strip()
    status = machine.kubectl("exec", head, "--", "ray", "status")
    assert "2.0 CPU" in status
    task = "import ray; ray.init(); print(ray.get(ray.remote(lambda: 6 * 7).remote()))"
    assert "42" in machine.kubectl("exec", head, "--", "python", "-c", task)
    assert "Ray runtime started" in machine.kubectl("logs", head)
    proxied = "/api/v1/namespaces/default/services/hello-head-svc:dashboard/proxy/api/version"
    assert '"ray_version"' in machine.kubectl("get", "--raw", proxied)


def _look_at_dashboard(machine: LocalMachine) -> None:
    """run has left one open, because the cluster stays."""
    shown = machine.heliostat("dashboard", "hello")
    address = re.findall(r"http://127\.0\.0\.1:\d+", shown.stdout)
    assert len(address) == 1, shown.stdout + shown.stderr
    with urllib.request.urlopen(f"{address[0]}/api/version", timeout=30) as answer:  # noqa: S310  our own address
        assert b'"ray_version"' in answer.read()


def _scale(machine: LocalMachine) -> None:
    for replicas in (2, 1):
        patch = f'[{{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":{replicas}}}]'
        machine.kubectl("patch", "raycluster", "hello", "--type=json", "-p", patch)
        _wait_for_workers(machine, str(replicas))


def _wait_for_workers(machine: LocalMachine, ready: str) -> None:
    shown = ("get", "raycluster", "hello", "-o", "jsonpath={.status.readyWorkerReplicas}")
    wait_for(lambda: machine.kubectl(*shown) == ready, 180)


def _delete(machine: LocalMachine) -> None:
    machine.kubectl("delete", "raycluster", "hello", "--timeout=60s")
    wait_for(lambda: machine.kubectl("get", "pods", "-o", "name") == "", 60)
    wait_for(lambda: not list((machine.state.node / "pods").iterdir()), 30)


def test_a_cluster_that_cannot_become_ready_is_told_before_it_is_taken_down(tmp_path: Path) -> None:
    """Long before its time is over. No Ray is started: neither image nor program are there."""
    nobody = tmp_path / "nobody.yaml"
    nobody.write_text(Path(CLUSTER).read_text().replace("rayproject/ray:", "example.com/nobody:"))
    missing = tmp_path / "missing.yaml"
    missing.write_text(OWN_COMMAND)
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up", "--ephemeral").returncode == 0
        ended = machine.heliostat("run", str(nobody), "--timeout=1000", "--", "true")
        assert ended.returncode == 1
        assert "1. Pod hello-head-" in ended.stderr
        assert "fix: add the lines that the message names to that images.toml" in ended.stderr
        assert "heliostat run: RayCluster hello cannot become ready" in ended.stderr
        assert "\ntaking down what was made; --keep-on-failure leaves it up to look at\n" in ended.stderr
        ended = machine.heliostat("run", str(missing), "--timeout=1000", "--keep-on-failure")
        assert ended.returncode == 1
        assert "no-such-program" in ended.stderr
        assert "everything is left up (--keep-on-failure)" in ended.stderr
        assert machine.kubectl("get", "raycluster", "-o", "name").split() == ["raycluster.ray.io/missing"]


OWN_COMMAND = """
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: missing
  annotations: {ray.io/overwrite-container-cmd: "true"}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
          - {name: ray-head, image: "rayproject/ray:2.60.0", command: [no-such-program]}
"""
