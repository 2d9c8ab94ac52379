"""How a container is stopped: its preStop hook, TERM, and KILL when its time is over.

Rules: the hook's time is taken from the grace period, of which at least two seconds are left for TERM; asked again
with an earlier end, the earlier one counts; a container that has ended is left alone.
"""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxError

Hook: TypeAlias = Callable[[float], Awaitable[None]]  # hears how many seconds it has

_LEAST_SECONDS = 2.0  # between TERM and KILL after a hook


class _Stop:
    def __init__(self, sandbox: Sandbox, id_: str, due: float) -> None:
        self.sandbox = sandbox
        self.id = id_
        self.due = due
        self.hurried = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class Stopping:
    def __init__(self) -> None:
        self._stops: dict[str, _Stop] = {}

    def is_stopping(self, id_: str) -> bool:
        return id_ in self._stops

    def stop(self, sandbox: Sandbox, id_: str, seconds: float, hook: Hook | None) -> None:
        """Returns at once; the container's end is told by its sandbox."""
        due = asyncio.get_running_loop().time() + max(0.0, seconds)
        known = self._stops.get(id_)
        if known is not None:
            if due < known.due:
                known.due = due
                known.hurried.set()
            return
        fresh = self._stops[id_] = _Stop(sandbox, id_, due)
        fresh.task = asyncio.create_task(self._carry_out(fresh, hook), name=f"stop {id_}")

    def ended(self, id_: str) -> None:
        stop = self._stops.pop(id_, None)
        if stop is not None and stop.task is not None:
            stop.task.cancel()

    async def close(self) -> None:
        tasks = [stop.task for stop in self._stops.values() if stop.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._stops.clear()

    async def _carry_out(self, stop: _Stop, hook: Hook | None) -> None:
        with contextlib.suppress(SandboxError):  # the sandbox is gone, and the container with it
            if hook is not None and stop.due > asyncio.get_running_loop().time():
                await _run_hook(stop, hook)
            await stop.sandbox.signal(stop.id, signal.SIGTERM)
            await _wait_until_due(stop)
            await stop.sandbox.signal(stop.id, signal.SIGKILL)


async def _run_hook(stop: _Stop, hook: Hook) -> None:
    """Until it is over or the container's time is."""
    loop = asyncio.get_running_loop()
    hooking = asyncio.ensure_future(hook(max(0.0, stop.due - loop.time())))
    waiting = asyncio.ensure_future(_wait_until_due(stop))
    try:
        await asyncio.wait((hooking, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        hooking.cancel()
        waiting.cancel()
        await asyncio.gather(hooking, waiting, return_exceptions=True)
    stop.due = max(stop.due, loop.time() + _LEAST_SECONDS)


async def _wait_until_due(stop: _Stop) -> None:
    loop = asyncio.get_running_loop()
    while (left := stop.due - loop.time()) > 0:
        stop.hurried.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await stop.hurried.wait()
