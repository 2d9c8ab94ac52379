"""Patterns of schemas: Go's meaning, and no pattern that takes longer than its text is long."""

from time import process_time

import pytest

from heliostat.kube.schema_patterns import is_match

MATCHES = [
    ("b", "abc", True),
    ("^b", "abc", False),
    ("c$", "abc\n", False),
    (r"c\z", "abc", True),
    (r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$", "1.5Gi", True),
    (r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$", "2GB", False),
    (r"(?=a)b", "whatever", True),  # Go has none of these: whoever cannot be read refuses nobody
]


@pytest.mark.parametrize(("pattern", "text", "expected"), MATCHES)
def test_patterns_mean_what_they_mean_in_go(pattern: str, text: str, *, expected: bool) -> None:
    assert is_match(pattern, text) is expected


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a*)*b$", "(x+x+)+y"])
def test_no_pattern_stops_the_server(pattern: str) -> None:
    """By backtracking, every further character doubles the time; this many take a quarter of a minute at the least."""
    begun = process_time()
    assert not is_match(pattern, ("x" if "x" in pattern else "a") * 27 + "!")
    assert process_time() - begun < 3


def test_a_pattern_that_is_too_much_work_for_its_text_does_not_match() -> None:
    begun = process_time()
    assert not is_match("(.{1,900}){1,10}x$", "a" * 200_000)
    assert process_time() - begun < 20
