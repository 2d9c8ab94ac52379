"""What this machine has to offer as a node, or as several.

Unless asked to be strict, each node advertises more CPU and memory than the machine has, so that samples fit; strict
nodes share what there is. All of them have one network, in which the machine is the gateway.
"""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.doors.machines import POD_NETWORK, Judgement, Machine, Taint
from heliostat.local.system_facts import read_system_facts

_CPU_PROMISES = 8
_MEMORY_PROMISES = 4
_MOST_PODS = 110
GATEWAY = str(POD_NETWORK[1])
NO_CONDITIONS: Mapping[str, Judgement] = {}


class Traits(Struct, frozen=True, kw_only=True):
    """What somebody wants a node to have."""

    resources: Mapping[str, str] = {}  # besides what the machine has, or instead
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()

    def with_more(self, more: "Traits") -> "Traits":
        """The later one wins."""
        taints = {(taint.key, taint.effect): taint for taint in (*self.taints, *more.taints)}
        return Traits(
            resources={**self.resources, **more.resources},
            labels={**self.labels, **more.labels},
            taints=tuple(taints.values()),
        )


class NodeWishes(Struct, frozen=True, kw_only=True):
    """How somebody wants the nodes of this machine."""

    name: str = ""  # of the first; empty: the machine's
    count: int = 1
    is_strict: bool = False
    of_all: Traits = Traits()
    of_each: Mapping[int, Traits] = {}  # further ones, by the number of the node; the first is 0


def build_local_machines(
    wishes: NodeWishes, *, address: str = GATEWAY, conditions: Mapping[str, Judgement] = NO_CONDITIONS
) -> tuple[Machine, ...]:
    """``name``, ``name-1``, ``name-2``, … all with the one address of this machine."""
    name, info = wishes.name or _own_name(), read_system_facts()
    capacity = build_capacity(wishes.count, is_strict=wishes.is_strict)
    wanted = [wishes.of_all.with_more(wishes.of_each.get(index, Traits())) for index in range(wishes.count)]
    return tuple(
        Machine(
            name=f"{name}-{index}" if index else name,
            pod_network=str(POD_NETWORK),
            address=address,
            capacity=capacity | dict(traits.resources),
            labels={"heliostat.dev/local": "true", **traits.labels},
            taints=traits.taints,
            info=info,
            conditions=conditions,
        )
        for index, traits in enumerate(wanted)
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
