"""Ray as people start it by hand, in namespaces of its own: ``ray start --head``, ``ray job submit``, and the end.

Ports of others do not matter there, and when the first process ends the kernel ends everything that Ray has started.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from heliostat.embedded.node.network.netlink import Netlink
from heliostat.embedded.node.shim import syscalls

_NAMESPACES = syscalls.NEW_NETWORK | syscalls.NEW_PROCESSES | syscalls.NEW_MOUNTS | syscalls.NEW_IPC


def main(temporary: str, *command: str) -> int:
    """Run from the directory that is sent along."""
    syscalls.unshare(_NAMESPACES)
    first = os.fork()
    if first:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
        return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    syscalls.mount("proc", "/proc", "proc")
    syscalls.mount("shm", "/dev/shm", "tmpfs", options="mode=1777")  # noqa: S108
    netlink = Netlink()
    netlink.set_up("lo")
    netlink.close()
    os._exit(_run(temporary, command))


def _run(temporary: str, command: tuple[str, ...]) -> int:
    ray = str(Path(sys.executable).with_name("ray"))
    start = [
        ray,
        "start",
        "--head",
        "--node-ip-address=127.0.0.1",
        "--num-cpus=2",
        f"--temp-dir={temporary}",
        "--disable-usage-stats",
    ]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    submit = [ray, "job", "submit", "--address=http://127.0.0.1:8265", "--working-dir=.", "--", *command]
    return subprocess.run(submit, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
