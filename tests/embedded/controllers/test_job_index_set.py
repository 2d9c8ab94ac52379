"""Sets of completion indexes and their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.controllers.jobs.index_set import NO_INDEXES, parse_indexes

INDEXES = st.sets(st.integers(0, 60))


@pytest.mark.parametrize(
    ("text", "completions", "read"),
    [
        ("", 5, ""),
        ("1,3-5,7", 10, "1,3-5,7"),
        ("0,1", 5, "0,1"),
        ("0-1,2", 5, "0-2"),
        ("1,3-5,7", 5, "1,3,4"),
        ("7", 5, ""),
        ("x,2,4-y,-1,3-", 9, "2"),
        ("5-3", 9, ""),
    ],
)
def test_texts(text: str, completions: int, read: str) -> None:
    assert str(parse_indexes(text, completions)) == read


@given(INDEXES)
def test_a_set_survives_its_text(indexes: set[int]) -> None:
    found = NO_INDEXES.with_indexes(indexes)
    assert parse_indexes(str(found), 100) == found
    assert len(found) == len(indexes)
    assert {index for index in range(100) if index in found} == indexes


@given(INDEXES, INDEXES, st.integers(0, 70))
def test_it_is_a_set(left: set[int], right: set[int], end: int) -> None:
    one, other = NO_INDEXES.with_indexes(left), NO_INDEXES.with_indexes(right)
    assert one.union(other) == NO_INDEXES.with_indexes(left | right)
    assert one.count_common(other) == len(left & right)
    assert list(one.missing_below(end)) == sorted(set(range(end)) - left)
