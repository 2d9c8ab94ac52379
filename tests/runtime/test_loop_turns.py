"""Looks that wait for nothing: the event loop turns all the same. Time passes here as the work takes it."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Ref
from heliostat.kube.resource_types import ResourceTypes
from heliostat.runtime.caches import Caches
from heliostat.runtime.controller import Controller
from heliostat.runtime.executor import Executor
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.loop_turns import LONGEST_HOLD, LoopTurns
from heliostat.runtime.queue import WorkQueue
from heliostat.runtime.reconciler import Source, Subject
from heliostat.runtime.writing import Writing
from heliostat.testing.virtual_time import VirtualTimeLoop
from runtime.small_server import Notebook, small_server

LOOK_SECONDS = 0.001


class BusyLoop(VirtualTimeLoop):
    """Its time also passes while something is done."""

    worked = 0.0

    def time(self) -> float:
        return super().time() + self.worked


class Thinker:
    """Never anything to do, and a while to find that out."""

    name = "thinker"

    def __init__(self, loop: BusyLoop) -> None:
        self.looks = 0
        self._loop = loop

    def sources(self) -> Sequence[Source]:
        return ()

    def subject(self, key: Key) -> Subject | None:
        return Subject(Ref("v1", "ConfigMap", key.namespace, key.name), key.name)

    def plan(self, key: Key, now: float) -> Plan:
        self.looks += 1
        self._loop.worked += LOOK_SECONDS
        return Plan()


async def turn_gaps(loop: asyncio.AbstractEventLoop, gaps: list[float]) -> None:
    while True:
        before = loop.time()
        await asyncio.sleep(0)
        gaps.append(loop.time() - before)


async def longest_hold(loop: BusyLoop, *, controllers: int, keys: int, workers: int) -> float:
    thinkers, running, turns = [], [], LoopTurns()
    async with small_server() as server:
        for _ in range(controllers):
            freshness = Freshness(Caches())
            thinker, queue = Thinker(loop), WorkQueue[Key](chance=lambda: 0.5)
            writing = Writing(server.client, ResourceTypes(), freshness, random_bytes=bytes)
            notebook = Notebook()
            executor = Executor(writing, notebook)
            controller = Controller(
                thinker, executor, freshness, queue, now=loop.time, workers=workers, observer=notebook, turns=turns
            )
            running.append(asyncio.create_task(controller.run()))
            thinkers.append(thinker)
            await asyncio.sleep(1)
            for number in range(keys):
                queue.add(Key("default", f"{number}"))
        gaps: list[float] = []
        ticking = asyncio.create_task(turn_gaps(loop, gaps))
        while any(thinker.looks < keys for thinker in thinkers):
            await asyncio.sleep(0)
        for task in (ticking, *running):
            task.cancel()
        await asyncio.gather(ticking, *running, return_exceptions=True)
    return max(gaps)


@pytest.mark.parametrize("controllers", [1, 3])
@pytest.mark.parametrize("workers", [1, 16])
def test_many_quiet_keys_never_hold_the_loop_for_long(workers: int, controllers: int) -> None:
    with asyncio.Runner(loop_factory=BusyLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, BusyLoop)
        held = runner.run(longest_hold(loop, controllers=controllers, keys=300, workers=workers))
    # Each worker that was woken takes one key before it is asked to step aside.
    assert held < LONGEST_HOLD + LOOK_SECONDS * (workers * controllers + 1)


def test_who_has_just_begun_does_not_step_aside() -> None:
    async def scenario() -> None:
        turns = LoopTurns()
        await turns.step_aside()
        for _ in range(100):
            waiting = turns.step_aside()
            with pytest.raises(StopIteration):
                waiting.send(None)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())


class Resumed:
    """Awaits a step aside, and counts how often the loop came back to it."""

    times = 0

    def __init__(self, turns: LoopTurns) -> None:
        self._turns = turns

    def __await__(self) -> Generator[Any, Any, None]:
        step = self._turns.step_aside()
        with suppress(StopIteration):
            while True:
                waited_for = step.send(None)
                yield waited_for
                Resumed.times += 1


def test_each_of_many_that_wait_is_woken_once_and_in_order() -> None:
    workers, rounds, order = 50, 3, list[int]()
    Resumed.times = 0

    async def scenario() -> None:
        loop, turns = asyncio.get_running_loop(), LoopTurns()
        assert isinstance(loop, BusyLoop)
        loop.worked = 2 * LONGEST_HOLD

        async def work(number: int) -> None:
            for _ in range(rounds):
                await Resumed(turns)
                loop.worked += 2 * LONGEST_HOLD
                order.append(number)

        await asyncio.gather(*map(work, range(workers)))

    with asyncio.Runner(loop_factory=BusyLoop) as runner:
        runner.run(scenario())
    assert order == [*range(workers)] * rounds
    assert Resumed.times == workers * rounds


def test_who_gave_up_waiting_keeps_nobody_from_its_turn() -> None:
    async def scenario() -> None:
        turns = LoopTurns()
        waiting = [asyncio.create_task(turns.step_aside()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[1].cancel()
        await asyncio.wait_for(waiting[2], 1)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())
