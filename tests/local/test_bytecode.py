"""Ray without bytecode starts slowly in Pods; ``up`` says so, with the command that mends it."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from heliostat.local.bytecode import advise_compilation


@pytest.fixture
def ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with a Ray that was never imported, as uv leaves it."""
    folder = tmp_path / "site-packages"
    (folder / "ray").mkdir(parents=True)
    (folder / "ray" / "__init__.py").write_text("answer = 42\n")
    monkeypatch.setattr(sys, "path", [str(folder)])
    return folder


def test_the_command_that_is_advised_mends_it(ray: Path) -> None:
    advice = advise_compilation()
    assert "Ray starts twice as fast once it is compiled" in advice
    _words, _colon, command = advice.rpartition(": ")
    subprocess.run(shlex.split(command), check=True, env={})
    assert list(ray.rglob("*.pyc")) != []
    assert advise_compilation() == ""


def test_no_ray_no_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert advise_compilation() == ""
