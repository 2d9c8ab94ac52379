"""Which capabilities a container has: those of container runtimes by default, more or fewer where it says so. Pure.

CAP_MKNOD is not among the defaults: runtimes leave it because a device group of theirs keeps the devices closed, and
there is none here.
"""

from collections.abc import Iterable

_NAMES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
)  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(_NAMES)}
_DEFAULT = frozenset(
    ("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP",
     "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")
)  # fmt: skip
_ALL = "ALL"


class UnknownCapabilityError(ValueError):
    """No kernel has one of this name."""


def decide_capabilities(added: Iterable[str] = (), dropped: Iterable[str] = ()) -> tuple[int, ...]:
    """Their numbers. ALL comes first, then what is added by name, then what is dropped, as runtimes have it."""
    more, less = _read(added), _read(dropped)
    kept = set(_NAMES) if _ALL in more else set(_DEFAULT)
    if _ALL in less:
        kept = set()
    return tuple(sorted(_NUMBERS[name] for name in (kept | more) - less - {_ALL}))


def _read(names: Iterable[str]) -> set[str]:
    found = {name.upper().removeprefix("CAP_") for name in names}
    unknown = sorted(found - {*_NAMES, _ALL})
    if unknown:
        raise UnknownCapabilityError(f'unknown capability "{unknown[0]}"; write it as in capabilities(7), without CAP_')
    return found
