"""What the process takes of the machine, under the names that every Prometheus client has.

Read when asked for, from /proc; where there is none, a series that cannot be read is absent and not zero.
"""

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

from heliostat.runtime.metrics import Readings, Registry

_PROC = Path("/proc")
_VIRTUAL, _RESIDENT, _STARTED = 20, 21, 19  # among what follows the name in /proc/self/stat


def declare_process_metrics(registry: Registry) -> None:
    for name, (about, read) in _COUNTERS.items():
        registry.read_counter(name, about, read=_when_known(read))
    for name, (about, read) in _GAUGES.items():
        registry.read_gauge(name, about, read=_when_known(read))


def _when_known(read: Callable[[], float]) -> Readings:
    def readings() -> dict[tuple[str, ...], float]:
        try:
            return {(): read()}
        except (OSError, LookupError, ValueError, StopIteration):
            return {}

    return readings


def _stat(place: int) -> int:
    """The name may have spaces and brackets of its own, so what is read begins after the last one."""
    return int((_PROC / "self" / "stat").read_text().rpartition(")")[2].split()[place])


def _resident_bytes() -> float:
    return _stat(_RESIDENT) * resource.getpagesize()


def _start_time() -> float:
    booted = next(line for line in (_PROC / "stat").read_text().splitlines() if line.startswith("btime "))
    return int(booted.split()[1]) + _stat(_STARTED) / os.sysconf("SC_CLK_TCK")


def _open_files() -> float:
    return sum(1 for _ in (_PROC / "self" / "fd").iterdir()) - 1  # without the one that looks


_COUNTERS: dict[str, tuple[str, Callable[[], float]]] = {
    "process_cpu_seconds_total": ("Processor time of the process, its own and the system's.", time.process_time),
}
_GAUGES: dict[str, tuple[str, Callable[[], float]]] = {
    "process_resident_memory_bytes": ("Memory that is really there.", _resident_bytes),
    "process_virtual_memory_bytes": ("Memory that is promised.", lambda: _stat(_VIRTUAL)),
    "process_open_fds": ("Open files, sockets among them.", _open_files),
    "process_max_fds": ("How many may be open.", lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    "process_start_time_seconds": ("When the process began, in Unix time.", _start_time),
}
