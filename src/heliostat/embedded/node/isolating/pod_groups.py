"""How what Pods use is bounded and weighed on this machine: by control groups, and by niceness where there are none.

Rules: every container has a group of its own, also one that asks for nothing, because a process outside of all groups
weighs as much as everybody's; where weights cannot be had Pods are nicer than the control plane, so that it still gets
its turn.
"""

import os

from heliostat.embedded.node.isolating.cgroups import Group, find_cgroups, remove_groups
from heliostat.embedded.node.isolating.limits import build_limits, build_limits_of_all
from heliostat.embedded.node.pods import Container
from heliostat.embedded.node.shim.protocol import Order

_NICENESS = 5  # of Pods: a third of the weight of a process that is not nice


class PodGroups:
    def __init__(self, *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._groups = find_cgroups(of_all=build_limits_of_all(len(os.sched_getaffinity(0))))
        self._niceness = 0 if self._groups is not None and self._groups.keeps_weights else _NICENESS

    @property
    def keeps_limits(self) -> bool:
        """Whether this machine lets us limit what containers use."""
        return self._groups is not None

    def place_shims(self) -> tuple[str, ...]:
        """Files that take the process which forks them."""
        return self._groups.make_for_shims() if self._groups is not None else ()

    def bound(self, order: Order, container: Container) -> Order:
        """With a group, which is removed by whoever does not get it to run."""
        group = Group((), ())
        if self._groups is not None:
            group = self._groups.make(order.id, build_limits(container, is_strict=self._is_strict))
        return order._replace(
            control_groups=group.members, mounts=(*order.mounts, *group.mounts), niceness=self._niceness
        )

    def collect(self, id_: str) -> bool:
        """The group of a run that is over; whether it was killed for memory."""
        if self._groups is None:
            return False
        was_killed = self._groups.was_killed_for_memory(id_)
        self._groups.remove(id_)
        return was_killed

    async def remove_all(self, uid: str) -> None:
        """Of a Pod that has ended."""
        if self._groups is not None:
            await remove_groups(self._groups, uid)
