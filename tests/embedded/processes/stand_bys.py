"""Processes that take turns on one machine: one works, the others stand by, and who is killed is replaced at once."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from embedded.processes.running import Running, wait_until

P = TypeVar("P", bound=Running)


class StandBys(Generic[P]):
    """So many processes; ``turn_file``, whose lock they wait for, tells who has it. ``start`` gives each its name."""

    def __init__(self, turn_file: Path, start: Callable[[str], P], *, size: int) -> None:
        self._turn_file = turn_file
        self._start_one = start
        self._ends = contextlib.ExitStack()
        self._living: dict[int, P] = {}
        self._started = 0
        self._size = size

    def __enter__(self) -> "StandBys[P]":
        for _ in range(self._size):
            self._start()
        wait_until(lambda: self.find_holder() is not None, "nobody took the turn")
        return self

    def __exit__(self, *_error: object) -> None:
        self._ends.close()

    def kill_holder(self) -> P | None:
        """Who had the turn, now dead and replaced; None: nobody had it."""
        holder = self.find_holder()
        if holder is not None:
            del self._living[holder.pid]
            holder.kill()
            self._start()
        return holder

    def find_holder(self) -> P | None:
        for process in self._living.values():
            assert process.exit_code is None, process.told()
        text = self._turn_file.read_text() if self._turn_file.exists() else ""
        return self._living.get(int(text)) if text.endswith("\n") else None

    def _start(self) -> None:
        self._started += 1
        process = self._start_one(f"stand-by-{self._started}")
        self._ends.enter_context(process)
        self._living[process.pid] = process
