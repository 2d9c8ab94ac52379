"""Go durations in nanoseconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.api.go_duration import DurationError, format_go_duration, parse_go_duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+0", 0),
        ("0s", 0),
        ("5m", 300 * SECOND),
        ("1h30m", 5400 * SECOND),
        ("1h1m1s1ms1us1ns", 3661 * SECOND + 1_001_001),
        ("2µs3μs", 5000),
        ("1.5s", SECOND * 3 // 2),
        (".5s", SECOND // 2),
        ("1.s", SECOND),
        ("-5m", -300 * SECOND),
        ("+10s", 10 * SECOND),
        ("0.9ns", 0),
        ("0000000000000000000000000001s", SECOND),
        ("0." + "3" * 60 + "s", 333_333_333),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_go_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "+",
        "3",
        "300",
        "-100",
        ".s",
        "-.s",
        "s",
        "5 m",
        " 5m",
        "5m ",
        "1d",
        "1h-1m",
        "--1s",
        "1..5s",
        "bad",
        "٣s",
    ],
)
def test_texts_that_are_no_duration(text: str) -> None:
    with pytest.raises(DurationError, match="invalid duration"):
        parse_go_duration(text)


@pytest.mark.parametrize("text", ["9223372036854775808ns", "-9223372036854775809ns", "3000000h", "9" * 5000 + "h"])
def test_durations_beyond_64_bits_are_refused(text: str) -> None:
    with pytest.raises(DurationError, match="longer than 292 years"):
        parse_go_duration(text)


@given(st.integers(0, 10**6), st.integers(0, 59), st.integers(0, 59), st.booleans())
def test_a_sum_of_units(hours: int, minutes: int, seconds: int, negative: bool) -> None:
    expected = (hours * 3600 + minutes * 60 + seconds) * SECOND
    text = f"{'-' if negative else ''}{hours}h{minutes}m{seconds}s"
    assert parse_go_duration(text) == (-expected if negative else expected)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((20, "20s"), (90, "1m30s"), (300, "5m0s"), (7200, "2h0m0s"), (1.5, "1.5s"), (3661.25, "1h1m1.25s")),
        *((0, "0s"), (0.5, "500ms"), (0.0125, "12.5ms"), (0.000_25, "250µs"), (0.000_000_007, "7ns")),
    ],
)
def test_durations_are_told_as_go_tells_them(seconds: float, text: str) -> None:
    assert format_go_duration(seconds) == text
    assert parse_go_duration(text) == pytest.approx(seconds * SECOND)
