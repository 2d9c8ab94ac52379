"""What a supervisor that was killed has left behind: its processes, and whatever runs in Pods.

All of it ends before another begins: two control planes would fight for one store, and two nodes for the same Pods.
"""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from heliostat.embedded.doors.leftovers import end_all_pods
from heliostat.local.state import State, SupervisorStatus

STOP_SECONDS = 15.0
_LOOK_SECONDS = 0.02


def end_leftovers(state: State, told: SupervisorStatus | None) -> int:
    """How many there were. ``told`` is what the last supervisor has written; whoever calls holds the lock."""
    ended = end_processes(state, told) if told is not None else 0
    return ended + asyncio.run(end_all_pods(state.node))


def has_leftovers(state: State) -> bool:
    """Whether processes of the last supervisor still run."""
    told = state.read_status()
    return told is not None and any(_is_ours(child.pid, state) for child in told.children)


def end_processes(state: State, told: SupervisorStatus, seconds: float = STOP_SECONDS) -> int:
    """TERM, and KILL for what does not end in time."""
    left = found = [child.pid for child in told.children if _is_ours(child.pid, state)]
    _signal(left, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while left := [pid for pid in left if _is_ours(pid, state)]:
        if time.monotonic() > deadline:
            _signal(left, signal.SIGKILL)
        time.sleep(_LOOK_SECONDS)
    return len(found)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _is_ours(pid: int, state: State) -> bool:
    """Another process may have its number by now. One that has ended shows no command line."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"heliostat.cli" in arguments and os.fsencode(state.path) in arguments
