"""A long plan is background work: what one object needs by the thousand must not slow down everybody else, nor be made
to its end when nobody wants it any more.

Rules: the first writes of a plan go as fast as they can. After that it rests between batches, the longer the slower
the server has become against the quickest answer that this plan has had: an idle server is used, a busy one is left air
for others, whoever they are. A rest has an upper bound, so a long plan becomes slower by a factor and never stops,
unless its subject is gone or another is wanted: then what is left is for the next plan to decide.
"""

from collections.abc import Callable

GAIN = 2.0  # measured by bench/ray_operator.py: less leaves too little air, more makes a large cluster wait
SLOWEST = 5.0  # times what the batch took
LONGEST_SECONDS = 1.0


class Pace:
    """Of one plan that is being carried out."""

    def __init__(self, short_plan: int | None, is_wanted: Callable[[], bool]) -> None:
        """``short_plan``: so many writes are no burden; None: however many they are. ``is_wanted``: whether the plan is
        still for what its subject says."""
        self.tried = 0
        self.is_given_up = False
        self._short_plan = short_plan
        self._is_wanted = is_wanted
        self._quickest: dict[type, float] = {}  # a delete takes another time than a create

    @property
    def is_long(self) -> bool:
        return self._short_plan is not None and self.tried > self._short_plan

    def goes_on(self) -> bool:
        """To be asked before each batch."""
        self.is_given_up = self.is_long and not self._is_wanted()
        return not self.is_given_up

    def rest_after(self, kind: type, writes: int, seconds: float) -> float:
        """How long to wait after these writes, which took so many seconds."""
        self.tried += writes
        if not self.is_long:
            return 0.0
        quickest = min(seconds, self._quickest.get(kind, seconds))
        self._quickest[kind] = quickest
        slowness = seconds / quickest - 1 if quickest > 0 else 0.0
        return min(seconds * min(GAIN * slowness, SLOWEST), LONGEST_SECONDS)
