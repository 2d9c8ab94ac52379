"""Stop a local Heliostat and everything that runs in its Pods, also what a supervisor that was killed has left."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from heliostat.local.leftovers import end_leftovers
from heliostat.local.state import State, StateError, SupervisorStatus

STOP_SECONDS = 60.0
_POLL_SECONDS = 0.05


class StopError(Exception):
    """It goes on; the text says what."""


def stop_all(state: State, tell: Callable[[str], None] = lambda _words: None) -> bool:
    """Whether there was anything to stop. ``tell`` is what still runs, when that changes."""
    status = state.read_status()
    if status is None:
        return False
    if not state.is_locked():  # the supervisor was stopped, or killed
        return _end_leftovers(state, status)
    os.kill(status.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while state.is_locked() or _is_running(status.pid):
        if time.monotonic() > deadline:
            raise StopError(f"the supervisor (PID {status.pid}) does not end and goes on; see {state.logs}")
        tell(describe_rest(state.read_status()))
        time.sleep(_POLL_SECONDS)
    return True


def describe_rest(status: SupervisorStatus | None) -> str:
    """What still runs of our own processes; they end in the opposite order of their start."""
    running = [child.name for child in status.children if child.pid] if status is not None else []
    return f"still there: {', '.join(running)}" if running else "the last of it ends"


def _end_leftovers(state: State, status: SupervisorStatus) -> bool:
    try:
        with state.lock():
            return end_leftovers(state, status) > 0
    except StateError as error:
        raise StopError(str(error)) from None


def _is_running(pid: int) -> bool:
    """A process that has ended and waits for its parent does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
