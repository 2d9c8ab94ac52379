"""What a killed supervisor has left is ended, however stubborn, and nobody else's process is."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heliostat.local.leftovers import end_leftovers, end_processes
from heliostat.local.state import ChildStatus, State, SupervisorStatus, open_state

STAYS = "echo ready; while :; do sleep 0.02; done"
REFUSES = f"trap '' TERM; {STAYS}"


@pytest.fixture
def state(tmp_path: Path) -> State:
    return open_state(tmp_path / "state")


@contextmanager
def running(script: str, *shown: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that shows these arguments, once it says that it is ready."""
    process = subprocess.Popen(["/bin/sh", "-c", script, *shown], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as words:
        assert words.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def told_of(*pids: int) -> SupervisorStatus:
    return SupervisorStatus(
        pid=1, since=0.0, is_ready=True, children=tuple(ChildStatus("any", pid, 1.0) for pid in pids)
    )


def test_its_processes_end(state: State) -> None:
    with (
        running(STAYS, "heliostat.cli", str(state.path)) as one,
        running(STAYS, "heliostat.cli", str(state.path)) as two,
    ):
        assert end_leftovers(state, told_of(one.pid, 0, two.pid)) == 2
        assert [one.wait(), two.wait()] == [-signal.SIGTERM, -signal.SIGTERM]


def test_one_that_does_not_listen_is_killed(state: State) -> None:
    with running(REFUSES, "heliostat.cli", str(state.path)) as process:
        assert end_processes(state, told_of(process.pid), seconds=0.1) == 1
        assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("shown", [("another program",), ("heliostat.cli", "/of/another/directory")])
def test_a_process_that_has_the_number_by_now_is_left_alone(state: State, shown: tuple[str, ...]) -> None:
    with running(STAYS, *shown) as process:
        assert end_leftovers(state, told_of(process.pid)) == 0
        assert process.poll() is None


def test_where_nothing_ran_there_is_nothing_to_end(state: State) -> None:
    assert end_leftovers(state, None) == 0
    assert end_leftovers(state, told_of()) == 0
