"""What this machine has to offer as a node. Unless asked to be strict it promises more than it has, so samples fit."""

import os
import socket
from pathlib import Path

from heliostat.embedded.controllers.nodes.machines import Machine

_CPU_PROMISES = 8
_MEMORY_PROMISES = 4
_MOST_PODS = 110


def build_machine(name: str = "", *, strict: bool = False) -> Machine:
    cores = len(os.sched_getaffinity(0))
    memory = _memory_kib()
    cpu, promised = (cores, memory) if strict else (cores * _CPU_PROMISES, memory * _MEMORY_PROMISES)
    return Machine(
        name=name or _own_name(),
        pod_network="10.244.0.0/16",
        address="10.244.0.1",
        capacity={
            "cpu": str(cpu),
            "memory": f"{promised}Ki",
            "ephemeral-storage": f"{_disk_kib()}Ki",
            "pods": str(_MOST_PODS),
        },
        labels={"heliostat.dev/local": "true"},
    )


def _own_name() -> str:
    return socket.gethostname().lower().replace("_", "-") or "local"


def _memory_kib() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return 0


def _disk_kib() -> int:
    place = os.statvfs("/")
    return place.f_blocks * place.f_frsize // 1024
