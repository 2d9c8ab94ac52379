"""Back-off: a pure function of the number of attempts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.backoff import DEFAULT_BACKOFF, Backoff


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(0, 0.005), (1, 0.01), (2, 0.02), (10, 5.12), (17, 655.36), (18, 1000), (10_000, 1000)]
)
def test_the_default_doubles_from_5_ms_to_1000_s(attempt: int, seconds: float) -> None:
    assert DEFAULT_BACKOFF.delay(attempt) == pytest.approx(seconds)


def test_other_figures() -> None:
    assert [Backoff(first=1, factor=3, limit=20).delay(attempt) for attempt in range(5)] == [1, 3, 9, 20, 20]


def test_there_is_no_attempt_before_the_first() -> None:
    with pytest.raises(ValueError, match="count from 0"):
        DEFAULT_BACKOFF.delay(-1)


@given(st.integers(0, 5000))
def test_law_it_never_shrinks_and_never_passes_the_limit(attempt: int) -> None:
    assert DEFAULT_BACKOFF.delay(attempt) <= DEFAULT_BACKOFF.delay(attempt + 1) <= DEFAULT_BACKOFF.limit
