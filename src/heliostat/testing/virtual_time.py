"""An event loop whose time passes only when nothing is left to do: an hour of waiting takes a moment, always the same.

Rules: time stands still while anything is ready and then jumps to the next timer, so the order of events depends on
the program alone; when there is neither, nobody can ever go on, and that is an error that names the waiting tasks.
There are no threads and no sockets in virtual time.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, NoReturn, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MOST_SLICES_AT_ONE_INSTANT = 1_000_000
RESOLUTION = 1e-6  # seconds


class VirtualTimeError(RuntimeError):
    """The program cannot go on in virtual time."""


class DeadlockError(VirtualTimeError):
    """Nothing is ready and nothing is scheduled."""


class LivelockError(VirtualTimeError):
    """The program turns on the spot: time would never pass again."""


class _SteppingSelector(selectors.SelectSelector):
    """Lets time pass instead of sleeping."""

    def __init__(self, start: float) -> None:
        super().__init__()
        self.now = start
        self.slices = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError(f"nothing is ready and nothing is scheduled, for ever:{_describe_tasks()}")
        if timeout > 0:
            self.now += timeout
            self.slices = 0
        else:
            self.slices += 1
            if self.slices > MOST_SLICES_AT_ONE_INSTANT:
                self.slices = 0  # whoever catches it can still cancel the tasks
                raise LivelockError(
                    f"time stands at {self.now:.6f} s, and the work there never ends:{_describe_tasks()}"
                )
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """``start`` is the first moment, in seconds."""

    def __init__(self, start: float = 0.0) -> None:
        self._stepping = _SteppingSelector(start)
        super().__init__(self._stepping)
        # A timer counts as due this long before its time. The default is finer than floats are after a few months.
        self._clock_resolution = RESOLUTION

    def time(self) -> float:
        return self._stepping.now

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        # A timer for a moment that is not yet, but counts as due, would run at once; and who looks at the clock then
        # and waits for the rest would do so for ever, for no time passes meanwhile.
        now = self.time()
        later = now + 2 * RESOLUTION if now < when <= now + RESOLUTION else when
        return super().call_at(later, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        # One thread, and a selector that never sleeps: there is nobody to wake up.
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *_args: Any) -> NoReturn:  # type: ignore[override]
        raise VirtualTimeError(f"{func!r} wants a thread, and virtual time knows none")


def run_virtual(main: Coroutine[Any, Any, T], *, start: float = 0.0) -> T:
    """Like ``asyncio.run``, in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(start)) as runner:
        return runner.run(main)


def _describe_tasks() -> str:
    return "".join(f"\n  {line}" for line in sorted(map(_describe, asyncio.all_tasks())))


def _describe(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack()
    if not frames:
        return f"{task.get_name()} has not begun"
    code = frames[-1].f_code
    return f"{task.get_name()} waits in {code.co_qualname} (line {frames[-1].f_lineno})"
