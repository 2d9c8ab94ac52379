"""Ray versions: what parses, what does not and why, and which of two is newer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.api.ray_version import NotAVersion, is_at_least, parse_ray_version, read_ray_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.53.0", (2, 53, 0)),
        ("2.53", (2, 53)),
        ("v2.9.3", (2, 9, 3)),
        (" \t2.9.3", (2, 9, 3)),
        ("2.53.0rc1", (2, 53, 0)),
        ("2.53.0.dev1", (2, 53, 0)),
        ("2.53.0-py311-gpu", (2, 53, 0)),
        ("2.09.0", (2, 9, 0)),
        ("0.1", (0, 1)),
        ("3.0.0.0.7", (3, 0, 0, 0, 7)),
    ],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert parse_ray_version(text) == version


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nightly", 'could not parse "nightly" as version'),
        ("invalid-version", 'could not parse "invalid-version" as version'),
        ("V2.9", 'could not parse "V2.9" as version'),
        ("2.9\n", 'could not parse "2.9\\n" as version'),
        ("2", 'illegal version string "2"'),
        ("2rc1", 'illegal version string "2rc1"'),
        ("02.53.0", 'illegal zero-prefixed version component "02" in "02.53.0"'),
        ("2.99999999999999999999", 'illegal non-numeric version component "99999999999999999999"'),
        ("2." + "9" * 5000, "illegal non-numeric version component"),
    ],
)
def test_texts_that_are_no_version(text: str, why: str) -> None:
    found = read_ray_version(text)
    assert isinstance(found, NotAVersion)
    assert found.why.startswith(why)
    assert parse_ray_version(text) is None


@pytest.mark.parametrize(
    ("text", "minimum", "reached"),
    [
        ("2.53.0", (2, 53, 0), True),
        ("2.53", (2, 53, 0), True),
        ("2.53.0", (2, 53), True),
        ("2.53.0.1", (2, 53, 0), True),
        ("2.53.0.dev1", (2, 53, 0), True),
        ("2.52.9", (2, 53, 0), False),
        ("2.9.0", (2, 53, 0), False),
        ("3.0.0", (2, 53, 0), True),
        ("nightly", (2, 53, 0), False),
        ("", (2, 53, 0), False),
        (None, (2, 53, 0), False),
    ],
)
def test_order(text: str | None, minimum: tuple[int, ...], reached: bool) -> None:
    assert is_at_least(text, minimum) is reached


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=5), st.sampled_from(["", "rc1", "+abc", ".dev", "-x.y"]))
def test_numbers_survive_any_ending(numbers: list[int], ending: str) -> None:
    text = ".".join(map(str, numbers))
    assert parse_ray_version(text + ending) == tuple(numbers)
    assert is_at_least(text + ending, tuple(numbers))
    assert not is_at_least(text, (*numbers[:-1], numbers[-1] + 1))
