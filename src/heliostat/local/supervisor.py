"""Keeps the processes of a local Heliostat alive: control plane, operator, node. Each may die, and comes back.

Rules: the control plane first, and the others once a program has prepared it; what ends by itself is started again
after a pause that grows while it keeps ending; told to stop, they end in the opposite order, then everything that ran
in Pods, so nothing is left. What it does is written down for ``heliostat status``.

It lives as long as everything else and does next to nothing, so it is one thread that waits for signals, on the
standard library alone and little of that: 10 MB where asyncio, msgspec and an HTTP client took 48. What needs more is a
program that it starts and that ends: ``local/preparing.py``, ``local/ending.py``. ``local/assembly.py`` starts it.
"""

import json
import os
import signal
import sys
import time

from heliostat.local import own_group
from heliostat.local.children import Child

STOP_SECONDS = 15.0
LISTEN_SECONDS = 0.2  # between looks at what the preparing program says
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WATCHED = (signal.SIGCHLD, *_STOPS)


class Supervisor:
    """``kept`` are command lines by name, the control plane first; so are those that prepare it and end all Pods."""

    def __init__(
        self, state: str, kept: dict[str, list[str]], preparing: list[str], ending: list[str], *, is_ephemeral: bool
    ) -> None:
        self._state = state
        self._is_ephemeral = is_ephemeral
        self._is_ready = False
        self._is_stopping = False
        self._problem = ""
        self._since = time.time()
        self._first, *self._others = [self._child(name, argv) for name, argv in kept.items()]
        self._preparing = self._child("preparing", preparing)
        self._ending = self._child("ending", ending)

    def run(self) -> None:
        """Until it is told to stop."""
        told, tell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._first.start()
        self._preparing.start(tell)
        self._write()
        while not self._is_stopping:
            self._turn(tell)
            self._listen(told)
        self._end()

    def _child(self, name: str, argv: list[str]) -> Child:
        return Child(name, argv, f"{self._state}/logs/{name}.log")

    def _turn(self, tell: int) -> None:
        """Wait until there is something to do, and do it."""
        due = min(child.due for child in self._running())
        self._wait(due - time.monotonic() if self._is_ready else LISTEN_SECONDS)
        for child in self._running():
            if child.due <= time.monotonic() and not self._is_stopping:
                child.start(tell if child is self._preparing else None)
                self._write()

    def _running(self) -> list[Child]:
        """Those that are started again now when they end."""
        return [self._first, *self._others] if self._is_ready else [self._first, self._preparing]

    def _wait(self, seconds: float) -> None:
        """For a signal, at most so long; whoever has ended is collected, also those whose signals fell into one."""
        heard = signal.sigtimedwait(_WATCHED, max(0.0, min(seconds, 3600.0)))
        if heard is not None and heard.si_signo in _STOPS:
            self._is_stopping = True
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self._collect(pid, os.waitstatus_to_exitcode(status))

    def _collect(self, pid: int, code: int) -> None:
        for child in (self._first, *self._others, self._preparing, self._ending):
            if child.pid == pid:
                child.note_end(code)
                if child is self._preparing and code == 0 and not self._is_stopping:
                    self._get_going()
                self._write()
                return

    def _listen(self, told: int) -> None:
        """What is in the way of preparing, in the words of the program that does it."""
        try:
            words = os.read(told, 65536).decode(errors="replace").strip()
        except BlockingIOError:
            return
        if words:
            self._problem = words.splitlines()[-1]
            self._write()

    def _get_going(self) -> None:
        self._problem, self._is_ready = "", True
        for child in self._others:
            child.start()

    def _end(self) -> None:
        for child in (self._preparing, *reversed(self._others)):
            self._stop(child)
        self._ending.start()
        while self._ending.pid:
            self._wait(STOP_SECONDS)
        self._stop(self._first)
        own_group.leave()
        self._is_ready = False
        self._write()
        if self._is_ephemeral:
            from pathlib import Path  # noqa: PLC0415  only now, for good

            from heliostat.embedded.doors.files import remove_tree  # noqa: PLC0415

            remove_tree(Path(self._state))

    def _stop(self, child: Child) -> None:
        """TERM, and KILL for what does not end in time."""
        child.signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while child.pid:
            self._wait(deadline - time.monotonic())
            if time.monotonic() > deadline:
                child.signal(signal.SIGKILL)
                deadline = time.monotonic() + STOP_SECONDS

    def _write(self) -> None:
        """As ``state.SupervisorStatus`` reads it."""
        status = {
            "pid": os.getpid(),
            "since": self._since,
            "is_ready": self._is_ready,
            "is_ephemeral": self._is_ephemeral,
            "problem": self._problem,
            "children": [child.status() for child in (self._first, *self._others)],
        }
        path = f"{self._state}/supervisor.json"
        try:
            with open(f"{path}.new", "w") as file:  # noqa: PTH123  pathlib takes a megabyte
                json.dump(status, file)
            os.replace(f"{path}.new", path)  # noqa: PTH105
        except OSError:
            return  # a full disk costs the news, not the processes


def main() -> None:
    """The only argument is ``assembly.Orders`` as JSON."""
    orders = json.loads(sys.argv[1])
    os.set_inheritable(orders.pop("lock"), False)  # held by this process alone, so that it goes with it
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    Supervisor(**orders).run()
