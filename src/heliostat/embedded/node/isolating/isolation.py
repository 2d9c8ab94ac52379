"""How Pods can be kept apart on this machine, found out by trying: as root, by a user namespace, or not at all.

Rules: the first way that works counts, unless one is asked for; a way that was refused is told with what the system
said and what would allow it. A node that comes back goes into the user namespace that its Pods live in.
"""

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.node.isolating import plain_pods
from heliostat.embedded.node.isolating.choices import NONE, ROOT, USER
from heliostat.embedded.node.isolating.sandbox import find_shim
from heliostat.embedded.node.network.netlink import Netlink
from heliostat.embedded.node.shim import identity, syscalls

_OF_A_POD = (
    syscalls.NEW_MOUNTS
    | syscalls.NEW_PROCESSES
    | syscalls.NEW_HOSTNAME
    | syscalls.NEW_IPC
    | syscalls.NEW_NETWORK
)  # fmt: skip
_HOW_TO_ALLOW = (
    "user namespaces are allowed by sysctl user.max_user_namespaces > 0, and where the system has them by"
    " kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; or run heliostat as root"
)

Trial = Callable[[], str]


class Isolation(Struct, frozen=True):
    """``because`` says, for a machine that keeps nothing apart, what was refused and how to allow it."""

    way: str
    because: str = ""


_JUDGEMENTS: Mapping[str, tuple[str, str, str]] = {
    ROOT: ("True", "RunsAsRoot", "Pods have namespaces of their own, made by root"),
    USER: ("True", "UserNamespace", "Pods have namespaces of their own, in a user namespace, which has one user alone"),
}


def judge(isolation: Isolation) -> tuple[str, str, str]:
    """Status, reason and message of the node's condition."""
    return _JUDGEMENTS.get(isolation.way) or plain_pods.build_condition(isolation.because)[plain_pods.CONDITION]


class NoIsolationError(Exception):
    """What was asked for is refused; the text says by what."""


def decide_isolation(wanted: str, trials: Mapping[str, Trial]) -> Isolation:
    """``trials`` tell what a way is refused with; empty: it works. A wish that is refused is a NoIsolationError."""
    if wanted in trials:
        refused = trials[wanted]()
        if refused:
            raise NoIsolationError(f"--isolation={wanted} cannot be had here: {refused}; {_HOW_TO_ALLOW}")
        return Isolation(wanted)
    if wanted == NONE:
        return Isolation(NONE, "it was asked for with --isolation=none")
    refusals = []
    for way, trial in trials.items():
        refused = trial()
        if not refused:
            return Isolation(way)
        refusals.append(refused)
    return Isolation(NONE, f"{'; '.join(refusals)}; {_HOW_TO_ALLOW}")


def observe_trials() -> dict[str, Trial]:
    return {ROOT: _try_root, USER: lambda: _try(lambda: identity.enter_new_users(flags=syscalls.NEW_MOUNTS))}


def enter(isolation: Isolation, state: Path) -> None:
    """For a process with one thread, before anything else. ``state`` is where the Pods of an earlier life are."""
    if isolation.way != USER:
        return
    if any(_joins_users_of(place) for place in (state / "network", *_places(state / "pods"))):
        syscalls.unshare(syscalls.NEW_MOUNTS)
    else:
        identity.enter_new_users(flags=syscalls.NEW_MOUNTS)


def _places(pods: Path) -> list[Path]:
    return sorted(pods.iterdir()) if pods.exists() else []


def _joins_users_of(place: Path) -> bool:
    """Not those of a process that is just ending, nor of one that root has started: who comes after is not let in."""
    living = find_shim(place)
    try:
        if living is not None:
            syscalls.join_namespace(f"/proc/{living}/ns/user", syscalls.NEW_USERS)
    except OSError:
        return False
    return living is not None


def _try_root() -> str:
    return "heliostat does not run as root" if os.geteuid() else _try(lambda: None)


def _try(begin: Callable[[], None]) -> str:
    """In a child of ours, which leaves nothing: what a Pod needs, or the words of whoever refused it."""
    told, tell = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if not child:
        _tell_trial(begin, tell)
    os.close(tell)
    with os.fdopen(told, "rb") as stream:
        refused = stream.read().decode(errors="replace")
    os.waitpid(child, 0)
    return refused


def _tell_trial(begin: Callable[[], None], tell: int) -> None:
    try:
        begin()
        syscalls.unshare(_OF_A_POD)
        first = os.fork()
        if first:
            os.waitpid(first, 0)
        else:
            _be_a_pod()
    except BaseException as error:  # noqa: BLE001  a forked child must never go on as its parent
        os.write(tell, str(error).encode())
    finally:
        os._exit(0)


def _be_a_pod() -> None:
    syscalls.mount("", "/", flags=syscalls.RECURSIVE | syscalls.PRIVATE)
    syscalls.mount("proc", "/proc", "proc")
    socket.sethostname("heliostat")
    with contextlib.closing(Netlink()) as netlink:
        netlink.add_bridge("pods")
