"""``heliostat up`` as a process, when it cannot work: it says why within seconds, and nothing goes on."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.typed_commands import EXAMPLE, write
from embedded.processes.running import wait_until
from heliostat.local.ports import HOST
from heliostat.local.starting import Started, give_up, start_in_background
from heliostat.local.state import State, open_state
from local.small_disk import fill, small_disk

pytestmark = pytest.mark.slow

SECONDS = 40.0  # of a busy machine; what is looked for takes one or two


class Machine:
    def __init__(self, path: Path) -> None:
        self.state = State(path)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "heliostat.cli", *arguments, f"--state={self.state.path}"]

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "state")
    yield machine
    machine("down", "--purge")


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen(1)
        yield other.getsockname()[1]


def processes_in(path: Path) -> list[str]:
    shown = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in shown.splitlines() if str(path) in line]


def test_a_port_that_is_taken_is_named_and_nothing_goes_on(machine: Machine, taken: int) -> None:
    result = machine("up", f"--port={taken}")
    assert result.returncode == 1
    assert result.stderr.startswith(f"heliostat up: port {taken} of 127.0.0.1 is taken by another program")
    assert result.stderr.endswith("; nothing was started\n")
    assert not machine.state.is_locked()
    assert processes_in(machine.state.path) == []


def test_a_port_that_is_taken_is_named_in_the_foreground_too(machine: Machine, taken: int) -> None:
    result = machine("up", f"--port={taken}", "--foreground")
    assert result.returncode == 1
    assert f"heliostat up: port {taken} of 127.0.0.1 is taken by another program" in result.stderr
    assert processes_in(machine.state.path) == []


def test_the_last_words_of_a_control_plane_that_ends_are_the_reason(machine: Machine) -> None:
    open_state(machine.state.path)
    machine.state.server.mkdir()
    machine.state.server.chmod(0o755)
    result = machine("up")
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert f"other users can reach it (mode 0755); run: chmod 700 {machine.state.server}" in result.stderr
    assert processes_in(machine.state.path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_full_is_the_reason_also_where_nothing_can_be_logged(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m"):
        machine = Machine(tmp_path / "disk" / "state")
        open_state(machine.state.path)
        fill(tmp_path / "disk")
        result = machine("up")
        told = f"heliostat up: the disk of the state directory {machine.state.path} is full: free some space there; "
        assert (result.returncode, result.stderr.splitlines()[-1].startswith(told)) == (1, True), result.stderr
        assert processes_in(machine.state.path) == []


def test_up_says_where_the_dashboards_of_clusters_that_are_there_are(machine: Machine, tmp_path: Path) -> None:
    """The address is there before the cluster is: until its head runs it tells why it does not."""
    assert machine("up").returncode == 0
    headless = EXAMPLE.read_text().replace("rayproject/ray:", "example.com/nobody:")
    assert machine("apply", write(tmp_path, headless)).returncode == 0
    again = machine("up")
    found = re.search(r"^dashboard of RayCluster hello: (http://127\.0\.0\.1:\d+)$", again.stdout, re.MULTILINE)
    assert found is not None, again.stdout + again.stderr
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(found[1], timeout=SECONDS)  # noqa: S310  our own address
    machine("down", "--purge")
    wait_until(lambda: not processes_in(machine.state.path), "the address outlives the supervisor", SECONDS)


def test_what_is_not_ready_in_time_is_stopped(machine: Machine) -> None:
    result = machine("up", "--timeout=0.05")
    assert result.returncode == 1
    assert "not ready after 0.05 s (--timeout)" in result.stderr
    assert "nothing goes on" in result.stderr
    assert processes_in(machine.state.path) == []


def test_an_interrupt_while_it_starts_stops_what_was_started(machine: Machine) -> None:
    process = subprocess.Popen(machine.command("up"), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("… starting a Kubernetes on this machine")
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert processes_in(machine.state.path) == []


def test_an_interrupt_before_the_new_process_is_noted_does_not_lose_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, made = Started(open_state(machine.state.path)), subprocess.Popen

    def interrupted_right_after(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
        process = made(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr(subprocess, "Popen", interrupted_right_after)
    with pytest.raises(KeyboardInterrupt):
        start_in_background(started, ())
    monkeypatch.undo()
    assert give_up(started) == "it was stopped, and nothing goes on"
    assert processes_in(machine.state.path) == []


def test_an_interrupt_of_run_while_it_starts_stops_what_was_started(machine: Machine) -> None:
    process = subprocess.Popen(machine.command("run", str(EXAMPLE)), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("… starting a Kubernetes on this machine")
    wait_until(machine.state.is_locked, "the supervisor has not begun", SECONDS)  # it is ready much later
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err.rstrip().endswith("it was stopped, and nothing goes on")
    assert processes_in(machine.state.path) == []
