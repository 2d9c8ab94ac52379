"""A second event loop in a thread of its own, for what must go on while the main loop is busy: the lease and health.

Rules: coroutines given to it run there alone; leaving the context cancels them, lets them clean up, and ends the
thread. A thread that is stuck is given up after a while and ends with the process.
"""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

_JOIN_SECONDS = 10.0


class SideThread:
    """``with SideThread("lease") as side: await side.run(coroutine())``."""

    def __init__(self, name: str = "side") -> None:
        self._name = name
        self._thread: threading.Thread | None = None
        self.loop: asyncio.AbstractEventLoop

    def __enter__(self) -> Self:
        begun = threading.Event()
        self._thread = threading.Thread(target=self._main, args=(begun,), name=self._name, daemon=True)
        self._thread.start()
        begun.wait()
        return self

    def __exit__(self, *_exception: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._thread is not None:
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(_JOIN_SECONDS)

    def run(self, work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
        """Start it over there; the future belongs to the running loop here. Cancelling it cancels the work."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def _main(self, begun: threading.Event) -> None:
        asyncio.run(self._wait(begun))

    async def _wait(self, begun: threading.Event) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        begun.set()
        await self._stop.wait()
        # Returning ends asyncio.run, which cancels what is left and waits for it.
