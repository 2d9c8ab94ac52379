"""Which objects of the past are forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.history.retention import Kept, Limits, plan_removals

NOW = 1_000_000.0
LIMITS = Limits(seconds=100.0, size=10)

kept_pods = st.lists(
    st.builds(Kept, st.uuids().map(str), st.floats(NOW - 200, NOW), st.integers(0, 12)),
    max_size=12,
    unique_by=lambda each: each.path,
)


@pytest.mark.parametrize(
    ("kept", "forgotten"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([("a", 0, 5), ("b", 1, 5)], [], id="as much as there may be"),
        pytest.param([("a", 0, 6), ("b", 1, 5)], ["b"], id="too much: the oldest goes"),
        pytest.param([("a", 0, 11)], [], id="the newest stays however large"),
        pytest.param([("a", 0, 11), ("b", 1, 1), ("c", 2, 1)], ["c", "b"], id="but nothing beside it"),
        pytest.param([("a", 101, 1)], ["a"], id="too old, although it is the newest"),
        pytest.param([("a", 100, 1)], [], id="just young enough"),
    ],
)
def test_what_is_forgotten(kept: list[tuple[str, float, int]], forgotten: list[str]) -> None:
    pods = [Kept(path, NOW - age, size) for path, age, size in kept]
    assert [removal.path for removal in plan_removals(pods, NOW, LIMITS)] == forgotten


def test_the_reason_is_told() -> None:
    old, large = Kept("old", NOW - 8 * 86_400, 1), Kept("large", NOW - 2, 600_000_000)
    removals = plan_removals([old, Kept("new", NOW, 1), large], NOW, Limits())
    assert [removal.because for removal in removals] == [
        "it ended more than 7 days ago",
        "it and all newer ones have more than 500 MB",
    ]


@given(kept_pods)
def test_what_stays_is_young_small_and_newer_than_what_goes(kept: list[Kept]) -> None:
    gone = {removal.path for removal in plan_removals(kept, NOW, LIMITS)}
    stays = [each for each in kept if each.path not in gone]
    assert all(each.ended_at >= NOW - LIMITS.seconds for each in stays)
    assert len(stays) <= 1 or sum(each.size for each in stays) <= LIMITS.size
    assert not stays or all(each.ended_at <= min(one.ended_at for one in stays) for each in kept if each.path in gone)


@given(kept_pods)
def test_whoever_has_forgotten_has_nothing_more_to_forget(kept: list[Kept]) -> None:
    gone = {removal.path for removal in plan_removals(kept, NOW, LIMITS)}
    assert plan_removals([each for each in kept if each.path not in gone], NOW, LIMITS) == ()
