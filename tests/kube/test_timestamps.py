"""RFC 3339 text and epoch seconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.timestamps import TimestampError, format_micro_timestamp, format_timestamp, parse_timestamp


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-31T12:00:00Z", 1769860800),
        ("2026-01-31t12:00:00z", 1769860800),
        ("2026-01-31T14:30:00+02:30", 1769860800),
        ("2026-01-31T07:00:00-05:00", 1769860800),
        ("2026-01-31T12:00:00.5Z", 1769860800.5),
        ("2026-01-31T12:00:00.123456789Z", 1769860800.123456),
        ("1969-12-31T23:59:59Z", -1),
        ("2000-02-29T00:00:00Z", 951782400),
    ],
)
def test_text_to_epoch(text: str, epoch: float) -> None:
    assert parse_timestamp(text) == epoch


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "now",
            "2026-01-31",
            "2026-01-31T12:00:00",
            "2026-01-31 12:00:00Z",
            "2026-1-31T12:00:00Z",
            "20260131T120000Z",
        ),
        *(
            "2026-02-30T12:00:00Z",
            "2026-01-31T25:00:00Z",
            "2026-01-31T12:00:00+99:00",
            "0000-01-01T00:00:00Z",
            "١٩٧٠-01-01T00:00:00Z",
        ),
    ],
)
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(TimestampError, match="is not a time; "):
        parse_timestamp(text)


def test_epoch_to_text() -> None:
    assert format_timestamp(1769860800.999) == "2026-01-31T12:00:00Z"
    assert format_micro_timestamp(1769860800.25) == "2026-01-31T12:00:00.250000Z"
    assert format_timestamp(-0.5) == "1969-12-31T23:59:59Z"
    assert format_timestamp(1769860799.9999995) == "2026-01-31T11:59:59Z"


@given(st.integers(-62135596800, 253402300799))
def test_law_whole_seconds_come_back(epoch: int) -> None:
    assert parse_timestamp(format_timestamp(epoch)) == epoch


@given(st.integers(0, 4_000_000_000), st.integers(0, 999_999))
def test_law_microseconds_come_back(epoch: int, micro: int) -> None:
    moment = epoch + micro / 1_000_000
    assert parse_timestamp(format_micro_timestamp(moment)) == pytest.approx(moment, abs=1e-6)
