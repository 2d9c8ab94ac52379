"""How many requests at once: facts halve it, opinions lower it gently, use lets it grow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.runtime.limit import CAP, FLOOR, START, Lane, LimitState, Reception, Sample, decide_limit


def sample(
    verdict: Reception = Reception.SERVED,
    *,
    started: float = 10.0,
    seconds: float = 0.01,
    in_flight: int = 256,
    lane: Lane = Lane.GET,
) -> Sample:
    return Sample(lane, started, started + seconds, in_flight, verdict)


def after(state: LimitState, *samples: Sample) -> LimitState:
    for one in samples:
        state = decide_limit(state, one)
    return state


@pytest.mark.parametrize(
    ("before", "verdict", "in_flight", "limit"),
    [
        (LimitState(), Reception.SERVED, 16, 17),  # probing: one more for each answer doubles it in a round
        (LimitState(), Reception.SERVED, 8, 17),
        (LimitState(), Reception.SERVED, 7, 16),  # not used, so nothing was learned
        (LimitState(limit=20, is_probing=False), Reception.SERVED, 20, 20.05),
        (LimitState(limit=CAP), Reception.SERVED, 256, CAP),
        (LimitState(), Reception.OVERLOADED, 16, 8),
        (LimitState(limit=3), Reception.OVERLOADED, 3, FLOOR),
        (LimitState(), Reception.UNKNOWN, 16, 16),
    ],
)
def test_one_answer_moves_the_limit(before: LimitState, verdict: Reception, in_flight: int, limit: float) -> None:
    assert decide_limit(before, sample(verdict, in_flight=in_flight)).limit == limit


def test_a_burst_of_refusals_counts_once() -> None:
    burst = [sample(Reception.OVERLOADED, started=10.0, seconds=0.01 * n) for n in range(1, 17)]
    assert after(LimitState(), *burst).limit == START / 2


def test_refusals_of_the_next_round_count_again() -> None:
    rounds = [sample(Reception.OVERLOADED, started=10.0 + n) for n in range(3)]
    assert after(LimitState(), *rounds).limit == START / 8


def test_a_slower_server_lowers_it_to_the_start_and_no_further() -> None:
    quick = [sample(started=n) for n in range(100)]
    slow = [sample(started=200.0 + 2 * n, seconds=1.0) for n in range(60)]
    grown = after(LimitState(), *quick)
    assert grown.limit == START + 100
    assert after(grown, *slow).limit == START


def test_a_server_that_is_slower_for_good_becomes_the_usual() -> None:
    quick = [sample(started=n) for n in range(10)]
    slow = [sample(started=20.0 + 2 * n, seconds=1.0) for n in range(1500)]
    assert after(LimitState(), *quick, *slow).limit > START


def test_slow_lists_say_nothing_about_gets() -> None:
    mixed = [
        sample(started=n, seconds=2.0 if n % 2 else 0.01, lane=Lane.LIST if n % 2 else Lane.GET) for n in range(50)
    ]
    assert after(LimitState(), *mixed).limit == START + 50


def test_noise_of_milliseconds_is_not_slowness() -> None:
    noisy = [sample(started=n, seconds=0.08 if n % 2 else 0.002) for n in range(50)]
    assert after(LimitState(), *noisy).limit == START + 50


samples = st.builds(
    Sample,
    lane=st.sampled_from(Lane),
    started=st.floats(0, 1000),
    ended=st.floats(1000, 2000),
    in_flight=st.integers(1, 300),
    verdict=st.sampled_from(Reception),
)


@given(st.lists(samples, max_size=60))
def test_it_stays_between_floor_and_cap(history: list[Sample]) -> None:
    assert FLOOR <= after(LimitState(), *history).limit <= CAP


@given(st.lists(samples.filter(lambda one: one.verdict is not Reception.OVERLOADED), max_size=60))
def test_without_an_overload_it_never_falls_below_the_start(history: list[Sample]) -> None:
    assert after(LimitState(), *history).limit >= START


@given(st.lists(samples, max_size=30))
def test_the_same_history_gives_the_same_limit(history: list[Sample]) -> None:
    assert after(LimitState(), *history) == after(LimitState(), *history)
