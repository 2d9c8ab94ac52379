"""Turns of the event loop for everybody else, while many keys are worked on that need to wait for nothing.

Rules: all that share it count as one, because the loop looks for news only after each of them had its part; who holds
the loop for longer lets the others go first. Only the loop's own clock is asked: in virtual time it is part of the
program, and the same seed steps aside at the same moments.
"""

import asyncio
from typing import Final

LONGEST_HOLD: Final = 0.005  # news is heard within three turns, and so about within the longest slice (loop_lag.py)


class LoopTurns:
    def __init__(self) -> None:
        self._since = 0.0
        self._is_asked = False
        self._turned = asyncio.Event()

    async def step_aside(self) -> None:
        """At once, unless the loop has been held for long; to be awaited between two pieces of work."""
        loop = asyncio.get_running_loop()
        while loop.time() - self._since > LONGEST_HOLD:
            if not self._is_asked:
                self._is_asked = True
                loop.call_soon(self._begin, loop)
            await self._turned.wait()

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._since = loop.time()
        self._is_asked = False
        self._turned.set()  # for who waits now; who comes later waits for the next
        self._turned.clear()
