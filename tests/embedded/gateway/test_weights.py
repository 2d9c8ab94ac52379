"""Whose turn it is: exact shares, smoothly, and nothing for a weight of 0; and the deadlines of those who left."""

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.gateway.weights import Drains, Turns

WEIGHTS = st.lists(st.integers(0, 30), min_size=1, max_size=5).map(tuple)


@given(WEIGHTS, st.integers(1, 3))
def test_each_round_gives_everybody_exactly_their_share(weights: tuple[int, ...], rounds: int) -> None:
    turns, total = Turns(), sum(weights)
    chosen = Counter(turns.choose(weights) for _ in range(total * rounds))
    assert chosen == Counter({place: weight * rounds for place, weight in enumerate(weights) if weight})


@given(WEIGHTS, st.integers(0, 200))
def test_within_a_round_nobody_is_far_ahead_or_behind(weights: tuple[int, ...], n: int) -> None:
    turns, total = Turns(), sum(weights)
    chosen = Counter(turns.choose(weights) for _ in range(n)) if total else Counter()
    for place, weight in enumerate(weights):
        assert abs(chosen[place] - n * weight / max(total, 1)) <= len(weights)


@given(st.lists(WEIGHTS, min_size=2, max_size=4), st.integers(0, 50))
def test_new_weights_count_at_once(shifts: list[tuple[int, ...]], n: int) -> None:
    """Also when others had saved up a lot before: a back end that got nothing so far must not get all of the next."""
    turns = Turns()
    for weights in shifts:
        for _ in range(n):
            turns.choose(weights)
    last = (*shifts[-1], 1)
    chosen = Counter(turns.choose(last) for _ in range(sum(last)))
    assert chosen == Counter({place: weight for place, weight in enumerate(last) if weight})


def test_turns_are_spread() -> None:
    turns = Turns()
    chosen = [turns.choose((80, 20)) for _ in range(100)]
    assert max(len(list(run)) for place, run in itertools.groupby(chosen) if place == 0) == 4
    assert turns.choose((0, 0)) is None
    assert turns.choose(()) is None
    assert turns.choose((0,)) is None


def test_who_has_left_is_cut_at_its_deadline_and_not_before() -> None:
    drains: Drains[str] = Drains(10.0)
    drains.update(wanted={"a"}, held=("a", "b"), now=0.0)
    drains.update(wanted={"a"}, held=("a", "b", "c"), now=5.0)
    assert (drains.due(9.9), drains.due(10.0), drains.due(15.0)) == ([], ["b"], ["b", "c"])


def test_who_is_wanted_again_or_has_nothing_left_drains_no_more() -> None:
    drains: Drains[str] = Drains(10.0)
    drains.update(wanted=(), held=("a", "b"), now=0.0)
    drains.update(wanted={"a"}, held={"a"}, now=1.0)
    assert drains.due(99.0) == []
    drains.update(wanted=(), held={"a"}, now=2.0)
    assert (drains.due(11.9), drains.due(12.0)) == ([], ["a"])
