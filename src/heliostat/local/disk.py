"""Whether the disk of a state directory is full: then nothing here can be written, and every other word misleads."""

import os
from pathlib import Path

_FULL_BYTES = 256 * 1024


def find_disk_problem(state: Path) -> str:
    """Empty: there is room, or nobody knows."""
    if not is_disk_full(state):
        return ""
    return f"the disk of the state directory {state} is full: free some space there, and everything goes on"


def is_disk_full(state: Path) -> bool:
    try:
        place = os.statvfs(state)
    except OSError:
        return False
    free = (place.f_bavail if os.geteuid() else place.f_bfree) * place.f_frsize  # some of it is root's alone
    return free < _FULL_BYTES
