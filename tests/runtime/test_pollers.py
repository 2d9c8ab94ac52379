"""Facts in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from heliostat.runtime.pollers import Fact, FactCache, Unknown
from heliostat.testing.virtual_time import run_virtual


class Source:
    """Something outside that answers, or not."""

    def __init__(self) -> None:
        self.value: str | Exception = "RUNNING"
        self.seconds = 0.0
        self.asked: list[float] = []
        self.under_way = 0
        self.most_under_way = 0

    async def fetch(self) -> str:
        self.asked.append(asyncio.get_running_loop().time())
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


Facts = FactCache[str, str]


def in_virtual_time(test: Callable[[Facts, list[tuple[float, str]]], Awaitable[None]], parallel: int = 32) -> None:
    async def scenario() -> None:
        clock = asyncio.get_running_loop().time
        told: list[tuple[float, str]] = []
        facts: Facts = FactCache(
            lambda key: told.append((clock(), key)), clock=clock, chance=lambda: 0.5, parallel=parallel
        )
        running = asyncio.create_task(facts.run())
        await test(facts, told)
        running.cancel()
        await asyncio.wait({running})

    run_virtual(scenario())


def test_a_fact_is_fetched_at_once_and_then_at_its_interval_and_only_news_are_told() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        assert facts.get("a") == Unknown("nobody watches it")
        facts.watch("a", source.fetch, 10)
        assert facts.get("a") == Unknown("not fetched yet")
        await asyncio.sleep(25)
        assert source.asked == [0, 10, 20]
        assert told == [(0, "a")]
        assert facts.get("a") == Fact("RUNNING", 5)
        source.value = "SUCCEEDED"
        await asyncio.sleep(10)
        assert told == [(0, "a"), (30, "a")]
        assert facts.get("a") == Fact("SUCCEEDED", 5)

    in_virtual_time(test)


def test_a_fact_outlives_failures_until_its_greatest_age_and_its_loss_and_return_are_told() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(1)
        source.value = OSError("connection refused")
        await asyncio.sleep(28)
        assert facts.get("a") == Fact("RUNNING", 29)
        await asyncio.sleep(2)
        assert facts.get("a") == Unknown("OSError: connection refused (last known 31 s ago)")
        assert told == [(0, "a"), (30, "a")]
        source.value = "RUNNING"
        await asyncio.sleep(60)
        assert isinstance(facts.get("a"), Fact)
        assert len(told) == 3

    in_virtual_time(test)


def test_failures_are_asked_for_less_and_less_often() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        source.value = OSError("connection refused")
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(3600)
        assert facts.get("a") == Unknown("OSError: connection refused")
        assert told == [(0, "a")]
        gaps = [later - earlier for earlier, later in zip(source.asked, source.asked[1:], strict=False)]
        assert gaps[:5] == pytest.approx([9.5, 19, 38, 76, 152])
        assert max(gaps) == pytest.approx(152)

    in_virtual_time(test)


def test_a_source_that_does_not_answer_is_given_up() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        source = Source()
        source.seconds = 1000
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(6)
        assert facts.get("a") == Unknown("no answer within 5 s")
        assert source.under_way == 0

    in_virtual_time(test)


def test_so_many_at_once_and_nobody_is_forgotten() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        source.seconds = 1
        for number in range(10):
            facts.watch(f"key-{number}", source.fetch, 60)
        await asyncio.sleep(5.5)
        assert source.most_under_way == 2
        assert [key for _, key in told] == [f"key-{number}" for number in range(10)]

    in_virtual_time(test, parallel=2)


def test_a_forgotten_fact_is_not_fetched_and_a_late_answer_is_not_told() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        source.seconds = 2
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(1)
        facts.forget("a")
        facts.watch("b", source.fetch, 10)
        facts.forget("b")
        await asyncio.sleep(100)
        assert told == []
        assert source.asked == [0]
        assert source.under_way == 0
        assert len(facts) == 0
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(3)
        assert told == [(103, "a")]

    in_virtual_time(test)


def test_watching_again_keeps_the_value_and_takes_over_a_shorter_interval() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        facts.watch("a", source.fetch, 100)
        await asyncio.sleep(10)
        facts.watch("a", source.fetch, 5)
        facts.watch("a", source.fetch, 5)
        assert facts.get("a") == Fact("RUNNING", 10)
        await asyncio.sleep(6)
        assert source.asked == [0, 15]
        assert told == [(0, "a")]

    in_virtual_time(test)


def test_a_fact_whose_fetch_is_late_is_unknown_and_its_return_is_told() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source, slow = Source(), Source()
        slow.seconds = 4.9
        facts.watch("a", source.fetch, 1)
        await asyncio.sleep(0.5)
        facts.watch("slow", slow.fetch, 1000)
        await asyncio.sleep(3.5)
        assert facts.get("a") == Unknown("its fetch is late (last known 4 s ago)")
        await asyncio.sleep(3)
        assert told == [(0, "a"), (5.4, "slow"), (5.4, "a")]

    in_virtual_time(test, parallel=1)


def test_impossible_intervals_are_refused() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        with pytest.raises(ValueError, match="not every 0"):
            facts.watch("a", Source().fetch, 0)
        with pytest.raises(ValueError, match=r"cannot be lost after 10 s: allow 1\.5 times"):
            facts.watch("a", Source().fetch, 10, greatest_age=10)

    in_virtual_time(test)
