"""Ending all that a command has started: the processes of its session, wherever in the tree they are by now."""

import os
import signal
from pathlib import Path

_MOST_ROUNDS = 50  # what is killed may have forked just before


def kill_session(leader: int) -> None:
    """As this process sees PIDs. The leader may not have made the session yet, so it is killed by itself, too."""
    _kill(leader)
    for _ in range(_MOST_ROUNDS):
        members = [pid for pid in _processes() if _lives_in(pid, leader)]
        if not members:
            return
        for pid in members:
            _kill(pid)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _lives_in(pid: int, session: int) -> bool:
    try:
        state, _parent, _group, of, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(of) == session and state not in "ZX"


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
