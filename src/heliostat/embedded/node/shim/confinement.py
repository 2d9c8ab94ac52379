"""What a container may not see or change of the kernel, as container runtimes have it; privileged ones may.

Rules: what is in /proc for the whole machine is read-only or hidden, /sys is read-only with every file system in it,
control groups too, so nobody leaves its limits. What this kernel does not have needs no hiding.
"""

from collections.abc import Iterator
from pathlib import Path

from heliostat.embedded.node.shim import host_layers, syscalls

_READ_ONLY = ("proc/bus", "proc/fs", "proc/irq", "proc/sys", "proc/sysrq-trigger")
_HIDDEN = (
    "proc/acpi", "proc/asound", "proc/kcore", "proc/keys", "proc/latency_stats", "proc/sched_debug", "proc/scsi",
    "proc/timer_list", "proc/timer_stats", "sys/devices/virtual/powercap", "sys/firmware",
)  # fmt: skip
_PLAIN = syscalls.NO_SETUID | syscalls.NO_DEVICES | syscalls.NO_EXEC


def confine(root: Path) -> None:
    """``root`` has its own /proc, and the machine's /sys bound into it."""
    for path in (root / name for name in _READ_ONLY):
        if path.exists():
            syscalls.mount(str(path), str(path), flags=syscalls.BIND | syscalls.RECURSIVE)
            syscalls.make_read_only(str(path))
    for path in (root / name for name in _HIDDEN):
        _hide(path)
    for place in _mounts_beneath(root / "sys"):
        syscalls.make_read_only(place)


def _hide(path: Path) -> None:
    if path.is_dir():
        syscalls.mount("tmpfs", str(path), "tmpfs", _PLAIN | syscalls.READ_ONLY, "size=0,mode=555")
    elif path.exists():
        syscalls.mount("/dev/null", str(path), flags=syscalls.BIND)


def _mounts_beneath(place: Path) -> Iterator[str]:
    """The outermost first; it is one itself."""
    for found, _kind in host_layers.list_mounts():
        if found == str(place) or found.startswith(f"{place}/"):
            yield found
