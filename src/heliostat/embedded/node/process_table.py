"""The processes of this machine as /proc shows them at one moment: whose child each is, and what it has used."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_TICKS = os.sysconf("SC_CLK_TCK")


class Process(Struct, frozen=True):
    pid: int
    parent: int
    started: int  # ticks after the machine's start: with the PID it tells one process from a later one
    cpu: float  # seconds


class ProcessTable:
    def __init__(self, processes: dict[int, Process]) -> None:
        self.processes = processes
        self._children: dict[int, list[int]] = {}
        for process in processes.values():
            self._children.setdefault(process.parent, []).append(process.pid)

    def children(self, pid: int) -> list[int]:
        return self._children.get(pid, [])

    def family(self, pid: int) -> Iterator[int]:
        """A process and all below it."""
        todo = [pid]
        while todo:
            found = todo.pop()
            if found in self.processes:
                yield found
                todo += self.children(found)


def read_processes() -> ProcessTable:
    found = (_read(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return ProcessTable({process.pid: process for process in found if process is not None})


def _read(pid: str) -> Process | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return None
    return Process(int(pid), int(fields[1]), int(fields[19]), (int(fields[11]) + int(fields[12])) / _TICKS)


def pids_in_namespaces(pid: int) -> list[int]:
    """What it is called from our own namespace down to its own."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    return next(([int(part) for part in line.split()[1:]] for line in lines if line.startswith("NSpid:")), [pid])


def namespace_of(pid: int) -> str:
    """Of PIDs; empty when the process has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""
