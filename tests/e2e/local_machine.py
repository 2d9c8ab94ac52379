"""A local Heliostat for tests with real Ray: a state directory, its commands, and the proof that nothing is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from heliostat.local.state import State, SupervisorStatus

HELIOSTAT = str(Path(sys.executable).with_name("heliostat"))
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

T = TypeVar("T")

needs_local_machine = [
    pytest.mark.skipif(os.geteuid() != 0, reason="Pods as processes need root"),
    pytest.mark.slow,
]


class LocalMachine:
    def __init__(self, path: Path, program: str = HELIOSTAT) -> None:
        self.state = State(path)
        self.program = program
        self.environment = os.environ | {"HELIOSTAT_STATE": str(path), "KUBECONFIG": str(self.state.kubeconfig)}

    def heliostat(self, *arguments: str, seconds: float = 300.0) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.program, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.program, *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kubectl(self, *arguments: str, seconds: float = 120.0) -> str:
        result = subprocess.run(
            ["kubectl", *arguments], env=self.environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert result.returncode == 0, f"kubectl {' '.join(arguments)}: {result.stderr}{result.stdout}"
        return result.stdout

    def status(self) -> SupervisorStatus:
        status = self.state.read_status()
        assert status is not None
        return status

    def kill(self, *children: str) -> None:
        """Processes of ours, with -9, at once and while they run."""
        for pid in wait_for(lambda: self._pids(children), 30):
            os.kill(pid, signal.SIGKILL)

    def _pids(self, children: Collection[str]) -> list[int]:
        """None while one of them does not run."""
        pids = [each.pid for each in self.status().children if each.name in children]
        return pids if all(pids) else []

    def logs(self) -> str:
        """For messages of tests that failed."""
        found = sorted(self.state.logs.glob("*.log")) if self.state.logs.exists() else []
        return "\n".join(f"== {path.name}\n{path.read_text()[-3000:]}" for path in found)


def wait_for(look: Callable[[], T], seconds: float, *, every: float = 0.1) -> T:
    """What it finds as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing within {seconds} s"
        time.sleep(every)
    return found


@contextmanager
def local_machine(path: Path, program: str = HELIOSTAT) -> Iterator[LocalMachine]:
    """Whatever happens, nothing of it is left: no process, no mount, no file."""
    machine = LocalMachine(path, program)
    try:
        yield machine
    finally:
        machine.heliostat("down", "--purge")
    assert_nothing_left(path)


def _list_processes() -> str:
    return subprocess.run(["ps", "axww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout


def assert_nothing_left(path: Path) -> None:
    wait_for(lambda: str(path) not in _list_processes(), 15)  # the last ones are just ending
    assert str(path) not in Path("/proc/self/mountinfo").read_text()
    assert not path.exists()
