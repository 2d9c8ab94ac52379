"""How a long plan rests: never at first, never on a quick server, never without end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.plan import Create, Delete
from heliostat.runtime.pace import GAIN, LONGEST_SECONDS, SLOWEST, Pace

TIMES = st.lists(st.floats(0.0, 10.0), min_size=1, max_size=50)


def always() -> bool:
    return True


def rests(pace: Pace, times: list[float], kind: type = Create) -> list[float]:
    return [pace.rest_after(kind, 1, seconds) for seconds in times]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param([0.01, 0.01, 0.01, 0.01], [0, 0, 0, 0], id="as quick as ever"),
        pytest.param([0.01, 0.01, 0.01, 0.02], [0, 0, 0, 0.02 * GAIN], id="twice as slow"),
        pytest.param([0.02, 0.02, 0.02, 0.01], [0, 0, 0, 0], id="quicker than ever"),
        pytest.param([0.01, 0.01, 0.01, 0.2], [0, 0, 0, 0.2 * SLOWEST], id="far slower"),
        pytest.param([0.01, 0.01, 0.01, 9.0], [0, 0, 0, LONGEST_SECONDS], id="hardly there"),
        pytest.param([0.01, 0.02, 0.04, 0.04], [0, 0, 0, 0], id="the first ones are no measure"),
        pytest.param([0.0, 0.0, 0.0, 0.01], [0, 0, 0, 0], id="no time at all"),
    ],
)
def test_it_rests_as_the_server_slows_down(times: list[float], expected: list[float]) -> None:
    assert rests(Pace(2, always), times) == pytest.approx(expected)


def test_a_slow_delete_is_not_measured_by_a_quick_create() -> None:
    pace = Pace(0, always)
    assert pace.rest_after(Create, 1, 0.01) == 0
    assert pace.rest_after(Delete, 1, 0.05) == 0
    assert pace.rest_after(Delete, 1, 0.10) > 0


@given(TIMES)
def test_who_has_no_bound_never_rests(times: list[float]) -> None:
    assert not any(rests(Pace(None, always), times))


@given(st.integers(0, 60), TIMES)
def test_a_plan_is_slower_by_a_factor_at_most(short: int, times: list[float]) -> None:
    found = rests(Pace(short, always), times)
    assert not any(found[:short])
    for seconds, rest in zip(times, found, strict=True):
        assert 0 <= rest <= min(seconds * SLOWEST, LONGEST_SECONDS)


@pytest.mark.parametrize(
    ("short", "tried", "goes_on"),
    [
        pytest.param(5, 5, True, id="what is short is carried out"),
        pytest.param(5, 6, False, id="what is long is not, if nobody wants it"),
        pytest.param(None, 1000, True, id="nothing is long"),
    ],
)
def test_only_a_long_plan_asks_whether_it_is_wanted(short: int | None, tried: int, goes_on: bool) -> None:
    pace = Pace(short, lambda: False)
    pace.rest_after(Create, tried, 0.01)
    assert pace.goes_on() is goes_on
    assert pace.is_given_up is not goes_on
