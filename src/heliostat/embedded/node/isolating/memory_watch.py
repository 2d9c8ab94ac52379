"""Memory limits on a machine whose control groups cannot be written: looked at now and then, and told of.

Nobody is stopped: what a Pod uses is measured too rarely for that. Pages that processes share count once.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from heliostat.embedded.node.isolating.limits import build_limits
from heliostat.embedded.node.pods import NodePod
from heliostat.kube.plan import Event

PERIOD: Final = 15.0
_MEBI = 1024 * 1024


class MemoryWatch:
    """``pid_of`` gives the first process of a Pod by its UID, None when it has none."""

    def __init__(
        self, pods: Iterable[NodePod], pid_of: Callable[[str], int | None], tell: Callable[[str, Event], None]
    ) -> None:
        self._pods = pods
        self._pid_of = pid_of
        self._tell = tell
        self._told: set[str] = set()  # the UIDs of Pods that use too much

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            await self.look()

    async def look(self) -> None:
        """Tells of every Pod that began to use more than it may since the last look."""
        limited = [(pod.metadata.uid, limit) for pod in self._pods if (limit := find_limit(pod))]
        self._told &= {uid for uid, _ in limited}
        for uid, limit in limited:
            pid = self._pid_of(uid)
            used = await asyncio.to_thread(measure_memory, pid) if pid is not None else 0
            if used <= limit:
                self._told.discard(uid)
            elif uid not in self._told:
                self._told.add(uid)
                self._tell(uid, build_event(used, limit))


def find_limit(pod: NodePod) -> int:
    """What all containers of the Pod may use together; 0 when one of them may use all there is."""
    limits = [build_limits(each, is_strict=False).memory for each in pod.spec.containers]
    return sum(limits) if all(limits) else 0


def build_event(used: int, limit: int) -> Event:
    note = (
        f"The containers use {used // _MEBI} MiB of memory, more than the {limit // _MEBI} MiB of their limits;"
        " the control groups of this machine cannot be written, so nobody is stopped"
    )
    return Event("Warning", "MemoryLimitExceeded", "Measuring", note)


def measure_memory(pid: int) -> int:
    """Bytes that a process and all below it use, each with its part of what it shares."""
    return sum(measure_one(each) for each in _family(pid))


def _family(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):  # it has ended meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _family(int(child))


def measure_one(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
