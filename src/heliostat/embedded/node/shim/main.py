"""The shim: PID 1 of a Pod, in namespaces of its own. It outlives the node that started it.

When it ends, the kernel ends everything in the Pod with it; its mounts were only ever seen in there. A plain one has no
namespaces, and ends everything below it itself.
"""

import contextlib
import os
import resource
import signal
import socket
from pathlib import Path

from heliostat.embedded.node.shim import families, syscalls
from heliostat.embedded.node.shim.loop import Loop
from heliostat.embedded.node.shim.service import Service

_OPEN_FILES = 1_048_576
_NAMESPACES = syscalls.NEW_MOUNTS | syscalls.NEW_PROCESSES | syscalls.NEW_HOSTNAME | syscalls.NEW_IPC


def main(
    directory: str, hostname: str, ready: int, *, host_network: bool, network: str = "", is_plain: bool = False
) -> None:
    """``ready`` is a descriptor that hears the shim's PID, and then that it listens, or why it does not.

    ``network`` is a namespace to live in, as a file; without one it gets its own, or stays in the host's.
    """
    try:
        os.setsid()
        if network:
            syscalls.join_namespace(network, syscalls.NEW_NETWORK)
        if not is_plain:
            syscalls.unshare(_NAMESPACES | (0 if host_network or network else syscalls.NEW_NETWORK))
        pid = os.fork()
        if pid:
            os.write(ready, f"pid {pid}\n".encode())
            os._exit(0)
        if not is_plain:
            _enter_namespaces(hostname)
        _serve(Path(directory), ready, is_plain=is_plain)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(ready, f"failed {error}\n".encode())
        raise


def _enter_namespaces(hostname: str) -> None:
    socket.sethostname(hostname)
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    syscalls.mount("proc", "/proc", "proc")


def _serve(directory: Path, ready: int, *, is_plain: bool) -> None:
    _allow_open_files()
    loop = Loop()
    Service(loop, directory)
    if is_plain:
        syscalls.take_on_orphans()
        signal.signal(signal.SIGTERM, lambda _number, _frame: loop.stop())
    os.write(ready, b"ready\n")
    os.close(ready)
    loop.run()
    if is_plain:  # what the kernel does elsewhere
        families.end_all_below(os.getpid())


def _allow_open_files() -> None:
    """What container engines allow, as far as the system does."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
