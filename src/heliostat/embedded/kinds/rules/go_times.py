"""Times as a typed server reads and writes them: RFC 3339, whole seconds or exactly six digits, always UTC.

``Time`` takes any fraction and forgets it; ``MicroTime`` insists on six digits. What neither can read gets Go's own
sentence, which names the first part of the layout that does not fit.
"""

import re

from heliostat.kube.go_text import go_quote
from heliostat.kube.timestamps import TimestampError, format_micro_timestamp, format_timestamp, parse_timestamp

_SECONDS_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_IS_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_IS_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)

_DATE_AND_TIME = [("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T"),
                  ("15", r"\d\d"), (":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d")]  # fmt: skip
_ZONE = ("Z07:00", r"Z|[+-]\d\d:\d\d")
_SECONDS_PARTS = [*_DATE_AND_TIME, ("", r"(?:\.\d+)?"), _ZONE]
_MICRO_PARTS = [*_DATE_AND_TIME, (".000000", r"\.\d{6}(?!\d)"), _ZONE]
_RANGES = (("month", 5, 1, 12), ("day", 8, 1, 31), ("hour", 11, 0, 23), ("minute", 14, 0, 59), ("second", 17, 0, 59))


class TimeTextError(ValueError):
    """Why a text is no time, in Go's words."""


def read_time(text: str) -> str:
    """The text as it is written back."""
    if _IS_SECONDS.fullmatch(text) is not None:
        _check_ranges(text)
    else:
        _explain(text, _SECONDS_LAYOUT, _SECONDS_PARTS)
    return format_timestamp(_epoch(text))


def read_micro_time(text: str) -> str:
    if _IS_MICRO.fullmatch(text) is not None:
        _check_ranges(text)
    else:
        _explain(text, _MICRO_LAYOUT, _MICRO_PARTS)
    return format_micro_timestamp(_epoch(text))


def _epoch(text: str) -> float:
    try:
        return parse_timestamp(text)
    except TimestampError:
        raise TimeTextError(f"parsing time {go_quote(text)}: day out of range") from None


def _explain(text: str, layout: str, parts: list[tuple[str, str]]) -> None:
    """Raises what is wrong; returns when only the zone or the fraction is unusual."""
    at = 0
    for name, pattern in parts:
        found = re.compile(pattern, re.ASCII).match(text, at)
        if found is None:
            why = f"cannot parse {go_quote(text[at:])} as {go_quote(name)}"
            _check_ranges(text[:at])
            raise TimeTextError(f"parsing time {go_quote(text)} as {go_quote(layout)}: {why}")
        at = found.end()
    if at != len(text):
        raise TimeTextError(f"parsing time {go_quote(text)}: extra text: {go_quote(text[at:])}")
    _check_ranges(text)


def _check_ranges(text: str) -> None:
    for name, start, lowest, highest in _RANGES:
        digits = text[start : start + 2]
        if len(digits) == 2 and not lowest <= int(digits) <= highest:
            raise TimeTextError(f"parsing time {go_quote(text)}: {name} out of range")
