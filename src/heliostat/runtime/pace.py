"""A long plan is background work: what one object needs by the thousand must not slow down everybody else, nor be made
to its end when nobody wants it any more.

Rules: the first writes of a plan go as fast as they can. After that it rests between batches, the longer the slower
the server has become against the quickest answer that this plan has had: an idle server is used, a busy one is left air
for others, whoever they are. A rest has an upper bound, so a long plan becomes slower by a factor and never stops,
unless its subject is gone or another is wanted: then what is left is for the next plan to decide. Past its first writes
a plan needs a seat among the long ones, so that it does not keep a worker from what is short, and its turn for each
batch (``long_plans.py``); where no seat is free it ends there.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from msgspec import Struct

GAIN = 2.0  # measured by bench/ray_operator.py: less leaves too little air, more makes a large cluster wait
SLOWEST = 5.0  # times what the batch took
LONGEST_SECONDS = 1.0


class Seat(Struct, frozen=True):
    """``take`` is asked once, when a plan becomes long; ``turn`` is entered for each batch from then on."""

    take: Callable[[], bool] = lambda: True
    turn: AbstractAsyncContextManager[Any] = nullcontext()


class Pace:
    """Of one plan that is being carried out."""

    def __init__(self, short_plan: int | None, is_wanted: Callable[[], bool], seat: Seat | None = None) -> None:
        """``short_plan``: so many writes are no burden; None: however many they are. ``is_wanted``: whether the plan is
        still for what its subject says."""
        self.tried = 0
        self.is_given_up = False
        self.is_cut_short = False
        self._seat = seat or Seat()
        self._has_seat = False
        self._short_plan = short_plan
        self._is_wanted = is_wanted
        self._quickest: dict[type, float] = {}  # a delete takes another time than a create

    @property
    def is_long(self) -> bool:
        return self._short_plan is not None and self.tried > self._short_plan

    def goes_on(self) -> bool:
        """To be asked before each batch."""
        if not self.is_long:
            return True
        self.is_given_up = not self._is_wanted()
        if not self.is_given_up and not self._has_seat:
            self._has_seat = self._seat.take()
            self.is_cut_short = not self._has_seat
        return not self.has_ended

    @property
    def has_ended(self) -> bool:
        """In the middle."""
        return self.is_given_up or self.is_cut_short

    def turn(self) -> AbstractAsyncContextManager[Any]:
        """To be held while a batch is written."""
        return self._seat.turn if self._has_seat else nullcontext()

    def rest_after(self, kind: type, writes: int, seconds: float) -> float:
        """How long to wait after these writes, which took so many seconds."""
        self.tried += writes
        if not self.is_long:
            return 0.0
        quickest = min(seconds, self._quickest.get(kind, seconds))
        self._quickest[kind] = quickest
        slowness = seconds / quickest - 1 if quickest > 0 else 0.0
        return min(seconds * min(GAIN * slowness, SLOWEST), LONGEST_SECONDS)
