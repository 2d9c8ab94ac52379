"""The queue of keys, in virtual time."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
import uvloop

from heliostat.kube.backoff import Backoff
from heliostat.runtime.queue import ClosedQueueError, WorkQueue
from heliostat.testing.virtual_time import run_virtual


def queue() -> WorkQueue[str]:
    return WorkQueue(chance=lambda: 0.5, backoff=Backoff(first=1.0, factor=2.0, limit=8.0))


def test_a_key_is_in_it_once() -> None:
    async def scenario() -> None:
        subject = queue()
        for key in ("a", "a", "b", "a"):
            subject.add(key)
        assert [await subject.get(), await subject.get()] == ["a", "b"]
        assert len(subject) == 0

    run_virtual(scenario())


def test_a_key_in_work_comes_again_only_when_it_is_done() -> None:
    async def scenario() -> None:
        subject = queue()
        subject.add("a")
        key = await subject.get()
        subject.add("a")
        assert len(subject) == 0
        subject.done(key)
        assert await subject.get() == "a"
        subject.done(key)
        assert len(subject) == 0

    run_virtual(scenario())


def test_a_hot_key_gets_one_turn_per_round() -> None:
    async def scenario() -> None:
        subject = queue()
        for key in ("hot", "b", "c"):
            subject.add(key)
        served = []
        for _ in range(6):
            key = await subject.get()
            served.append(key)
            subject.add("hot")  # always wanted
            if key != "hot":
                subject.add(key)
            subject.done(key)
        assert served == ["hot", "b", "c", "hot", "b", "c"]

    run_virtual(scenario())


@pytest.mark.parametrize("seconds", [10.0, 1.0, None])
def test_who_decides_anew_appoints_the_only_moment(seconds: float | None) -> None:
    async def scenario() -> None:
        subject = queue()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        subject.add_after("a", 3)
        subject.appoint("a", seconds)
        seen = []
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                while True:
                    subject.done(await subject.get())
                    seen.append(loop.time() - begun)
        assert seen == ([] if seconds is None else [pytest.approx(seconds)])

    run_virtual(scenario())


def test_what_has_long_to_wait_does_not_come_back_all_at_once_and_never_late() -> None:
    async def scenario() -> None:
        chances = iter([0.0, 0.2, 0.4, 0.6, 0.8])
        subject: WorkQueue[str] = WorkQueue(chance=lambda: next(chances))
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for key in "abcde":
            subject.appoint(key, 300.0)
        subject.appoint("soon", 60.0)
        seen = {await subject.get(): round(loop.time() - begun, 3) for _ in range(6)}
        assert seen == {"soon": 60.0, "e": 288.0, "d": 291.0, "c": 294.0, "b": 297.0, "a": 300.0}

    run_virtual(scenario())


def test_of_two_appointments_the_earlier_stands() -> None:
    async def scenario() -> None:
        subject = queue()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        subject.add_after("a", 10)
        subject.add_after("a", 3)
        subject.add_after("a", 5)
        await subject.get()
        assert loop.time() - begun == pytest.approx(3)
        subject.done("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await subject.get()

    run_virtual(scenario())


def test_failures_wait_longer_each_time_until_one_success() -> None:
    async def scenario() -> None:
        subject = queue()
        assert [subject.retry("a") for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 8.0]
        assert subject.retry("b", at_least=30.0) == 30.0
        subject.succeeded("a")
        assert subject.retry("a") == 1.0
        subject.close()

    run_virtual(scenario())


def test_a_forgotten_key_has_no_appointment() -> None:
    async def scenario() -> None:
        subject = queue()
        subject.retry("a")
        subject.forget("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await subject.get()

    run_virtual(scenario())


def test_a_taker_that_is_cancelled_gives_its_turn_on() -> None:
    async def scenario() -> None:
        subject = queue()
        first = asyncio.create_task(subject.get())
        second = asyncio.create_task(subject.get())
        await asyncio.sleep(0)
        subject.add("a")
        first.cancel()
        assert await second == "a"

    run_virtual(scenario())


def test_waiting_times_are_told() -> None:
    async def scenario() -> None:
        waits: list[float] = []
        subject: WorkQueue[str] = WorkQueue(chance=lambda: 0.5, on_wait=waits.append)
        subject.add("a")
        await asyncio.sleep(2)
        await subject.get()
        assert waits == [pytest.approx(2)]

    run_virtual(scenario())


def test_a_closed_queue_lets_its_takers_go() -> None:
    async def scenario() -> None:
        subject = queue()
        taker = asyncio.create_task(subject.get())
        await asyncio.sleep(0)
        subject.add_after("later", 5)
        subject.close()
        with pytest.raises(ClosedQueueError):
            await taker
        subject.add("a")
        with pytest.raises(ClosedQueueError):
            await subject.get()

    run_virtual(scenario())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_an_appointment_that_is_now_can_be_followed_by_another(run: Any) -> None:
    """uvloop runs it at once, and its handle cannot tell when it was for."""

    async def scenario() -> None:
        subject = queue()
        subject.add_after("a", 1e-9)
        subject.add_after("a", 60)
        async with asyncio.timeout(5):
            assert await subject.get() == "a"
        subject.close()

    run(scenario())
