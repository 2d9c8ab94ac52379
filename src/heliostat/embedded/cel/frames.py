"""The memory of one evaluation: what it has cost so far, its limit, and its variables, by fixed positions.

A compiled expression is a function of a frame. A frame is a plain list because that is the fastest thing Python has.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from heliostat.embedded.cel.errors import CostExceededError

Frame: TypeAlias = list[Any]
Closure: TypeAlias = Callable[[Frame], Any]

COST, LIMIT, SELF, OLD_SELF, FIRST_LOCAL = range(5)


def charge(frame: Frame, cost: int) -> None:
    """Add to the bill, and stop when it is over the limit."""
    frame[COST] += cost
    if frame[COST] > frame[LIMIT]:
        raise CostExceededError
