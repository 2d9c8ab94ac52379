"""Controllers that take turns on one machine: one works, the others stand by, and who is killed is replaced at once."""

import contextlib
from pathlib import Path

from embedded.processes.running import ControllersProcess, wait_until


class StandBys:
    """So many processes; the file whose lock they wait for tells who has it."""

    def __init__(self, folder: Path, kubeconfig: Path, *flags: str, size: int) -> None:
        self._folder = folder
        self._kubeconfig = kubeconfig
        self._turn_file = folder / "turn"
        self._flags = (*flags, "--no-leader-elect", f"--turn-file={self._turn_file}")
        self._ends = contextlib.ExitStack()
        self._living: dict[int, ControllersProcess] = {}
        self._started = 0
        self._size = size

    def __enter__(self) -> "StandBys":
        for _ in range(self._size):
            self._start()
        wait_until(lambda: self.find_holder() is not None, "nobody took the turn")
        return self

    def __exit__(self, *_error: object) -> None:
        self._ends.close()

    def kill_holder(self) -> ControllersProcess | None:
        """Who had the turn, now dead and replaced; None: nobody had it."""
        holder = self.find_holder()
        if holder is not None:
            del self._living[holder.pid]
            holder.kill()
            self._start()
        return holder

    def find_holder(self) -> ControllersProcess | None:
        for process in self._living.values():
            assert process.exit_code is None, process.told()
        text = self._turn_file.read_text() if self._turn_file.exists() else ""
        return self._living.get(int(text)) if text.endswith("\n") else None

    def _start(self) -> None:
        self._started += 1
        name = f"controllers-{self._started}"
        process = ControllersProcess(self._folder, self._kubeconfig, *self._flags, name=name)
        self._living[process.pid] = self._ends.enter_context(process)
