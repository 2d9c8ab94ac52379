"""The calls of Linux that make a container and that Python does not have, each raising OSError with what was tried.

Standard library only: the shim starts without anything else, so that a Pod begins in milliseconds.
"""

import ctypes
import os
from pathlib import Path

NEW_MOUNTS = 0x0002_0000
NEW_HOSTNAME = 0x0400_0000
NEW_IPC = 0x0800_0000
NEW_USERS = 0x1000_0000
NEW_PROCESSES = 0x2000_0000
NEW_NETWORK = 0x4000_0000

READ_ONLY = 0x1
NO_SETUID = 0x2
NO_DEVICES = 0x4
NO_EXEC = 0x8
REMOUNT = 0x20
BIND = 0x1000
RECURSIVE = 0x4000
PRIVATE = 0x4_0000

_DETACH = 2
_RELATIVE_TIMES = 0x20_0000
_KEPT_FLAGS = {
    os.ST_NOSUID: NO_SETUID,
    os.ST_NODEV: NO_DEVICES,
    os.ST_NOEXEC: NO_EXEC,
    os.ST_NOATIME: 0x400,
    os.ST_NODIRATIME: 0x800,
    os.ST_RELATIME: _RELATIVE_TIMES,
}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36

# What a container engine leaves to a container by default; everything else is dropped.
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw, sys_chroot, mknod,
# audit_write, setfcap
_KEPT_CAPABILITIES = frozenset((0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31))
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def join_namespace(path: str, flags: int = 0) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(handle, flags), f"setns({path})")
    finally:
        os.close(handle)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    _check(result, f"mount of {source} ({kind or 'bind'}) on {target}")


def make_read_only(target: str) -> None:
    """A mount; what else it forbids stays forbidden, as the kernel insists for those of a more privileged one."""
    there = os.statvfs(target).f_flag
    kept = sum(flag for of_place, flag in _KEPT_FLAGS.items() if there & of_place)
    mount("", target, flags=REMOUNT | BIND | READ_ONLY | kept)


def unmount(target: str) -> None:
    """At once from here, and for good when its last user is gone."""
    _check(_libc.umount2(target.encode(), _DETACH), f"unmount of {target}")


def pivot_root(new: str, old: str) -> None:
    _check(_libc.syscall(_PIVOT_ROOT[os.uname().machine], new.encode(), old.encode()), f"pivot_root({new})")


def drop_capabilities() -> None:
    """What the next program cannot have, even as root."""
    last = int(_LAST_CAPABILITY.read_text())
    for number in range(last + 1):
        if number not in _KEPT_CAPABILITIES:
            _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), f"drop of capability {number}")


def take_on_orphans() -> None:
    """Whoever loses its parent somewhere below this process becomes its child."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl(PR_SET_CHILD_SUBREAPER)")


def hear_end_of_parent(number: int) -> None:
    """This signal when the parent ends; what is forked from here on hears nothing."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
