"""``heliostat down``: stops what ``heliostat up`` started, and everything that ran in Pods."""

import argparse
import os
import signal
import time
from pathlib import Path

from heliostat.cli.errors import CommandError
from heliostat.local.leftovers import end_leftovers
from heliostat.local.state import State, StateError, SupervisorStatus, default_state

STOP_SECONDS = 60.0


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heliostat down", description="Stop the local Kubernetes and everything that runs in its Pods."
    )
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    parser.add_argument("--purge", action="store_true", help="also remove the state directory: objects, volumes, logs")
    options = parser.parse_args(arguments)
    state = State((options.state or default_state()).absolute())
    was_up = stop(state)
    if options.purge and state.path.exists():
        state.remove()
    print(("down" if was_up else "it was not up") + (", and nothing is kept" if options.purge else ""))
    return 0


def _is_running(pid: int) -> bool:
    """A process that has ended and waits for its parent does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _end_leftovers(state: State, status: SupervisorStatus) -> bool:
    try:
        with state.lock():
            return end_leftovers(state, status) > 0
    except StateError as error:
        raise CommandError(str(error), 1) from None


def stop(state: State) -> bool:
    """Whether there was anything to stop."""
    status = state.read_status()
    if status is None:
        return False
    if not state.is_locked():  # the supervisor was stopped, or killed
        return _end_leftovers(state, status)
    os.kill(status.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while state.is_locked() or _is_running(status.pid):
        if time.monotonic() > deadline:
            raise CommandError(f"the supervisor (PID {status.pid}) does not end; see {state.logs}", 1)
        time.sleep(0.05)
    return True
