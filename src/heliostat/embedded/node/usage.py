"""What the containers of this node use now: CPU over a short while, and memory with its part of what is shared.

Measured when somebody asks and never otherwise, from the processes themselves: not every container has a control group.
Two looks make a measurement; the one before serves for it if it is not too old.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from heliostat.embedded.node.isolating.memory_watch import measure_one
from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxError
from heliostat.embedded.node.process_table import ProcessTable, namespace_of, pids_in_namespaces, read_processes
from heliostat.embedded.node.shim.journal import Run
from heliostat.kube.jsontree import JsonObject

SHORTEST, LONGEST = 1.0, 60.0  # seconds between two looks
_NANO = 1_000_000_000


class ContainerUsage(Struct, frozen=True):
    pod: str  # UID
    name: str
    cpu: float  # cores
    memory: int  # bytes


class Usage(Struct, frozen=True):
    containers: tuple[ContainerUsage, ...]
    seconds: float


class _Look(Struct, frozen=True):
    at: float
    table: ProcessTable


class Bench(Protocol):
    def sandboxes(self) -> dict[str, Sandbox]: ...

    def runs(self, uid: str) -> list[Run]: ...


class UsageMeter:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._last: _Look | None = None
        self._turn = asyncio.Lock()

    async def measure(self) -> Usage:
        async with self._turn:
            before = self._last
            if before is None or not SHORTEST <= time.monotonic() - before.at <= LONGEST:
                before = await _look()
                await asyncio.sleep(SHORTEST)
            first = {uid: await _list_first(sandbox) for uid, sandbox in self._bench.sandboxes().items()}
            after = self._last = await _look()
            seconds = after.at - before.at
            found: list[ContainerUsage] = []
            for uid, sandbox in self._bench.sandboxes().items():
                names = {run.id: run.name for run in self._bench.runs(uid)}
                pids = await asyncio.to_thread(group_by_container, after.table, sandbox.pid, first.get(uid, {}))
                for id_, members in pids.items():
                    cores = _spent(before.table, after.table, members) / seconds
                    memory = await asyncio.to_thread(_sum_memory, members)
                    found.append(ContainerUsage(uid, names.get(id_, id_), cores, memory))
            return Usage(tuple(found), seconds)


async def _look() -> _Look:
    return _Look(time.monotonic(), await asyncio.to_thread(read_processes))


async def _list_first(sandbox: Sandbox) -> dict[str, int]:
    try:
        return await sandbox.list_first_processes()
    except SandboxError:  # it has just ended
        return {}


def group_by_container(table: ProcessTable, shim: int, first: Mapping[str, int]) -> dict[str, list[int]]:
    """Processes by the id of their container; ``first`` are their first ones, as the shim sees PIDs.

    A command that was run in a container is nobody's child in there; it is known by the namespace that it joined.
    """
    level = len(pids_in_namespaces(shim)) - 1
    names = {pid: pids_in_namespaces(pid) for pid in table.children(shim)}
    seen = {called[level]: pid for pid, called in names.items() if len(called) > level}
    begun = {id_: seen[pid] for id_, pid in first.items() if pid in seen}
    found = {id_: list(table.family(pid)) for id_, pid in begun.items()}
    known = {shim, *(pid for members in found.values() for pid in members)}
    spaces = {namespace_of(pid): id_ for id_, pid in begun.items() if namespace_of(pid) != namespace_of(shim)}
    for pid in table.family(shim):
        if pid not in known and (id_ := spaces.get(namespace_of(pid))) is not None:
            found[id_].append(pid)
    return found


def _spent(before: ProcessTable, after: ProcessTable, pids: list[int]) -> float:
    """Seconds of CPU; a process that is new has spent all of its own in between."""
    spent = 0.0
    for pid in pids:
        now, then = after.processes.get(pid), before.processes.get(pid)
        if now is not None:
            spent += now.cpu - (then.cpu if then is not None and then.started == now.started else 0.0)
    return max(spent, 0.0)


def _sum_memory(pids: list[int]) -> int:
    return sum(map(measure_one, pids))


def build_summary(usage: Usage) -> JsonObject:
    """As the kubelet tells it, as far as anybody here asks."""
    pods: dict[str, list[JsonObject]] = {}
    for each in usage.containers:
        told = {
            "name": each.name,
            "cpu": {"usageNanoCores": round(each.cpu * _NANO)},
            "memory": {"workingSetBytes": each.memory},
        }
        pods.setdefault(each.pod, []).append(told)
    return {
        "pods": [{"podRef": {"uid": uid}, "containers": containers} for uid, containers in pods.items()],
        "window": usage.seconds,
    }
