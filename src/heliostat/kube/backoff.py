"""How long to wait before the next attempt: doubling from a first delay up to a limit.

A pure value without randomness; who counts the attempts and who waits is decided elsewhere.
"""

from msgspec import Struct


class Backoff(Struct, frozen=True):
    """The delays first, first × factor, first × factor², … up to the limit, in seconds."""

    first: float = 0.005
    factor: float = 2.0
    limit: float = 1000.0

    def delay(self, attempt: int) -> float:
        """Seconds to wait after failed attempt number ``attempt``, which counts from 0."""
        if attempt < 0:
            raise ValueError(f"attempts count from 0, not {attempt}")
        try:
            return min(self.first * self.factor**attempt, self.limit)
        except OverflowError:
            return self.limit


DEFAULT_BACKOFF = Backoff()
