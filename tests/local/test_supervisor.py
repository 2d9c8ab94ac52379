"""The supervisor as a process: what it starts and in which order, what comes back, and that nothing stays."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heliostat.local.assembly import Orders, build_supervisor_command
from heliostat.local.state import ChildStatus, State, SupervisorStatus, open_state

pytestmark = pytest.mark.slow

SECONDS = 20.0
PREPARES = "until grep -qs 'server up' words; do sleep 0.02; done; echo prepared >> words"
STAYS = "trap 'echo {0} down >> words; exit 0' TERM; echo {0} up >> words; while :; do sleep 0.02; done"


def wait_for(is_there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_there():
        assert time.monotonic() < deadline, f"not within {SECONDS} s: {what}"
        time.sleep(0.01)


class Supervised:
    """A supervisor over shell programs, each of which tells in a file that it is up and that it is asked to end."""

    def __init__(self, state: State, process: "subprocess.Popen[bytes]") -> None:
        self.state = state
        self.process = process

    def words(self) -> list[str]:
        file = self.state.path / "words"
        return file.read_text().splitlines() if file.exists() else []

    def status(self) -> SupervisorStatus:
        status = self.state.read_status()
        return status or SupervisorStatus(pid=0, since=0.0)

    def child(self, name: str) -> ChildStatus:
        return next((child for child in self.status().children if child.name == name), ChildStatus(name, 0, 0.0))

    def wait_until_ready(self) -> None:
        wait_for(lambda: self.status().is_ready and len(self.words()) >= 4, "all are up")

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        assert self.process.wait(SECONDS) == 0


@pytest.fixture
def state(tmp_path: Path) -> State:
    return open_state(tmp_path / "state")


@contextmanager
def supervised(state: State, *, preparing: str = PREPARES, is_ephemeral: bool = False) -> Iterator[Supervised]:
    def shell(script: str) -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"cd {state.path}; {script}")

    with state.lock() as lock:
        orders = Orders(
            state=str(state.path),
            lock=lock.fileno(),
            kept={name: shell(STAYS.format(name)) for name in ("server", "operator", "node")},
            preparing=shell(preparing),
            ending=shell("echo ended >> words"),
            is_ephemeral=is_ephemeral,
        )
        process = subprocess.Popen(build_supervisor_command(orders), pass_fds=(lock.fileno(),))
    try:
        yield Supervised(state, process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(SECONDS)


def test_the_others_begin_once_the_first_is_prepared_and_end_in_the_opposite_order(state: State) -> None:
    with supervised(state) as machine:
        machine.wait_until_ready()
        words = machine.words()
        assert words[:2] == ["server up", "prepared"]
        assert {*words[2:]} == {"operator up", "node up"}
        machine.stop()
        assert machine.words()[4:] == ["node down", "operator down", "ended", "server down"]
    assert not machine.status().is_ready
    assert [child.pid for child in machine.status().children] == [0, 0, 0]
    assert not state.is_locked()


@pytest.mark.parametrize("name", ["server", "operator", "node"])
def test_what_was_killed_comes_back_and_is_told_of(state: State, name: str) -> None:
    with supervised(state) as machine:
        machine.wait_until_ready()
        before = machine.child(name)
        os.kill(before.pid, signal.SIGKILL)
        wait_for(lambda: machine.words().count(f"{name} up") == 2 and machine.child(name).pid != 0, "it is back")
        after = machine.child(name)
        assert (after.restarts, after.last_exit) == (1, "killed by SIGKILL")
        assert after.pid != before.pid
        assert machine.status().is_ready


def test_what_is_in_the_way_of_preparing_is_its_problem(state: State) -> None:
    preparing = "echo cannot reach it; while ! [ -e go ]; do sleep 0.02; done; echo prepared >> words"
    with supervised(state, preparing=preparing) as machine:
        wait_for(lambda: machine.status().problem == "cannot reach it", "the problem is told")
        assert not machine.status().is_ready
        (state.path / "go").touch()
        machine.wait_until_ready()
        assert not machine.status().problem


def test_preparing_that_fails_is_tried_again(state: State) -> None:
    with supervised(state, preparing="[ -e tried ] || { touch tried; exit 1; }; echo prepared >> words") as machine:
        machine.wait_until_ready()
        assert machine.words().count("prepared") == 1


def test_it_can_be_stopped_before_anything_is_ready(state: State) -> None:
    with supervised(state, preparing="while :; do sleep 0.02; done") as machine:
        wait_for(lambda: machine.words() == ["server up"], "the first is up")
        machine.stop(signal.SIGINT)
        assert machine.words() == ["server up", "ended", "server down"]


def test_an_ephemeral_one_leaves_nothing(state: State) -> None:
    with supervised(state, is_ephemeral=True) as machine:
        machine.wait_until_ready()
        machine.stop()
    assert not state.path.exists()


def test_the_lock_goes_with_it_though_its_processes_stay(state: State) -> None:
    with supervised(state) as machine:
        machine.wait_until_ready()
        left = [child.pid for child in machine.status().children]
        try:
            assert state.is_locked()
            machine.process.kill()
            machine.process.wait(SECONDS)
            assert not state.is_locked()
        finally:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
