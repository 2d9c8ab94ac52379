"""Start a local Heliostat in the background and wait until it is ready, or until it is clear that it will not be.

A control plane that ends by itself before it was ever ready will end again: its last words are the reason. What does
not get ready is stopped, so that nothing goes on behind the back of somebody who was told that it failed.
"""

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from heliostat.local.disk import is_disk_full
from heliostat.local.state import ChildStatus, State, SupervisorStatus
from heliostat.local.stopping import StopError, stop_all

READY_SECONDS = 60.0
_POLL_SECONDS = 0.05
_MOST_BYTES = 64 * 1024  # of a log that are looked at
_FIRST = "control-plane"
_PROGRAM = re.compile(r"^heliostat( \w+)?: ")  # which of ours has said it


class StartError(Exception):
    """It is not up; the text says why, and whether something goes on."""


class Started:
    """A supervisor of ours, and how much of each log is older than it; without one, somebody else's that is waited
    for."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.process: subprocess.Popen[bytes] | None = None
        self.begun = time.time()
        self._old = {path.name: path.stat().st_size for path in state.logs.glob("*.log")}

    def read_last_words(self, name: str) -> str:
        """The last line that a process of ours has written since; empty when it has written nothing."""
        path = self.state.logs / f"{name}.log"
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(self._old.get(path.name, 0), size - _MOST_BYTES))
                lines = file.read().decode(errors="replace").split("\n")
        except OSError:
            return ""
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return _PROGRAM.sub("", last)


def start_in_background(started: Started, arguments: Sequence[str]) -> None:
    state = started.state
    command = [sys.executable, "-m", "heliostat.cli", "up", "--foreground", f"--state={state.path}", *arguments]
    with (state.logs / "supervisor.log").open("ab") as log, _interrupts_wait():
        started.process = subprocess.Popen(  # noqa: S603  our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=tempfile.gettempdir(),
        )


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C takes effect at the end: a process that exists and that nobody has noted yet could not be stopped."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def wait_until_ready(started: Started, seconds: float, tell: Callable[[str], None]) -> None:
    """``tell`` is what it waits for, when that changes. Raises StartError; what was started is stopped then."""
    deadline, told = time.monotonic() + seconds, ""
    while True:
        status = _read_status(started)
        if status is not None and status.is_ready:
            return
        failure = _find_failure(started, status)
        if failure and is_disk_full(started.state.path):
            failure = f"the disk of the state directory {started.state.path} is full: free some space there"
        if failure:
            raise StartError(f"{failure}; {give_up(started)}")
        words = _describe(status)
        if words != told:
            tell(words)
            told = words
        if time.monotonic() > deadline:
            what_now = f"{give_up(started)}{_tell_logs(started)}"
            raise StartError(f"not ready after {seconds:g} s (--timeout): {words}; {what_now}")
        time.sleep(_POLL_SECONDS)


def _read_status(started: Started) -> SupervisorStatus | None:
    """None: the one that there is was written by a supervisor before."""
    status = started.state.read_status()
    if status is None or not started.state.is_locked():
        return None
    return status if started.process is None or status.since >= started.begun - 1.0 else None


def _find_failure(started: Started, status: SupervisorStatus | None) -> str:
    """Empty while there is hope."""
    if started.process is not None and started.process.poll() is not None:
        return started.read_last_words("supervisor") or f"the supervisor ended with {started.process.returncode}"
    if started.process is None and not started.state.is_locked():
        return "it was stopped while it started"
    child = _first_child(status)
    if child is None or not child.last_exit.startswith("exit code"):
        return ""  # who was killed comes back
    return started.read_last_words(_FIRST) or f"the control plane ended with {child.last_exit}"


def _first_child(status: SupervisorStatus | None) -> ChildStatus | None:
    return next((child for child in status.children if child.name == _FIRST), None) if status is not None else None


def _describe(status: SupervisorStatus | None) -> str:
    if status is None:
        return "the supervisor starts"
    return f"the control plane starts ({status.problem})" if status.problem else "the control plane starts"


def _tell_logs(started: Started) -> str:
    logs = started.state.logs
    return f"; its logs are in {logs}" if logs.exists() else ""


def give_up(started: Started) -> str:
    """Stop it, and say what has become of it. A supervisor that somebody else has started is left alone."""
    if started.process is None:
        return "somebody else has started it and it goes on: heliostat down stops it"
    try:
        stop_all(started.state)
    except StopError as error:
        return str(error)
    if started.process.poll() is None:
        started.process.terminate()
        started.process.wait()
    return "it was stopped, and nothing goes on"
