"""Guessing which name was meant: close ones are offered, far ones are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.nearest import MAX_LENGTH, count_mistakes, nearest_name

KNOWN = ["replicas", "minReplicas", "maxReplicas", "rayStartParams", "env"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("replcas", "replicas"),
        ("relpicas", "replicas"),
        ("REPLICAS", "replicas"),
        ("maxreplicas", "maxReplicas"),
        ("rayStartParam", "rayStartParams"),
        ("envs", "env"),
        ("ports", None),
        ("x", None),
        ("", None),
        ("x" * (MAX_LENGTH + 1), None),
    ],
)
def test_the_closest_known_name_within_reach(written: str, meant: str | None) -> None:
    assert nearest_name(written, KNOWN) == meant


@pytest.mark.parametrize(
    ("left", "right", "mistakes"),
    [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("abc", "axc", 1), ("abcd", "bcd", 1), ("kitten", "sitting", 3)],
)
def test_mistakes_are_counted(left: str, right: str, mistakes: int) -> None:
    assert count_mistakes(left, right) == mistakes


@given(st.text(max_size=12), st.text(max_size=12))
def test_counting_is_symmetric_and_bounded_by_the_longer_text(left: str, right: str) -> None:
    assert count_mistakes(left, right) == count_mistakes(right, left) <= max(len(left), len(right))
