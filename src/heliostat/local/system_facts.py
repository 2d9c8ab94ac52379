"""What this machine runs, as it tells itself: for the Node that stands for it."""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from heliostat import __version__

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}  # Go's names; the others are the same
_UNKNOWN: Final = "unknown"


def read_system_facts() -> dict[str, str]:
    """The fields of a Node's nodeInfo."""
    machine = _read("/etc/machine-id") or _UNKNOWN
    return {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "osImage": describe_system(_read_release()),
        "kernelVersion": platform.release(),
        "containerRuntimeVersion": f"heliostat://{__version__}",
        "machineID": machine,
        "systemUUID": _read("/sys/class/dmi/id/product_uuid") or machine,
        "bootID": _read("/proc/sys/kernel/random/boot_id") or _UNKNOWN,
    }


def describe_system(release: Mapping[str, str]) -> str:
    return release.get("PRETTY_NAME") or release.get("NAME") or _UNKNOWN


def _read_release() -> Mapping[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:  # not every system has it, and not everybody may read it
        return ""
