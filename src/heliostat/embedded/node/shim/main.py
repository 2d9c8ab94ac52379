"""The shim: PID 1 of a Pod, in namespaces of its own. It outlives the node that started it.

When it ends, the kernel ends everything in the Pod with it; its mounts were only ever seen in there.
"""

import contextlib
import os
import resource
import socket
from pathlib import Path

from heliostat.embedded.node.shim import syscalls
from heliostat.embedded.node.shim.loop import Loop
from heliostat.embedded.node.shim.service import Service

_OPEN_FILES = 1_048_576
_NAMESPACES = syscalls.NEW_MOUNTS | syscalls.NEW_PROCESSES | syscalls.NEW_HOSTNAME | syscalls.NEW_IPC


def main(directory: str, hostname: str, ready: int, *, host_network: bool) -> None:
    """``ready`` is a descriptor that hears the shim's PID, and then that it listens, or why it does not."""
    try:
        os.setsid()
        syscalls.unshare(_NAMESPACES | (0 if host_network else syscalls.NEW_NETWORK))
        pid = os.fork()
        if pid:
            os.write(ready, f"pid {pid}\n".encode())
            os._exit(0)
        _become_first(Path(directory), hostname, ready)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(ready, f"failed {error}\n".encode())
        raise


def _become_first(directory: Path, hostname: str, ready: int) -> None:
    socket.sethostname(hostname)
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    syscalls.mount("proc", "/proc", "proc")
    _allow_open_files()
    loop = Loop()
    Service(loop, directory)
    os.write(ready, b"ready\n")
    os.close(ready)
    loop.run()


def _allow_open_files() -> None:
    """What container engines allow, as far as the system does."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
