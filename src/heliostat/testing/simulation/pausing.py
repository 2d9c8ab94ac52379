"""A loop on which one program can stand still while time passes for everybody else, as a process that was stopped.

Rules: whose work a callback is, is told by its context, which tasks and timers inherit; while its program stands still
it is put off, and afterwards everything that was put off runs in the order in which it became due, as in a process that
was stopped and goes on. What was cancelled meanwhile does not run.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVarTuple

from heliostat.testing.virtual_time import VirtualTimeLoop

Ts = TypeVarTuple("Ts")

PROGRAM: ContextVar[str] = ContextVar("program", default="")  # nobody's work never stands still
_STEP = 1e-5  # seconds between two callbacks that were put off: what follows from one is done before the next


class PausingLoop(VirtualTimeLoop):
    def __init__(self) -> None:
        super().__init__()
        self._until: dict[str, float] = {}  # by program
        self._put_off = 0

    def pause(self, program: str, seconds: float) -> None:
        """It stands still from now on; what it does at this moment is still done."""
        self._until[program] = max(self._until.get(program, 0.0), self.time() + seconds)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if not self._until:
            return super().call_soon(callback, *args, context=context)
        handle: asyncio.Handle = self._guard(super().call_soon, callback, args, context)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        schedule = super().call_at
        handle: asyncio.TimerHandle = self._guard(
            lambda guarded, context: schedule(when, guarded, context=context), callback, args, context
        )
        return handle

    def _guard(self, schedule: Any, callback: Any, args: Any, context: Context | None) -> Any:
        context = context if context is not None else copy_context()
        program = context.get(PROGRAM) or ""

        def run() -> None:
            if handle.cancelled():
                return
            if self.time() < self._until.get(program, 0.0):
                self._put_off += 1
                moment = self._until[program] + self._put_off * _STEP
                VirtualTimeLoop.call_at(self, moment, run, context=context)
            else:
                callback(*args)

        handle = schedule(run, context=context)
        return handle


def spawn_as(program: str, work: Any) -> "asyncio.Task[Any]":
    """A task whose work is this program's; of "" it is nobody's."""
    context = Context()
    context.run(PROGRAM.set, program)
    return asyncio.get_running_loop().create_task(work, context=context)


def pause(program: str, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    if not isinstance(loop, PausingLoop):
        raise TypeError("a program can only be paused on a loop for it")
    loop.pause(program, seconds)
