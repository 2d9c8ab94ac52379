"""A user without any rights, for tests that run as root: its own directory, and an interpreter it may read.

Run as a program it becomes that user and then the command it is given. Where the interpreter lies in a directory that
only root may enter, the user sees that directory open, in a mount namespace that ends with the command.
"""

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Any

from msgspec import Struct

from heliostat.embedded.node.network.netlink import Netlink
from heliostat.embedded.node.shim import syscalls

USER = 12345
SECONDS = 90.0
_HOMES = "heliostat-user-"
_PR_SET_DUMPABLE = 4
_TO_PACKAGES = ("SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL", "UV_DEFAULT_INDEX")  # variables that say the way
Tree = dict[str, Any]

HELIOSTAT = (sys.executable, "-m", "heliostat.cli")


class Unprivileged(Struct, frozen=True):
    """``home`` is the one place where it may write."""

    home: Path
    forbids_namespaces: bool = False  # as some systems do
    has_overlays: bool = True  # in its home; not every system has them there
    is_offline: bool = False  # each command in a network of its own, for what would listen on that of the machine

    @property
    def state(self) -> Path:
        return self.home / "state"

    def command(self, *arguments: str) -> list[str]:
        wanted = {
            "--forbid-namespaces": self.forbids_namespaces,
            "--forbid-overlays": not self.has_overlays,
            "--offline": self.is_offline,
        }
        flags = [flag for flag, is_wanted in wanted.items() if is_wanted]
        return [sys.executable, str(Path(__file__)), *flags, "--", *arguments]

    def environment(self) -> Mapping[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", *_TO_PACKAGES) if name in os.environ}
        return {**kept, "HOME": str(self.home), "HELIOSTAT_STATE": str(self.state)}

    def run(self, *arguments: str, seconds: float = 120.0) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*arguments),
            env=self.environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def heliostat(self, *arguments: str, seconds: float = 120.0) -> "subprocess.CompletedProcess[str]":
        return self.run(*HELIOSTAT, *arguments, seconds=seconds)

    def kubectl(self, *arguments: str, data: str = "") -> str:
        """What it says, as anybody who has the kubeconfig."""
        done = subprocess.run(
            ["kubectl", f"--kubeconfig={self.state / 'kubeconfig'}", *arguments],
            input=data,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return done.stdout + done.stderr

    def create(self, tree: Tree) -> None:
        said = self.kubectl("create", "-f", "-", data=json.dumps({"apiVersion": "v1", **tree}))
        assert said.endswith("created\n"), said

    def inside(self, pod: str, script: str) -> str:
        """Once it runs: no test may count on another one to have waited."""
        self.await_pod(pod, lambda tree: tree["status"].get("phase") == "Running")
        return self.kubectl("exec", pod, "--", "/bin/sh", "-c", script).strip()

    def pod(self, name: str) -> Tree:
        pod: Tree = json.loads(self.kubectl("get", "pod", name, "-o", "json"))
        return pod

    def await_pod(self, name: str, test: Callable[[Tree], Any]) -> Tree:
        found: Tree = {}

        def holds() -> bool:
            found.update(self.pod(name))
            return bool(test(found))

        until(holds, lambda: f"{name}: {found.get('status')}; {self.node_log()}")
        return found

    def node_log(self) -> str:
        return (self.state / "logs" / "node.log").read_text()[-3000:]


def until(test: Callable[[], Any], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + SECONDS
    while not test():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.05)


def is_running(pod: Tree) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def find_processes() -> list[str]:
    """The command lines of all that the user runs."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and entry.stat().st_uid == USER and _is_alive(entry):
                found.append((entry / "cmdline").read_text().replace("\0", " ").strip())
        except OSError:
            continue
    return found


def _is_alive(entry: Path) -> bool:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"


@contextmanager
def unprivileged(
    *, forbids_namespaces: bool = False, has_overlays: bool = True, is_offline: bool = False
) -> Iterator[Unprivileged]:
    """Beneath a directory that everybody may enter, unlike those that pytest makes."""
    home = Path(tempfile.mkdtemp(prefix=_HOMES))
    os.chown(home, USER, USER)
    user = Unprivileged(home, forbids_namespaces, has_overlays, is_offline)
    try:
        yield user
    finally:
        user.heliostat("down", "--purge")
        until(lambda: not find_processes(), lambda: f"still running: {find_processes()}")
        left = [str(path) for path in (user.state, *find_temporary_files()) if path.exists()]
        shutil.rmtree(home)
    assert left == []


def find_temporary_files() -> list[Path]:
    """What Pods of the user have in the machine's temporary directory."""
    found = Path(tempfile.gettempdir()).glob("heliostat-*")
    return [path for path in found if path.stat().st_uid == USER and not path.name.startswith(_HOMES)]


def main(arguments: list[str]) -> None:
    at = arguments.index("--")
    flags, command = arguments[:at], arguments[at + 1 :]
    _open_way_to(Path(sys.executable).resolve())
    if "--forbid-overlays" in flags:
        _forbid_overlays(Path(os.environ["HOME"]))
    if "--offline" in flags:
        _leave_network()
    os.setgroups(())
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    if "--forbid-namespaces" in flags:
        _forbid_namespaces()
    os.execve(command[0], command, os.environ)  # noqa: S606


def _open_way_to(program: Path) -> None:
    closed = [place for place in reversed(program.parents) if not place.stat().st_mode & 0o001]
    if not closed:
        return
    syscalls.unshare(syscalls.NEW_MOUNTS)
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    outer = closed[0]
    inner = outer / program.relative_to(outer).parts[0]
    with tempfile.TemporaryDirectory() as aside:
        syscalls.mount(str(inner), aside, flags=syscalls.BIND | syscalls.RECURSIVE)
        syscalls.mount("tmpfs", str(outer), "tmpfs", options="mode=755")
        inner.mkdir()
        syscalls.mount(aside, str(inner), flags=syscalls.BIND | syscalls.RECURSIVE)
        syscalls.unmount(aside)


def _forbid_overlays(home: Path) -> None:
    """The home becomes an overlay itself: the kernel lets nobody keep the changes of another one on it."""
    syscalls.unshare(syscalls.NEW_MOUNTS)
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    upper, work = home / "upper", home / "work"
    for each in (upper, work):
        each.mkdir()
        os.chown(each, USER, USER)
    options = f"lowerdir={home},upperdir={upper},workdir={work}"
    syscalls.mount("overlay", str(home), "overlay", options=options)
    os.chdir(home)


def _leave_network() -> None:
    """For one that has an address and a route, and leads nowhere."""
    syscalls.unshare(syscalls.NEW_NETWORK)
    with contextlib.closing(Netlink()) as netlink:
        netlink.set_up("lo")
        netlink.add_bridge("nowhere")
        netlink.add_address("nowhere", IPv4Interface("10.99.0.2/24"))
        netlink.set_up("nowhere")
        netlink.add_default_route(IPv4Address("10.99.0.1"))


def _forbid_namespaces() -> None:
    """A namespace of its own in which no further one may be made; the ids stay what they are."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # who changes its user may not write its own files in /proc
    syscalls.unshare(syscalls.NEW_USERS)
    Path("/proc/self/setgroups").write_text("deny")
    for name in ("uid_map", "gid_map"):
        Path("/proc/self", name).write_text(f"{USER} {USER} 1")
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


if __name__ == "__main__":
    main(sys.argv[1:])
