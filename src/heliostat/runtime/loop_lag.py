"""Whether the event loop turns: how late it wakes up, when it last did, and which slice held it up.

Rules: ``LoopPulse`` runs on the loop and leaves what other threads may read: the time of its last beat, and problems
that only the loop itself can see; ``problem`` is asked from outside, so a loop that is stuck cannot answer for itself.
``SliceWatch`` is for tests and debugging: it fails when a slice held the loop for more than 20 ms.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

LONGEST_SLICE: Final = 0.020
BEAT_SECONDS: Final = 1.0
STUCK_SECONDS: Final = 30.0


class LoopPulse:
    """``clock`` is monotone and the same for all threads; ``problems`` is asked on the loop, at every beat."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        on_lag: Callable[[float], None] | None = None,
        problems: Callable[[], Sequence[str]] | None = None,
        beat_seconds: float = BEAT_SECONDS,
        stuck_seconds: float = STUCK_SECONDS,
    ) -> None:
        self._clock = clock
        self._on_lag = on_lag
        self._problems = problems
        self._beat_seconds = beat_seconds
        self._stuck_seconds = stuck_seconds
        self._last_beat: float | None = None
        self._seen: tuple[str, ...] = ()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._beat()
            due = loop.time() + self._beat_seconds
            await asyncio.sleep(self._beat_seconds)
            if self._on_lag is not None:
                self._on_lag(max(0.0, loop.time() - due))

    def _beat(self) -> None:
        self._seen = tuple(self._problems()) if self._problems is not None else ()
        self._last_beat = self._clock()

    def loop_problem(self) -> str | None:
        """From any thread: is the loop stuck?"""
        if self._last_beat is None:
            return "the event loop has not begun"
        silent = self._clock() - self._last_beat
        return f"the event loop has not turned for {silent:.0f} s" if silent > self._stuck_seconds else None

    def seen_problem(self) -> str | None:
        """From any thread: what the loop saw at its last beat."""
        return "; ".join(self._seen) or None


class SlowSliceError(AssertionError):
    """Something held the event loop."""


class SliceWatch(logging.Handler):
    """``with SliceWatch(): ...`` on a running loop; leaving it raises ``SlowSliceError`` when a slice took too long.

    It listens to asyncio's own debug mode, which names the callback and costs time: not for production.
    """

    def __init__(self, limit: float = LONGEST_SLICE) -> None:
        super().__init__(logging.WARNING)
        self.slow: list[str] = []
        self._limit = limit

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._before = loop.get_debug(), loop.slow_callback_duration
        loop.set_debug(True)
        loop.slow_callback_duration = self._limit
        logging.getLogger("asyncio").addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        logging.getLogger("asyncio").removeHandler(self)
        is_debug, loop.slow_callback_duration = self._before
        loop.set_debug(is_debug)
        if self.slow and kind is None:
            raise SlowSliceError(f"{len(self.slow)} slices were longer than {self._limit * 1000:g} ms: {self.slow[0]}")

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.startswith("Executing "):
            self.slow.append(text)
