"""The built wheel in a fresh environment, with the versions of the lock: what a person has after ``pip install``."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[2]
_OURS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")  # would lead back to this environment


class Installed(Struct, frozen=True):
    environment: Path

    @property
    def heliostat(self) -> str:
        return str(self.environment / "bin" / "heliostat")

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self._run(self.heliostat, *arguments)

    def import_all(self, modules: list[str]) -> str:
        """What stands in the way."""
        program = f"import importlib\nfor name in {modules!r}: importlib.import_module(name)"
        return self._run(str(self.environment / "bin" / "python"), "-c", program).stderr

    def _run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """From a directory that has nothing of ours."""
        return subprocess.run(
            command,
            cwd=self.environment,
            env=build_clean_environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def build_wheel(directory: Path) -> Path:
    _uv("build", "--quiet", "--wheel", f"--out-dir={directory}", str(ROOT))
    (wheel,) = directory.glob("*.whl")
    return wheel


def install_wheel(wheel: Path, directory: Path, extra: str = "", interpreter: str = sys.executable) -> Installed:
    """The wheel says what it needs; the lock says only which versions."""
    environment, locked = directory / "environment", directory / "locked.txt"
    extras = ("--all-extras",) if extra else ()
    _uv("export", "--frozen", "--quiet", "--no-dev", "--no-emit-project", "--no-hashes", *extras, f"-o{locked}")
    _uv("venv", "--quiet", f"--python={interpreter}", str(environment))
    wanted = f"heliostat[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    python = f"--python={environment / 'bin' / 'python'}"
    _uv("pip", "install", "--quiet", "--compile-bytecode", python, f"--constraint={locked}", wanted)
    return Installed(environment)


def find_uv() -> str | None:
    """The environment's own, or the machine's."""
    return shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def build_clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OURS}


def _uv(*arguments: str) -> None:
    uv = find_uv()
    assert uv is not None, "uv is not installed; make test installs it"
    result = subprocess.run(
        [uv, *arguments],
        cwd=ROOT,
        env=build_clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, f"uv {' '.join(arguments)}: {result.stderr}{result.stdout}"
