"""Which Kubernetes this server is: ``/version``. It names itself as a build of that version, and says what runs it."""

import os
import sys

from heliostat import __version__
from heliostat.kube.core_schema import served_version
from heliostat.kube.jsontree import JsonObject

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def build_version() -> JsonObject:
    major, minor = served_version().split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{served_version()}.0+heliostat.{__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{sys.version_info.major}.{sys.version_info.minor}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{_machine()}",
    }


def _machine() -> str:
    name = os.uname().machine
    return _MACHINES.get(name, name)
