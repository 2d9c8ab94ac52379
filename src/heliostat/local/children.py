"""A process that the supervisor keeps: how it is started, how it ended, and when it is to be started again.

The standard library alone and little of that, as in ``supervisor.py``.
"""

import os
import signal
import time

from heliostat.local import own_group
from heliostat.local.child_environment import THRIFT, tell_earlier_life

FIRST_PAUSE = 0.2  # seconds; twice as long after each end that follows soon
LONGEST_PAUSE = 10.0
STABLE_SECONDS = 30.0
NEVER = float("inf")
_CANNOT_START = 127

# Buffers of a large list or definition go back to the system when they are done with. By default the first large one
# that is freed makes glibc keep all up to its size; with the ray.io definitions that is 3 MB of the control plane.
MEMORY_SETTINGS = {
    THRIFT: "1",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
}


class Child:
    """Started when it is ``due``, on the monotonic clock; a ``pid`` of 0 tells that it does not run."""

    def __init__(self, name: str, argv: list[str], log: str) -> None:
        self.pid = 0
        self.due = NEVER
        self._name = name
        self._argv = argv
        self._log = log
        self._changed = 0.0
        self._restarts = 0
        self._last_exit = ""
        self._ended: float | None = None  # on the monotonic clock, which all processes share
        self._soon_ends = 0  # one after the other

    def start(self, words: int | None = None) -> None:
        """``words`` is a descriptor that takes what it prints; the log takes the rest."""
        environment = {**MEMORY_SETTINGS, **os.environ, **tell_earlier_life(self._ended)}
        pid = os.fork()
        if not pid:
            _become(self._argv, environment, self._log, words)
        self.pid, self.due, self._changed = pid, NEVER, time.time()

    def note_end(self, code: int) -> None:
        """It is to be started again, after a pause."""
        is_soon = time.time() - self._changed <= STABLE_SECONDS
        self._soon_ends = self._soon_ends + 1 if is_soon else 0
        self.due = time.monotonic() + min(FIRST_PAUSE * 2.0 ** max(0, self._soon_ends - 1), LONGEST_PAUSE)
        self.pid, self._changed, self._ended = 0, time.time(), time.monotonic()
        self._restarts += 1
        self._last_exit = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def signal(self, number: int) -> None:
        """Its number cannot be another's: it is ours until we have collected it."""
        if self.pid:
            os.kill(self.pid, number)

    def status(self) -> dict[str, object]:
        """As ``state.ChildStatus`` reads it."""
        return {
            "name": self._name,
            "pid": self.pid,
            "since": self._changed,
            "restarts": self._restarts,
            "last_exit": self._last_exit,
        }


def _become(argv: list[str], environment: dict[str, str], log: str, words: int | None) -> None:
    """In a forked child; never comes back. Its session is its own: a Ctrl-C at the terminal is for the supervisor."""
    try:
        os.setsid()
        own_group.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        errors = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(errors if words is None else words, 1)
        os.dup2(errors, 2)
        os.execve(argv[0], argv, environment)  # noqa: S606
    except OSError as error:
        os.write(2, f"{argv[0]} could not be started: {error}\n".encode())
    finally:
        os._exit(_CANNOT_START)
