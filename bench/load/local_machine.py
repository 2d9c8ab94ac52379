"""A local Heliostat for the benchmarks: brought up in a directory of its own, looked at, and taken down again."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.node.network.holder import find_holder
from heliostat.local.state import State
from load.targets import environment, memory_mb

HELIOSTAT = str(Path(sys.executable).with_name("heliostat"))


class Memory(Struct, frozen=True):
    """Megabytes: resident, and with what is shared divided among those who share it."""

    processes: int
    resident: float
    proportional: float


class LocalMachine(Struct, frozen=True):
    state: State

    def waiting_pods(self) -> int:
        """Pods that have anything on the node."""
        return sum(1 for _ in (self.state.node / "pods").iterdir())

    def memory(self) -> dict[str, Memory]:
        """By what they are for; the containers' own programs are not ours."""
        status = self.state.read_status()
        if status is None:
            raise SystemExit(f"{self.state.path}: nothing runs here")
        named = {"supervisor": [status.pid], **{child.name: [child.pid] for child in status.children}}
        holder = find_holder(self.state.node / "network")
        named["the network's holder"] = [holder.pid] if holder is not None else []
        named["template of shims"] = [
            pid for pid in _children(named["node"][0]) if pid not in named["the network's holder"]
        ]
        named["shims and inits"] = _shims(self.state.path)
        return {name: _measure(pids) for name, pids in named.items()}


@contextmanager
def local_machine() -> Iterator[LocalMachine]:
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state")
        try:
            run_heliostat("up", f"--state={state.path}")
            yield LocalMachine(state)
        finally:
            run_heliostat("down", "--purge", f"--state={state.path}")


def run_heliostat(*arguments: str) -> None:
    done = subprocess.run([HELIOSTAT, *arguments], check=False, capture_output=True, text=True, env=environment())
    if done.returncode:
        raise SystemExit(f"heliostat {' '.join(arguments)}: {done.stderr}")


def _measure(pids: list[int]) -> Memory:
    return Memory(len(pids), sum(map(memory_mb, pids)), sum(map(_proportional_mb, pids)))


def _proportional_mb(pid: int) -> float:
    found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def _children(pid: int) -> list[int]:
    """Of all its threads: any of them may have started one."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _shims(state: Path) -> list[int]:
    title = f"heliostat shim {state}/".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if line.startswith(title):
                found.append(int(entry.name))
    return found
