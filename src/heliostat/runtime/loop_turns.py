"""Lets the event loop turn for everybody else, while many keys are reconciled that never have to wait.

Rules: all that share it count as one, because the loop looks for news only after each of them had its part; once the
loop was held for long, who comes waits in line, and each turn of the loop lets one go on. Who waits is woken once, for
its own turn: to wake all of them each time cost more than their work. Only the loop's own clock is asked: in virtual
time it is part of the program, and the same seed steps aside at the same moments.
"""

import asyncio
from collections import deque
from typing import Final

LONGEST_HOLD: Final = 0.005  # news is heard within three turns, and so about within the longest slice (loop_lag.py)


class LoopTurns:
    def __init__(self) -> None:
        self._since = 0.0
        self._line: deque[asyncio.Future[None]] = deque()

    async def step_aside(self) -> None:
        """At once, unless the loop has been held for long; to be awaited between two pieces of work."""
        loop = asyncio.get_running_loop()
        if not self._line and loop.time() - self._since <= LONGEST_HOLD:
            return
        if not self._line:
            loop.call_soon(self._begin, loop)
        turn = loop.create_future()
        self._line.append(turn)
        await turn

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._since = loop.time()
        turn = self._line.popleft()
        if not turn.done():  # one that is cancelled has no use for its turn
            turn.set_result(None)
        if self._line:
            loop.call_soon(self._begin, loop)
