"""Who a program is: the user and groups it runs as, also where this process has only one id to give.

Without root a process has itself alone in its user namespace: it is 0 there, and no other id exists. A program that is
to be somebody else gets one more user namespace, in which that same id has the number that was asked for. Groups
besides do not exist there.
"""

import os
from pathlib import Path

from heliostat.embedded.node.shim import syscalls
from heliostat.embedded.node.shim.protocol import Order

_EVERYBODY = ["0", "0", "4294967295"]


def has_own_users() -> bool:
    """Whether this process lives in a user namespace that is not the machine's."""
    return Path("/proc/self/uid_map").read_text().split() != _EVERYBODY


def enter_new_users(user: int = 0, group: int = 0, flags: int = 0) -> None:
    """A user namespace, and what ``flags`` name in it, where this process has these ids. It may have one thread."""
    outside_user, outside_group = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.NEW_USERS | flags)
    Path("/proc/self/setgroups").write_text("deny")  # the kernel's price for a map that nobody had to allow
    Path("/proc/self/uid_map").write_text(f"{user} {outside_user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {outside_group} 1")


def become(order: Order) -> None:
    """The user that the container asks for, without the capabilities that it does not get."""
    if _may_choose_groups():
        _limit(order)
        os.setgroups(order.groups)
        os.setresgid(order.group, order.group, order.group)
        os.setresuid(order.user, order.user, order.user)
        return
    if (order.user, order.group) != (os.geteuid(), os.getegid()):
        enter_new_users(order.user, order.group)
    _limit(order)


def _limit(order: Order) -> None:
    if not order.is_privileged:
        syscalls.keep_capabilities(order.capabilities)
    if order.gains_nothing:
        syscalls.gain_nothing()


def _may_choose_groups() -> bool:
    return Path("/proc/self/setgroups").read_text().strip() == "allow"
