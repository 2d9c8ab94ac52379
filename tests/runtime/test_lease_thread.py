"""The lease in a thread of its own: a busy main loop keeps it, a stuck renewal closes the fence."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

import pytest

from heliostat.runtime.errors import FencedError
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.leading import lead
from heliostat.runtime.lease import LEASE, LeaseHolder
from heliostat.runtime.lease_decisions import LeaseSettings
from heliostat.runtime.side_thread import SideThread
from runtime.small_api import SmallApi, small_api

pytestmark = pytest.mark.slow

SETTINGS = LeaseSettings(
    namespace="default",
    name="operator",
    identity="me",
    lease_seconds=2.5,
    renew_deadline_seconds=1.9,
    retry_seconds=0.1,
    request_seconds=0.5,
)


async def serve(fence: LeaseFence, made: "Future[tuple[SmallApi, LeaseHolder]]") -> None:
    """An API server and the holder of a lease on it, for as long as the side thread lasts."""
    async with small_api() as api:
        holder = LeaseHolder(
            api.client(seconds=SETTINGS.request_seconds),
            SETTINGS,
            fence,
            clock=time.monotonic,
            wall_clock=time.time,
            chance=lambda: 0.0,
            on_problem=lambda _what, _error: None,
        )
        made.set_result((api, holder))
        await asyncio.Event().wait()


def beside(scenario: Callable[[SideThread, SmallApi, LeaseHolder], Awaitable[None]]) -> None:
    async def run() -> None:
        made: Future[tuple[SmallApi, LeaseHolder]] = Future()
        with SideThread() as side:
            serving = side.run(serve(LeaseFence(time.monotonic), made))
            api, holder = await asyncio.wrap_future(made)
            await scenario(side, api, holder)
            assert not serving.done()

    asyncio.run(run())


def block_for(seconds: float) -> None:
    """What a loop must never do."""
    threading.Event().wait(seconds)


def test_a_main_loop_that_is_blocked_for_longer_than_the_lease_still_leads() -> None:
    async def scenario(side: SideThread, api: SmallApi, holder: LeaseHolder) -> None:
        async def work() -> None:
            block_for(2 * SETTINGS.lease_seconds)
            holder.fence.check()

        assert await lead(holder, work, side) is None
        lease = await side.run(api.read(LEASE, "default", "operator"))
        assert lease["spec"]["holderIdentity"] == ""

    beside(scenario)


def test_a_renewal_that_is_stuck_closes_the_fence_and_ends_the_work() -> None:
    async def scenario(side: SideThread, _api: SmallApi, holder: LeaseHolder) -> None:
        free = threading.Event()
        is_cancelled = False

        async def work() -> None:
            nonlocal is_cancelled
            side.loop.call_soon_threadsafe(free.wait)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                is_cancelled = True
                raise

        try:
            begun = time.monotonic()
            assert await lead(holder, work, side) == "the lease was not renewed in time"
            assert time.monotonic() - begun < 10
            assert is_cancelled
            with pytest.raises(FencedError):
                holder.fence.check()
        finally:
            free.set()

    beside(scenario)


def test_a_late_renewal_does_not_open_a_closed_fence() -> None:
    fence = LeaseFence(lambda: 100.0)
    fence.open(110.0)
    fence.extend(112.0)
    assert fence.seconds_left == 12.0
    fence.close("somebody else leads")
    fence.extend(120.0)
    with pytest.raises(FencedError, match="not written: somebody else leads"):
        fence.check()
    fence.open(99.0)
    with pytest.raises(FencedError, match=r"in doubt for 1\.0 s"):
        fence.check()
