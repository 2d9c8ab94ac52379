"""Who keeps the infra namespace: a process that sleeps in it, so that the namespace outlives the node.

It is the system's own ``sleep``, which is 2 MB where a shim is 11, and a bare Python where there is none. It is known
by its directory, as a shim is.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.node.isolating.sandbox import find_shim, note_shim
from heliostat.embedded.node.network.namespaces import NamespaceVisitor

_FOREVER = "2147483647"  # seconds; not every sleep knows infinity
_LOOK_SECONDS = 0.002


class Holder(Struct, frozen=True):
    pid: int

    async def stop(self) -> None:
        """The namespace goes with it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        while _lives(self.pid):
            await asyncio.sleep(_LOOK_SECONDS)
        with contextlib.suppress(ChildProcessError):  # an earlier life of the node may have started it
            os.waitpid(self.pid, os.WNOHANG)


def find_holder(directory: Path) -> Holder | None:
    """The one that an earlier life of the node has started, if it is still there."""
    pid = find_shim(directory)
    return Holder(pid) if pid is not None and _lives(pid) else None


async def start_holder(directory: Path, visitor: NamespaceVisitor, path: str = os.defpath) -> Holder:
    """``path`` is where the system's programs are."""
    pid = await visitor.visit_new(lambda: _start_sleeping(shutil.which("sleep", path=path)))
    note_shim(directory, pid)
    return Holder(pid)


def _start_sleeping(sleep: str | None) -> int:
    """A process is born where the thread is that makes it. In a group of its own a Ctrl-C does not reach it."""
    command = ["sleep", _FOREVER] if sleep else [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"]
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    return os.posix_spawn(sleep or sys.executable, command, {}, file_actions=nothing, setpgroup=0)


def _lives(pid: int) -> bool:
    """What has ended and was not collected yet holds nothing any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
