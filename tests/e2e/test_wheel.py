"""What ``pip install heliostat`` gives, in an environment without our sources: every command finds what it needs."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from e2e.installed_wheel import ROOT, Installed, build_wheel, install_wheel
from e2e.local_machine import EXAMPLES, LocalMachine, local_machine, wait_for
from heliostat import __version__
from heliostat.cli.main import COMMANDS

pytestmark = pytest.mark.slow
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="Pods as processes need root")

CLUSTER = str(EXAMPLES / "raycluster.yaml")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: tiny}
spec:
  restartPolicy: Never
  containers:
    - name: shell
      image: busybox
      command: [sh, -c, "command -v wget && echo from a shell"]
    - name: python
      image: python:3
      command: [python, -c, "import heliostat; print(heliostat.__file__)"]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install_wheel(wheel, tmp_path_factory.mktemp("installed"))


def test_the_wheel_has_every_file_of_the_package_and_no_other_code(wheel: Path) -> None:
    source = ROOT / "src"
    ours = {
        str(path.relative_to(source))
        for path in (source / "heliostat").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == ours


def test_the_version_is_the_package_s(installed: Installed) -> None:
    assert installed.run("--version").stdout == f"heliostat {__version__}\n"


def test_every_command_is_importable_with_only_what_the_wheel_asks_for(installed: Installed) -> None:
    modules = [f"heliostat.cli.{command}" for command in COMMANDS]
    assert installed.import_all(modules) == ""


@pytest.mark.parametrize("arguments", [("validate", "-f", CLUSTER), ("plan", "-f", CLUSTER)])
def test_what_is_asked_without_a_cluster_is_answered(installed: Installed, arguments: tuple[str, ...]) -> None:
    result = installed.run(*arguments)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


@needs_root
def test_a_pod_runs_to_its_end(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    with local_machine(tmp_path / "state", installed.heliostat) as machine:
        _succeed(machine, "up", "--ephemeral")
        _succeed(machine, "apply", "-f", str(tmp_path / "pod.yaml"))
        wait_for(lambda: _phase(machine) in ("Succeeded", "Failed"), 30)
        assert _succeed(machine, "logs", "tiny", "-c", "shell").splitlines()[-1] == "from a shell", machine.logs()
        where = Path(_succeed(machine, "logs", "tiny", "-c", "python").strip())
        assert where.is_relative_to(installed.environment)
        assert _phase(machine) == "Succeeded"
        assert _succeed(machine, "down", "--purge") == "down, and nothing is kept\n"


@needs_root
@pytest.mark.e2e
def test_the_demo_s_program_runs_on_the_ray_that_the_wheel_asks_for(wheel: Path, tmp_path: Path) -> None:
    installed = install_wheel(wheel, tmp_path, "ray")
    with local_machine(tmp_path / "state", installed.heliostat) as machine:
        program = (f"--working-dir={EXAMPLES}", "--", "python", "pi.py")
        assert "pi is about 3.1" in _succeed(machine, "run", CLUSTER, "--ephemeral", *program)


def _succeed(machine: LocalMachine, *arguments: str) -> str:
    result = machine.heliostat(*arguments)
    assert result.returncode == 0, result.stderr + result.stdout + machine.logs()
    return result.stdout


def _phase(machine: LocalMachine) -> str:
    pod = json.loads(_succeed(machine, "get", "pod/tiny", "-o", "json"))
    return str((pod["items"][0] if "items" in pod else pod)["status"]["phase"])
