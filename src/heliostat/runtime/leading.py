"""Work that only the leader may do: begun when the lease is ours, ended the moment that is in doubt.

Rules: the work is cancelled, and with it every request under way, when the lease is lost, when the fence closes and
nobody said so (the renewal itself is stuck), or when we are told to stop. The fence is closed before the work hears
that the lease is lost, and the lease is given back only after the work has ended.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.lease import LeaseHolder
from heliostat.runtime.side_thread import SideThread

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


async def lead(holder: LeaseHolder, work: Work, side: SideThread | None = None) -> str | None:
    """Wait for the lease and do the work. None: the work ended by itself; else why the lease was lost.

    With ``side`` the lease is kept over there, and ``holder`` and its client belong to that loop.
    """
    loop = asyncio.get_running_loop()
    leads: asyncio.Future[None] = loop.create_future()
    holding = _start(holder.run(lambda: _tell(loop, leads)), side)
    waited: set[asyncio.Future[Any]] = {holding, leads}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        return holding.result() if holding.done() else await _work_while_open(holder.fence, work, holding)
    finally:
        await _end(holding)
        await _release(holder, side)


async def _work_while_open(fence: LeaseFence, work: Work, holding: "asyncio.Future[str]") -> str | None:
    working = asyncio.create_task(work(), name="work of the leader")
    closing = asyncio.create_task(_until_closed(fence), name="watch of the fence")
    waited: set[asyncio.Future[Any]] = {holding, working, closing}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        because = holding.result() if holding.done() else "the lease was not renewed in time"
        fence.close(because)
        return because
    finally:
        await _end(closing)
        await _end(working)


async def _until_closed(fence: LeaseFence) -> None:
    """Independent of whoever renews: a stuck renewal says nothing."""
    while fence.is_open:
        await asyncio.sleep(fence.seconds_left)


async def _release(holder: LeaseHolder, side: SideThread | None) -> None:
    # A thread that is stuck cannot release; then the lease simply expires.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(holder.settings.request_seconds):
            await _start(holder.release(), side)


def _start(work: Coroutine[Any, Any, T], side: SideThread | None) -> "asyncio.Future[T]":
    return side.run(work) if side is not None else asyncio.create_task(work, name="lease")


def _tell(loop: asyncio.AbstractEventLoop, leads: "asyncio.Future[None]") -> None:
    def set_once() -> None:
        if not leads.done():
            leads.set_result(None)

    # The main loop may be gone when the news comes.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(set_once)


async def _end(work: "asyncio.Future[Any]") -> None:
    """Cancel it and wait until it is over; if it fails only now, that is told."""
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
        if not work.cancelled():
            work.result()
