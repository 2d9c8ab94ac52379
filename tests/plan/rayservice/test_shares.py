"""The arithmetic of an incremental upgrade: KubeRay's traces step by step, and laws for any numbers."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from heliostat.plan.rayservice.shares import (
    ALL,
    Share,
    Split,
    StepLimits,
    is_moved,
    is_moved_back,
    next_weights,
    seconds_until_due,
    step_capacity,
)

START = Split(Share(100, 100), Share(0, 0))


def numbers(split: Split) -> tuple[int, int, int, int]:
    """As the reference writes it."""
    pending, active = split.pending, split.active
    return pending.capacity, pending.traffic, active.capacity, active.traffic


def give(split: Split, weights: tuple[int, int]) -> Split:
    active, pending = (
        replace(each, traffic=weight) for each, weight in zip((split.active, split.pending), weights, strict=True)
    )
    return replace(split, active=active, pending=pending)


def walk(split: Split, limits: StepLimits, most: int = 1000) -> Iterator[Split]:
    """Capacity, then traffic, one at a time, until nothing moves."""
    for _ in range(most):
        stepped = step_capacity(split, limits)
        if stepped == split:
            stepped = give(split, next_weights(split, limits))
        if stepped == split:
            return
        split = stepped
        yield split


@pytest.mark.parametrize(
    ("surge", "step", "trace"),
    [
        (
            50,
            25,
            [
                (50, 0, 100, 100), (50, 25, 100, 75), (50, 50, 100, 50), (50, 50, 50, 50), (100, 50, 50, 50),
                (100, 75, 50, 25), (100, 100, 50, 0), (100, 100, 0, 0),
            ],
        ),
        (
            30,
            25,
            [
                (30, 0, 100, 100), (30, 25, 100, 75), (30, 30, 100, 70), (30, 30, 70, 70), (60, 30, 70, 70),
                (60, 55, 70, 45), (60, 60, 70, 40), (60, 60, 40, 40), (90, 60, 40, 40), (90, 85, 40, 15),
                (90, 90, 40, 10), (90, 90, 10, 10), (100, 90, 10, 10), (100, 100, 10, 0), (100, 100, 0, 0),
            ],
        ),
        (100, 100, [(100, 0, 100, 100), (100, 100, 100, 0), (100, 100, 0, 0)]),
        (0, 0, []),
    ],
)  # fmt: skip
def test_the_way_forward_is_kuberays(surge: int, step: int, trace: list[tuple[int, int, int, int]]) -> None:
    assert [numbers(each) for each in walk(START, StepLimits(surge, step, 1))] == trace


@pytest.mark.parametrize(
    ("start", "surge", "step", "trace"),
    [
        (
            (50, 50, 50, 50), 50, 25,
            [(50, 50, 100, 50), (50, 25, 100, 75), (50, 0, 100, 100), (0, 0, 100, 100)],
        ),
        (
            (80, 60, 60, 40), 40, 20,
            [(80, 40, 60, 60), (40, 40, 100, 60), (40, 20, 100, 80), (40, 0, 100, 100), (0, 0, 100, 100)],
        ),
        # KubeRay would leave the pending cluster 70 % of its capacity with 90 % of the requests.
        ((100, 90, 10, 10), 30, 25, [(90, 90, 40, 10), (90, 65, 40, 35), (90, 60, 40, 40)]),
    ],
)  # fmt: skip
def test_the_way_back_is_kuberays_and_never_takes_capacity_that_requests_need(
    start: tuple[int, int, int, int], surge: int, step: int, trace: list[tuple[int, int, int, int]]
) -> None:
    split = Split(Share(start[2], start[3]), Share(start[0], start[1]), is_back=True)
    assert [numbers(each) for each in walk(split, StepLimits(surge, step, 1))][: len(trace)] == trace


@pytest.mark.parametrize(
    ("split", "limits", "wanted"),
    [
        (Split(Share(70, 90), Share(10, 10)), StepLimits(20, 5, 1), (70, 30)),
        (Split(Share(80, 70), Share(30, 30)), StepLimits(20, 5, 1), (70, 30)),
        (Split(Share(100, 100), Share(50, 0)), StepLimits(50, 5, 1), (100, 50)),
    ],
)
def test_capacity_moves_when_traffic_has_followed(split: Split, limits: StepLimits, wanted: tuple[int, int]) -> None:
    stepped = step_capacity(split, limits)
    assert (stepped.active.capacity, stepped.pending.capacity) == wanted


def test_a_pending_cluster_that_nobody_hears_gets_no_more() -> None:
    assert step_capacity(START, StepLimits(50, 25, 1), can_grow=False) == START


@pytest.mark.parametrize(
    ("pending", "step", "wanted"),
    [(Share(60, 0), 10, (90, 10)), (Share(5, 0), 10, (95, 5)), (Share(0, 0), 10, (100, 0))],
)
def test_a_step_is_no_more_than_there_is_capacity_for(pending: Share, step: int, wanted: tuple[int, int]) -> None:
    assert next_weights(Split(Share(100, 100), pending), StepLimits(100, step, 1)) == wanted


def test_the_interval_counts_from_the_last_move_of_the_cluster_that_gains() -> None:
    split = Split(Share(100, 75, moved=100.0), Share(50, 25, moved=90.0))
    assert seconds_until_due(split, StepLimits(50, 25, 20), 95.0) == 15.0
    assert seconds_until_due(replace(split, is_back=True), StepLimits(50, 25, 20), 95.0) == 25.0
    assert seconds_until_due(split, StepLimits(50, 25, 20), 200.0) == 0.0
    assert seconds_until_due(Split(Share(100, 100), Share(50, 0)), StepLimits(50, 25, 20), 0.0) == 0.0


@pytest.mark.parametrize(
    ("split", "is_alive", "is_over"),
    [
        (Split(Share(100, 100), Share(0, 0), is_back=True), True, True),
        (Split(Share(100, 100), Share(30, 0), is_back=True), False, True),
        (Split(Share(100, 100), Share(50, 0), is_back=True), True, False),
        (Split(Share(100, 75), Share(50, 25), is_back=True), False, False),
        (Split(Share(50, 50), Share(50, 50), is_back=True), False, False),
        (Split(Share(100, 100), Share(0, 0)), True, False),
    ],
)
def test_the_way_back_is_over_when_the_former_routing_is_whole(split: Split, is_alive: bool, is_over: bool) -> None:
    assert is_moved_back(split, is_pending_alive=is_alive) is is_over


any_limits = st.integers(1, 100).flatmap(
    lambda surge: st.builds(StepLimits, st.just(surge), st.integers(1, surge), st.just(1))
)


def check(before: Split, after: Split, limits: StepLimits) -> None:
    assert sum(after.weights) == ALL
    assert after.capacity <= ALL + limits.surge
    for share in (after.active, after.pending):
        assert 0 <= share.traffic <= share.capacity <= ALL
    gained = after.gaining.traffic - before.gaining.traffic
    assert 0 <= gained <= limits.step
    lost, had = (after.pending, before.pending) if after.is_back else (after.active, before.active)
    assert lost.capacity <= had.capacity
    assert lost.traffic <= had.traffic


@given(any_limits, st.lists(st.integers(0, 60), max_size=6))
def test_weights_add_up_capacity_covers_traffic_and_every_way_ends(limits: StepLimits, turns: list[int]) -> None:
    """With any number of changes of mind on the way."""
    split = START
    for turn in turns:
        for _, after in zip(range(turn), walk(split, limits), strict=False):
            check(split, after, limits)
            split = after
        split = replace(split, is_back=not split.is_back)
    forward = list(walk(replace(split, is_back=False), limits, most=2000))
    assert is_moved((forward or [replace(split, is_back=False)])[-1])
    back = list(walk(replace(split, is_back=True), limits, most=2000))
    assert is_moved_back((back or [replace(split, is_back=True)])[-1], is_pending_alive=True)
