"""What a container may use, as the kernel's control groups are told it. Pure.

Memory is a limit. CPU is a weight, so that many Pods fit a small machine and share it fairly; it is a limit too only
where the node is strict. All Pods together weigh what the machine has, never what a node promises: promises are several
times as much, and whatever else runs here, our own control plane first, would wait for seconds.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from heliostat.embedded.node.pods import Container
from heliostat.kube.quantity import Quantity

PERIOD: Final = 100_000  # microseconds
_LEAST_SHARES, _MOST_SHARES = 2, 262_144
_SHARES_OF_ONE = 1024
_UNASKED = 0.1  # processors; kubelets give next to nothing, which on a busy laptop is nothing at all
_NANO = 1_000_000_000
_MOST_PROCESSES = 16_384  # a head of Ray has some thousand threads; a fork bomb ends here before the machine does


class Limits(Struct, frozen=True):
    memory: int = 0  # bytes; 0: no limit
    cpu: float = 0.0  # of one processor; 0: no limit
    cpu_shares: int = 0  # 1024 for each processor that is asked for; 0: as everybody
    processes: int = 0  # and threads; 0: no limit


def build_limits(container: Container, *, is_strict: bool) -> Limits:
    limits, requests = container.resources.limits, container.resources.requests
    limit = _processors(limits.get("cpu"))
    asked = _processors(requests.get("cpu")) or limit or _UNASKED
    return Limits(
        memory=Quantity.parse(limits["memory"]).ceil() if "memory" in limits else 0,
        cpu=limit if is_strict else 0.0,
        cpu_shares=_shares(asked),
        processes=_MOST_PROCESSES,
    )


def build_limits_of_all(processors: int) -> Limits:
    """What all Pods weigh together against the rest of a machine with so many."""
    return Limits(cpu_shares=_shares(processors))


def _processors(amount: str | int | None) -> float:
    return Quantity.parse(amount).nano / _NANO if amount is not None else 0.0


def _shares(processors: float) -> int:
    return min(max(int(processors * _SHARES_OF_ONE), _LEAST_SHARES), _MOST_SHARES)


def build_first_settings(limits: Limits) -> Mapping[str, Mapping[str, str]]:
    """For version 1: the values by file, by controller."""
    memory = {"memory.limit_in_bytes": str(limits.memory), "memory.swappiness": "0"} if limits.memory else {}
    cpu: dict[str, str] = {}
    if limits.cpu_shares:
        cpu["cpu.shares"] = str(limits.cpu_shares)
    if limits.cpu:
        cpu |= {"cpu.cfs_period_us": str(PERIOD), "cpu.cfs_quota_us": str(_quota(limits))}
    processes = {"pids.max": str(limits.processes)} if limits.processes else {}
    return {name: each for name, each in (("memory", memory), ("cpu", cpu), ("pids", processes)) if each}


def build_second_settings(limits: Limits) -> Mapping[str, str]:
    """For version 2: the values by file. An OOM kill ends the whole container, as kubelets have it."""
    settings: dict[str, str] = {}
    if limits.memory:
        settings |= {"memory.max": str(limits.memory), "memory.swap.max": "0", "memory.oom.group": "1"}
    if limits.cpu_shares:
        settings["cpu.weight"] = str(_weight(limits.cpu_shares))
    if limits.cpu:
        settings["cpu.max"] = f"{_quota(limits)} {PERIOD}"
    if limits.processes:
        settings["pids.max"] = str(limits.processes)
    return settings


def _quota(limits: Limits) -> int:
    return max(1000, int(limits.cpu * PERIOD))


def _weight(shares: int) -> int:
    """The range of shares, 2 to 262144, laid over that of weights, 1 to 10000."""
    return 1 + (shares - _LEAST_SHARES) * 9999 // (_MOST_SHARES - _LEAST_SHARES)
