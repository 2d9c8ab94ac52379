"""Facts in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from heliostat.kube.facts import Fact, Unknown
from heliostat.runtime.pollers import FactCache, Parallel
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


def in_virtual_time(
    test: Callable[[Facts, list[tuple[float, str]]], Awaitable[None]], parallel: int = 32, early_seconds: float = 0.0
) -> None:
    async def scenario() -> None:
        clock = asyncio.get_running_loop().time
        told: list[tuple[float, str]] = []
        facts: Facts = FactCache(
            lambda key: told.append((clock(), key)),
            clock=clock,
            chance=lambda: 0.5,
            parallel=Parallel(parallel),
            early_seconds=early_seconds,
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


def test_a_refresh_makes_what_is_known_stale_until_a_later_fetch_has_answered() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        source.seconds = 1
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(2)
        facts.refresh("a")
        assert facts.get("a") == Unknown("it is being fetched anew (last known 1 s ago)")
        await asyncio.sleep(2)
        assert facts.get("a") == Fact("RUNNING", 1)
        assert source.asked == [0, 2]
        assert told == [(1, "a"), (3, "a")]  # also an equal value is news: a decision may have waited for it

    in_virtual_time(test)


def test_an_answer_to_a_fetch_that_began_before_the_refresh_does_not_count() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        source.seconds = 2
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(1)
        facts.refresh("a")
        await asyncio.sleep(1.5)
        assert facts.get("a") == Unknown("not fetched yet")
        assert told == []
        await asyncio.sleep(2)
        assert facts.get("a") == Fact("RUNNING", 0.5)
        assert source.asked == [0, 2]

    in_virtual_time(test)


def test_a_refresh_at_the_moment_of_an_answer_outdates_it() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        source = Source()
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(0.001)
        await asyncio.sleep(10 - 0.001)
        facts.refresh("a")
        facts.refresh("a")
        assert isinstance(facts.get("a"), Unknown)
        await asyncio.sleep(0.001)
        assert isinstance(facts.get("a"), Fact)

    in_virtual_time(test)


def test_a_refresh_for_a_later_moment_fetches_then_and_nothing_earlier_counts() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        source = Source()
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(1)
        facts.refresh("a", at=5.0)
        facts.refresh("a", at=4.0)
        facts.watch("a", source.fetch, 1)
        await asyncio.sleep(3)
        assert isinstance(facts.get("a"), Unknown)
        await asyncio.sleep(1.5)
        assert source.asked == [0, 5]
        assert isinstance(facts.get("a"), Fact)

    in_virtual_time(test)


def test_a_refresh_does_not_wait_for_the_back_off_and_its_failure_is_told() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        source.value = OSError("connection refused")
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(100)
        before = len(source.asked)
        facts.refresh("a")
        await asyncio.sleep(0.001)
        assert source.asked[before:] == [100]
        assert told == [(0, "a"), (100, "a")]

    in_virtual_time(test)


def test_refreshing_what_nobody_watches_does_nothing() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        facts.refresh("a")
        await asyncio.sleep(1)
        assert told == []

    in_virtual_time(test)


def test_a_source_that_hangs_holds_its_own_places_and_delays_nobody_else() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        hung, well = Source(), Source()
        hung.seconds = 1000
        for number in range(20):
            facts.watch(f"hung-{number}", hung.fetch, 60, source="hung:8265")
        for number in range(20):
            facts.watch(f"well-{number}", well.fetch, 60, source=f"well-{number}:8265")
        await asyncio.sleep(1)
        assert [key for _, key in told] == [f"well-{number}" for number in range(20)]
        assert hung.most_under_way == 2
        await asyncio.sleep(60)
        assert {key for _, key in told} >= {f"hung-{number}" for number in range(20)}  # and all had their turn
        assert facts.get("well-3") == Fact("RUNNING", 1, "well-3:8265")

    in_virtual_time(test, parallel=4)


def test_keys_that_are_forgotten_while_their_source_is_busy_leave_its_places_to_others() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()
        source.seconds = 1
        for number in range(6):
            facts.watch(f"key-{number}", source.fetch, 60, source="one:8265")
        await asyncio.sleep(0.5)
        for number in (0, 2, 3):
            facts.forget(f"key-{number}")
        facts.refresh("key-4")
        await asyncio.sleep(5)
        assert {key for _, key in told} == {"key-1", "key-4", "key-5"}

    in_virtual_time(test)


def test_another_source_is_asked_at_once_and_the_old_ones_word_does_not_count() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        first, second = Source(), Source()
        second.value = "SUCCEEDED"
        second.seconds = 1
        facts.watch("a", first.fetch, 10, source="one:8265")
        await asyncio.sleep(1)
        facts.watch("a", second.fetch, 10, source="two:8265")
        assert isinstance(facts.get("a"), Unknown)
        await asyncio.sleep(2)
        assert facts.get("a") == Fact("SUCCEEDED", 1, "two:8265")

    in_virtual_time(test)


def test_a_fetch_that_is_cancelled_inside_is_a_failed_fetch_and_not_the_last_one() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source = Source()

        async def fetch() -> str:
            if not source.asked:
                source.asked.append(0)
                raise asyncio.CancelledError
            return await source.fetch()

        facts.watch("a", fetch, 10)
        await asyncio.sleep(1)
        assert facts.get("a") == Unknown("its fetch was cancelled")
        await asyncio.sleep(10)
        assert isinstance(facts.get("a"), Fact)
        assert told == [(0, "a"), (9.5, "a")]

    in_virtual_time(test)


def test_facts_go_on_when_they_are_run_again() -> None:
    async def scenario() -> None:
        source = Source()
        source.seconds = 1
        clock = asyncio.get_running_loop().time
        facts: Facts = FactCache(lambda _key: None, clock=clock, chance=lambda: 0.5)
        facts.watch("a", source.fetch, 10)
        for _life in range(2):
            running = asyncio.create_task(facts.run())
            await asyncio.sleep(0.5)
            running.cancel()
            await asyncio.wait({running})
        running = asyncio.create_task(facts.run())
        await asyncio.sleep(60)
        assert isinstance(facts.get("a"), Fact)
        running.cancel()
        await asyncio.wait({running})

    run_virtual(scenario())


def test_how_long_answers_have_been_alike_begins_anew_with_another_one_and_with_a_refresh() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        source = Source()
        assert facts.held("a") == 0
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(25)
        assert facts.held("a") == 20
        source.value = ConnectionError("gone")
        await asyncio.sleep(10)
        assert facts.held("a") == 20  # nobody has said anything else
        source.value = "SUCCEEDED"
        await asyncio.sleep(40)
        assert facts.get("a").value == "SUCCEEDED"  # type: ignore[union-attr]
        held = facts.held("a")
        assert 0 < held < 40
        facts.refresh("a")
        await asyncio.sleep(1)
        assert facts.held("a") == 0

    in_virtual_time(test)


def test_equal_answers_with_silence_between_them_have_not_been_alike_for_long() -> None:
    """A dashboard that lags now and then denies a job that it has; that it did so twice is no denial of a minute."""

    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        source = Source()
        facts.watch("a", source.fetch, 2, greatest_age=60)
        await asyncio.sleep(1)
        source.value, answer = ConnectionError("gone"), source.value
        await asyncio.sleep(9)
        source.value, asked = answer, len(source.asked)
        while len(source.asked) == asked:
            await asyncio.sleep(0.1)
        assert (isinstance(facts.get("a"), Fact), facts.held("a")) == (True, 4)  # of more than ten seconds
        await asyncio.sleep(2.5)
        assert facts.held("a") == pytest.approx(6)

    in_virtual_time(test)


def test_an_answer_after_a_time_in_which_nothing_was_known_is_the_first_of_its_like() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        source = Source()
        facts.watch("a", source.fetch, 2, greatest_age=15)
        await asyncio.sleep(9)
        assert facts.held("a") == 8
        source.value, answer = ConnectionError("gone"), source.value
        await asyncio.sleep(40)
        assert isinstance(facts.get("a"), Unknown)
        source.value = answer
        while isinstance(facts.get("a"), Unknown):
            await asyncio.sleep(0.5)
        assert facts.held("a") == 0

    in_virtual_time(test)


def test_what_is_due_almost_together_is_fetched_together() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        first, second, third = Source(), Source(), Source()
        facts.watch("a", first.fetch, 10)
        await asyncio.sleep(0.3)
        facts.watch("b", second.fetch, 10)
        await asyncio.sleep(0.3)
        facts.watch("c", third.fetch, 10)
        await asyncio.sleep(20)
        assert first.asked == [0, 10, 20]
        assert second.asked == [0.3, 10, 20]  # a little earlier than it was due, and never later
        assert third.asked == [0.6, pytest.approx(10.6)]

    in_virtual_time(test, early_seconds=0.5)


def test_nothing_that_must_not_begin_earlier_is_fetched_early() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        beside, source = Source(), Source()
        facts.watch("beside", beside.fetch, 10)
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(1)
        facts.refresh("a", at=10.3)
        await asyncio.sleep(11)
        assert beside.asked == [0, 10]
        assert source.asked == [0, 10.3]

    in_virtual_time(test, early_seconds=0.5)


def test_a_fetch_that_begins_at_once_takes_along_what_is_almost_due() -> None:
    async def test(facts: Facts, _told: list[tuple[float, str]]) -> None:
        source, other = Source(), Source()
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(9.7)
        facts.watch("b", other.fetch, 100)  # begins at once, and "a" goes with it
        await asyncio.sleep(1)
        assert (source.asked, other.asked) == ([0, 9.7], [9.7])

    in_virtual_time(test, early_seconds=0.5)


def test_a_last_look_that_is_a_little_early_is_not_repeated_at_the_same_moment() -> None:
    async def test(facts: Facts, told: list[tuple[float, str]]) -> None:
        source, other = Source(), Source()
        facts.watch("a", source.fetch, 10)
        await asyncio.sleep(1)
        source.value = OSError("connection refused")
        await asyncio.sleep(28.9995)
        facts.watch("b", other.fetch, 100)  # begins at once, and "a" goes with it, just young enough
        assert source.asked == [0, 10, pytest.approx(19.5)]
        await asyncio.sleep(1)
        assert source.asked[3:] == [pytest.approx(29.9995), pytest.approx(30.002)]
        assert isinstance(facts.get("a"), Unknown)
        assert [key for _, key in told] == ["a", "b", "a"]

    in_virtual_time(test, early_seconds=0.5)
