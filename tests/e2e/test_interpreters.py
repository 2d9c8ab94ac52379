"""Environments as people make them, by the Python they come from: Pods start in each, as root and as anybody."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.installed_wheel import ROOT, build_clean_environment, build_wheel, install_wheel
from e2e.interpreters import PYENV, SYSTEM, UV, find_interpreter, require_venv
from heliostat.kube.jsontree import JsonObject
from local.unprivileged import USER, Unprivileged, unprivileged

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"), pytest.mark.slow]

# In the image that stands for the environment itself: its interpreter and a program that every image has.
SCRIPT = "command -v wget && python -c 'import heliostat; print(heliostat.__file__)'"
CONTAINER = {"name": "c", "image": "python:3", "command": ["/bin/sh", "-c", SCRIPT]}
POD: JsonObject = {
    "kind": "Pod",
    "metadata": {"name": "tiny"},
    "spec": {"restartPolicy": "Never", "containers": [CONTAINER]},
}
DEMO_SECONDS = 600.0
OTHERS = [pytest.param(UV, marks=pytest.mark.e2e), pytest.param(PYENV, marks=pytest.mark.e2e)]
every_kind = pytest.mark.parametrize("kind", [SYSTEM, *OTHERS])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def place() -> Iterator[Path]:
    """Where everybody may read, also what uv writes there."""
    with tempfile.TemporaryDirectory(prefix="heliostat-environment-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@every_kind
def test_a_pod_runs_from_the_wheel_as_a_user_without_rights(kind: str, wheel: Path, place: Path) -> None:
    installed = install_wheel(wheel, place, interpreter=find_interpreter(kind))
    with unprivileged() as user:
        user.run(installed.heliostat, "up")
        _run_pod(user, installed.environment)


@every_kind
def test_a_pod_runs_from_the_wheel_as_root(kind: str, wheel: Path, place: Path) -> None:
    installed = install_wheel(wheel, place, interpreter=find_interpreter(kind))
    machine = Unprivileged(place)  # its kubectl and its state directory, with the rights that we have
    state = f"--state={machine.state}"
    subprocess.run([installed.heliostat, "up", state], check=True, capture_output=True)
    try:
        _run_pod(machine, installed.environment)
    finally:
        subprocess.run([installed.heliostat, "down", "--purge", state], check=True, capture_output=True)


def _run_pod(machine: Unprivileged, environment: Path) -> None:
    machine.create(POD)
    pod = machine.await_pod("tiny", lambda pod: pod["status"].get("phase") in ("Succeeded", "Failed"))
    assert pod["status"]["phase"] == "Succeeded", pod["status"]
    assert Path(machine.kubectl("logs", "tiny").splitlines()[-1]).is_relative_to(environment)


@pytest.mark.e2e
@every_kind
def test_the_demo_of_a_fresh_clone_succeeds_as_root(kind: str, place: Path) -> None:
    clone, command = _prepare_demo(kind, place)
    done = subprocess.run(
        command, cwd=clone, env=build_clean_environment(), capture_output=True, text=True, check=False
    )
    assert "pi is about 3.1" in done.stdout, done.stdout + done.stderr


@pytest.mark.e2e
@every_kind
def test_the_demo_of_a_fresh_clone_succeeds_as_a_user_without_rights(kind: str) -> None:
    with unprivileged() as user:
        clone, command = _prepare_demo(kind, user.home)
        for path in (clone, *clone.rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)
        done = user.run(*command, "-C", str(clone), seconds=DEMO_SECONDS)
        assert "pi is about 3.1" in done.stdout, done.stdout + done.stderr


def _prepare_demo(kind: str, place: Path) -> tuple[Path, list[str]]:
    interpreter, make = find_interpreter(kind), shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    require_venv(interpreter)
    clone = place / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True, capture_output=True)
    return clone, [make, "demo", f"PYTHON={interpreter}"]
