"""Durations and timestamps to the nanosecond: their texts, their range, their parts.

Durations are written as Go writes them (``1h30m``); a schema's ``format: duration`` also takes words (``2 days``).
Timestamps are RFC 3339, years 1 to 9999. Nothing here asks for the current time.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from heliostat.embedded.cel.errors import EvaluationError
from heliostat.embedded.cel.values import MAX_INT, MIN_INT, NANOS, Duration, Timestamp

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek mu
    "ms": 1_000_000,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3_600 * NANOS,
}
_TERM = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_WORDS = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 1_000),
    (("ms", "milli"), 1_000_000),
    (("s", "sec"), NANOS),
    (("m", "min"), 60 * NANOS),
    (("h", "hr", "hour"), 3_600 * NANOS),
    (("d", "day"), 86_400 * NANOS),
    (("w", "wk", "week"), 604_800 * NANOS),
)
_WORD_TERM = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_LOCAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d{1,2}):(\d{1,2})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_FIRST = -62135596800 * NANOS
_LAST = 253402300799 * NANOS + NANOS - 1
_LONGEST_TEXT = 200


def parse_duration(text: str) -> Duration | None:
    """``1h30m``, ``-1.5s``, ``0``; None when the text is no duration."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    nanos = _sum_terms(rest) if 0 < len(rest) <= _LONGEST_TEXT else None
    if nanos is None:
        return None
    nanos = -nanos if text[0] == "-" else nanos
    return Duration(nanos) if MIN_INT <= nanos <= MAX_INT else None


def _sum_terms(text: str) -> int | None:
    total = position = 0
    while position < len(text):
        term = _TERM.match(text, position)
        if term is None or not (term[1] or term[2]):
            return None
        fraction = term[2] or ""
        total += int(term[1] + fraction or "0") * _UNITS[term[3]] // 10 ** len(fraction)
        position = term.end()
    return total


def parse_worded_duration(text: str) -> Duration | None:
    """Also ``2 days`` and ``1 hour 30 min``."""
    plain = parse_duration(text)
    if plain is not None or len(text) > _LONGEST_TEXT:
        return plain
    terms = [_word_term(int(found[1]), found[2].lower()) for found in _WORD_TERM.finditer(text)]
    known = [term for term in terms if term is not None]
    return Duration(sum(known)) if known and sum(known) <= MAX_INT else None


def _word_term(count: int, unit: str) -> int | None:
    for names, nanos in _WORDS:
        if unit in names or unit.startswith(names[-1]):
            return count * nanos
    return None


def parse_timestamp(text: str) -> Timestamp | None:
    """An RFC 3339 time; None when the text is none or there is no such day."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    day, time, fraction, zone = found.groups()
    seconds = _read_moment(f"{day}T{time}{'+00:00' if zone == 'Z' else zone}")
    if seconds is None:
        return None
    nanos = seconds * NANOS + int((fraction or "0")[:9].ljust(9, "0"))
    return Timestamp(nanos) if _FIRST <= nanos <= _LAST else None


def parse_schema_time(text: str) -> Timestamp | None:
    """What ``format: date-time`` takes: also no zone, for UTC."""
    if text == "":
        return Timestamp(0)
    return parse_timestamp(text + "Z" if _LOCAL.fullmatch(text) else text)


def parse_date(text: str) -> Timestamp | None:
    return parse_timestamp(f"{text}T00:00:00Z") if len(text) == 10 else None


def _read_moment(text: str) -> int | None:
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _SECOND
    except (ValueError, OverflowError):
        return None


def checked_duration(nanos: int) -> Duration:
    if not MIN_INT <= nanos <= MAX_INT:
        raise EvaluationError("integer overflow")
    return Duration(nanos)


def checked_timestamp(nanos: int) -> Timestamp:
    if not _FIRST <= nanos <= _LAST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos)


def format_duration(duration: Duration) -> str:
    """Seconds with as many decimals as needed: ``90s``, ``-1.5s``."""
    whole, rest = divmod(abs(duration.nanos), NANOS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if duration.nanos < 0 else ''}{whole}{fraction}s"


def format_timestamp(timestamp: Timestamp) -> str:
    seconds, rest = divmod(timestamp.nanos, NANOS)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f"{fraction}Z"


def timestamp_part(read: Callable[[datetime], int]) -> Callable[..., int]:
    """A function on timestamps that reads one part of the date, in UTC or in a named zone or offset."""

    def part(timestamp: Timestamp, zone: str = "UTC") -> int:
        try:
            return read((_EPOCH + timedelta(seconds=timestamp.nanos // NANOS)).astimezone(_zone(zone)))
        except OverflowError:
            raise EvaluationError("timestamp overflow") from None

    return part


def milliseconds(timestamp: Timestamp, zone: str = "UTC") -> int:
    """Of the second: the same in every zone, which only has to exist."""
    _zone(zone)
    return timestamp.nanos % NANOS // 1_000_000


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    """An offset such as ``-08:00`` or a name of the time zone database."""
    if name in ("UTC", ""):
        return UTC
    offset = _OFFSET.fullmatch(name)
    try:
        if offset is not None:
            sign = -1 if offset[1] == "-" else 1
            return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3])))
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None
