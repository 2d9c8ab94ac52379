"""An event loop whose clock jumps to the next timer instead of waiting for it: the simulator's kind of loop."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _JumpingSelector(selectors.DefaultSelector):
    """Waits never: what would have been slept is added to ``now``."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everybody waits for somebody else")
            self.now += max(timeout, 0)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_in_virtual_time(story: Coroutine[Any, Any, None]) -> float:
    """Run to the end; gives the virtual seconds it took."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story)
        return runner.get_loop().time()
