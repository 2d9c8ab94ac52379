"""What this machine has to offer as a node, or as several.

Unless asked to be strict it promises more than it has, so that samples fit, and that with each of its nodes; strict
nodes share what there is. All of them have one network, in which the machine is the gateway.
"""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.controllers.nodes.machines import Machine

_CPU_PROMISES = 8
_MEMORY_PROMISES = 4
_MOST_PODS = 110


class NodeWishes(Struct, frozen=True, kw_only=True):
    """How somebody wants the nodes of this machine."""

    name: str = ""  # of the first; empty: the machine's
    count: int = 1
    is_strict: bool = False
    resources: Mapping[str, str] = {}  # besides what the machine has, or instead
    labels: Mapping[str, str] = {}


def build_local_machines(wishes: NodeWishes) -> tuple[Machine, ...]:
    """``name``, ``name-1``, ``name-2``, … all alike."""
    name = wishes.name or _own_name()
    capacity = build_capacity(wishes.count, is_strict=wishes.is_strict) | dict(wishes.resources)
    return tuple(
        Machine(
            name=f"{name}-{index}" if index else name,
            pod_network="10.244.0.0/16",
            address="10.244.0.1",
            capacity=capacity,
            labels={"heliostat.dev/local": "true", **wishes.labels},
        )
        for index in range(wishes.count)
    )


def build_capacity(count: int, *, is_strict: bool) -> dict[str, str]:
    """Of each of so many nodes."""
    milli_cpu, memory, disk = 1000 * len(os.sched_getaffinity(0)), _memory_kib(), _disk_kib()
    if is_strict:
        milli_cpu, memory, disk = milli_cpu // count, memory // count, disk // count
    else:
        milli_cpu, memory = milli_cpu * _CPU_PROMISES, memory * _MEMORY_PROMISES
    return {
        "cpu": f"{milli_cpu}m" if milli_cpu % 1000 else str(milli_cpu // 1000),
        "memory": f"{memory}Ki",
        "ephemeral-storage": f"{disk}Ki",
        "pods": str(_MOST_PODS),
    }


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
