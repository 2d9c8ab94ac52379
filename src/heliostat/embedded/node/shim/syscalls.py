"""The calls of Linux that make a container and that Python does not have, each raising OSError with what was tried.

Standard library only: the shim starts without anything else, so that a Pod begins in milliseconds.
"""

import ctypes
import os
from collections.abc import Collection
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
    os.ST_RDONLY: READ_ONLY,
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
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_CAPABILITY_VERSION = 0x2008_0522

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
    _forbid(target, READ_ONLY)


def forbid_devices(target: str) -> None:
    """A mount: its device files open nothing."""
    _forbid(target, NO_DEVICES)


def _forbid(target: str, flags: int) -> None:
    there = os.statvfs(target).f_flag
    kept = sum(flag for of_place, flag in _KEPT_FLAGS.items() if there & of_place)
    mount("", target, flags=REMOUNT | BIND | flags | kept)


def unmount(target: str) -> None:
    """At once from here, and for good when its last user is gone."""
    _check(_libc.umount2(target.encode(), _DETACH), f"unmount of {target}")


def pivot_root(new: str, old: str) -> None:
    _check(_libc.syscall(_PIVOT_ROOT[os.uname().machine], new.encode(), old.encode()), f"pivot_root({new})")


def keep_capabilities(kept: Collection[int]) -> None:
    """All that the next program can have, even as root."""
    last = int(_LAST_CAPABILITY.read_text())
    for number in range(last + 1):
        if number not in kept:
            _check(_libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0), f"drop of capability {number}")
    _libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)  # kernels before 4.3 have none
    _inherit_no_capabilities()


def _inherit_no_capabilities() -> None:
    """A program of root has those that are handed down besides those that are left to it."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inherited, of the lower and the upper 32
    _check(_libc.capget(header, sets), "capget")
    sets[2] = sets[5] = 0
    _check(_libc.capset(header, sets), "capset")


def gain_nothing() -> None:
    """No program that is started from here on has more rights than this one, whatever its file says."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


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
