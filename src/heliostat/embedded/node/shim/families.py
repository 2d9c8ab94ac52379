"""Everything below a process, for containers without a PID namespace: nothing that they start gets away or stays.

The first process of such a container takes on all orphans below it, so that its family is whole, and ends them on
``END``, which the kernel also sends it when the shim dies.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from heliostat.embedded.node.shim import syscalls

END = signal.SIGRTMIN
_MOST_ROUNDS = 50  # what is killed may have forked just before


def lead_family() -> None:
    """From here on this process is responsible for all below it."""
    signal.signal(END, lambda _number, _frame: end_all_below(os.getpid()))
    syscalls.take_on_orphans()
    syscalls.hear_end_of_parent(END)


def end_all_below(pid: int) -> None:
    for _ in range(_MOST_ROUNDS):
        members = list(_below(pid))
        if not members:
            return
        for member in members:
            _kill(member)


def _below(pid: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for process, parent in _living():
        children.setdefault(parent, []).append(process)
    todo = [pid]
    while todo:
        found = children.get(todo.pop(), [])
        todo += found
        yield from found


def _living() -> Iterator[tuple[int, int]]:
    """Every process with its parent; one that only waits to be collected is no more."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if state not in "ZX":
                yield int(entry.name), int(parent)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # gone, or a program of somebody else by now
        return
