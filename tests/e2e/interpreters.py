"""The Pythons that people make environments from: the system's, one that uv keeps, one that pyenv keeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.installed_wheel import find_uv

SYSTEM, UV, PYENV = "system", "uv", "pyenv"


def find_interpreter(kind: str) -> str:
    """Skips the test where this machine has none that Heliostat can use."""
    found = {SYSTEM: _find_system, UV: _find_uv, PYENV: _find_pyenv}[kind]()
    if not found or not _is_new_enough(found):
        pytest.skip(f"this machine has no Python 3.11 or later of this kind: {kind}")
    return found


def require_venv(interpreter: str) -> None:
    """Debian has ``python3 -m venv`` in a package of its own, which may be installed where nobody else works."""
    if _succeeds(interpreter, "-c", "import ensurepip, venv"):
        return
    if os.geteuid() != 0 or "CI" not in os.environ:
        pytest.skip(f"{interpreter} -m venv does not work here: apt-get install python3-venv")
    subprocess.run(["apt-get", "install", "--yes", "--quiet", "python3-venv"], check=True, capture_output=True)


def _find_system() -> str:
    return "/usr/bin/python3"


def _find_uv() -> str:
    uv = find_uv()
    if uv is None:
        return ""
    command = [uv, "python", "find", "--managed-python", "--no-python-downloads", ">=3.11"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _find_pyenv() -> str:
    """The one that this environment is made from, if pyenv keeps it: a user without rights may read that one."""
    own = Path(sys.executable).resolve()
    return str(own) if ".pyenv" in own.parts else ""


def _is_new_enough(interpreter: str) -> bool:
    return _succeeds(interpreter, "-c", "import sys; sys.exit(sys.version_info < (3, 11))")


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
