"""What of the past is forgotten: what went too long ago, then the oldest until the rest is small enough.

Pure. The newest stays however large it is: it is what somebody will ask for.
"""

from collections.abc import Iterable

from msgspec import Struct

DAY = 86_400.0
MEGABYTE = 1_000_000


class Limits(Struct, frozen=True):
    seconds: float = 7 * DAY
    size: int = 500 * MEGABYTE  # bytes, of all together


class Kept(Struct, frozen=True):
    path: str
    ended_at: float
    size: int  # bytes


class Removal(Struct, frozen=True):
    path: str
    because: str


def plan_removals(kept: Iterable[Kept], now: float, limits: Limits) -> tuple[Removal, ...]:
    """The oldest first."""
    removals: list[Removal] = []
    total = 0
    for index, each in enumerate(sorted(kept, key=lambda one: (one.ended_at, one.path), reverse=True)):
        total += each.size
        if each.ended_at < now - limits.seconds:
            removals.append(Removal(each.path, f"it ended more than {limits.seconds / DAY:g} days ago"))
        elif index and total > limits.size:
            removals.append(Removal(each.path, f"it and all newer ones have more than {limits.size / MEGABYTE:g} MB"))
    return tuple(reversed(removals))
