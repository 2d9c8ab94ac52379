"""The gate: never more inside than allowed, reads and writes in turn, urgent ones at once, nobody forgotten."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliostat.runtime.limit import Lane, LimitState, Reception
from heliostat.runtime.limiter import Limiter, Ticket


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await test

    asyncio.run(bounded())


def gate(limit: float) -> Limiter:
    """With a clock that stands still, answers of which leave the limit as it is."""
    return Limiter(lambda: 0.0, LimitState(limit=limit, is_probing=False))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def enter(limiter: Limiter, lane: Lane, name: str, order: list[str]) -> Ticket:
    ticket = await limiter.enter(lane)
    order.append(name)
    return ticket


def test_no_more_than_the_limit_are_inside() -> None:
    async def test() -> None:
        limiter = gate(3)
        inside = [await limiter.enter(Lane.GET) for _ in range(3)]
        late = asyncio.create_task(limiter.enter(Lane.GET))
        await settle()
        assert (limiter.in_flight, limiter.waiting, late.done()) == (3, 1, False)
        limiter.leave(inside[0], Reception.UNKNOWN)
        await late
        assert (limiter.in_flight, limiter.waiting) == (3, 0)

    run(test())


def test_reads_and_writes_go_in_alternately_each_in_order() -> None:
    async def test() -> None:
        limiter = gate(2)
        inside = [await limiter.enter(Lane.GET) for _ in range(2)]
        order: list[str] = []
        lanes = [(Lane.LIST, f"read{n}") for n in range(4)] + [(Lane.WRITE, f"write{n}") for n in range(2)]
        tasks = [asyncio.create_task(enter(limiter, lane, name, order)) for lane, name in lanes]
        await settle()
        for _ in tasks:
            limiter.leave(inside[0], Reception.UNKNOWN)
            await settle()
        assert order == ["read0", "write0", "read1", "write1", "read2", "read3"]
        await asyncio.gather(*tasks)

    run(test())


def test_an_urgent_one_passes_a_full_gate() -> None:
    async def test() -> None:
        limiter = gate(2)
        for _ in range(2):
            await limiter.enter(Lane.WRITE)
        waiting = asyncio.create_task(limiter.enter(Lane.WRITE))
        await settle()
        await limiter.enter(Lane.WRITE, is_urgent=True)
        assert (limiter.in_flight, limiter.waiting) == (3, 1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert limiter.waiting == 0

    run(test())


def test_one_that_gives_up_in_the_moment_of_its_turn_hands_it_on() -> None:
    async def test() -> None:
        limiter = gate(2)
        inside = [await limiter.enter(Lane.GET) for _ in range(2)]
        first, second = (asyncio.create_task(limiter.enter(Lane.GET)) for _ in range(2))
        await settle()
        limiter.leave(inside[0], Reception.UNKNOWN)  # admits the first, which has not run since
        first.cancel()
        await settle()
        assert first.cancelled()
        assert second.done()
        assert limiter.in_flight == 2

    run(test())


def test_an_overload_makes_later_ones_wait() -> None:
    async def test() -> None:
        limiter = gate(4)
        inside = [await limiter.enter(Lane.GET) for _ in range(4)]
        limiter.leave(inside[0], Reception.OVERLOADED)
        assert limiter.limit == 2
        late = asyncio.create_task(limiter.enter(Lane.GET))
        limiter.leave(inside[1], Reception.UNKNOWN)
        await settle()
        assert not late.done()
        limiter.leave(inside[2], Reception.UNKNOWN)
        await late
        assert limiter.in_flight == 2

    run(test())


steps = st.lists(
    st.tuples(st.sampled_from(["enter", "leave", "cancel"]), st.integers(0, 50), st.sampled_from(Lane)), max_size=60
)


@given(steps, st.integers(2, 5))
def test_whatever_happens_the_count_is_right_and_nobody_waits_before_a_free_place(
    plan: list[tuple[str, int, Lane]], limit: int
) -> None:
    async def test() -> None:
        limiter = gate(limit)
        tasks: list[asyncio.Task[Ticket]] = []
        left: set[asyncio.Task[Ticket]] = set()
        for action, index, lane in plan:
            if action == "enter":
                tasks.append(asyncio.create_task(limiter.enter(lane)))
            elif tasks:
                task = tasks[index % len(tasks)]
                if action == "cancel":
                    task.cancel()
                elif task.done() and not task.cancelled() and task not in left:
                    left.add(task)
                    limiter.leave(task.result(), Reception.UNKNOWN)
            if index % 2:
                await settle()
        await settle()
        inside = [task for task in tasks if task.done() and not task.cancelled() and task not in left]
        assert limiter.in_flight == len(inside)
        assert limiter.waiting == 0 or limiter.in_flight == limit
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(test())
