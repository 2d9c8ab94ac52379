"""The Ray that an image's tag names, built and run; and what is told where another one runs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.local_machine import EXAMPLES, LocalMachine, local_machine, needs_local_machine
from heliostat.kube.image_versions import VERSION_MATCHES

pytestmark = [*needs_local_machine, pytest.mark.e2e]

OTHER = "2.59.0"
PROGRAM = ("--", "python", "-c", "import ray; print('this is Ray', ray.__version__)")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[LocalMachine]:
    with local_machine(tmp_path / "state") as found:
        found.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
        yield found


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """The example, with images of another version than this environment has."""
    text = (EXAMPLES / "raycluster.yaml").read_text()
    path = tmp_path / "cluster.yaml"
    path.write_text(re.sub(r"rayproject/ray:[0-9.]+", f"rayproject/ray:{OTHER}", text))
    return str(path)


def test_the_ray_of_the_tag_is_built_once_and_runs(machine: LocalMachine, cluster: str, tmp_path: Path) -> None:
    work = ("--working-dir", str(tmp_path / "empty"))
    (tmp_path / "empty").mkdir()
    for is_built in (False, True):
        result = machine.heliostat("run", cluster, "--exact-images", "--ephemeral", *work, *PROGRAM, seconds=600)
        assert f"this is Ray {OTHER}" in result.stdout, result.stderr + machine.logs()
        assert ("Pulling image" in result.stderr) != is_built
        assert "  ! " not in result.stderr
    (environment,) = [place for place in (tmp_path / "cache" / "heliostat" / "images").iterdir() if place.is_dir()]
    assert environment.name.startswith(f"{OTHER}-py3.")


def test_another_ray_than_the_tag_s_is_told_wherever_one_looks(machine: LocalMachine, cluster: str) -> None:
    ran = machine.heliostat("run", cluster, "--ephemeral")
    assert ran.returncode == 0, ran.stderr + machine.logs()
    said = f'the image "rayproject/ray:{OTHER}" says Ray {OTHER}, this machine provides '
    for told in (ran.stderr, machine.heliostat("status").stdout):
        assert told.count(f"  ! {said}") == 1
    assert VERSION_MATCHES in machine.kubectl("describe", "pods")
    explained = machine.heliostat("explain", "raycluster/hello").stdout
    assert f"why: {said}" in explained
    assert "fix: heliostat down, then heliostat up --exact-images" in explained
