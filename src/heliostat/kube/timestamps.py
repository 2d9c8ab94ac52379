"""Times of the API as text: RFC 3339 in UTC, whole seconds (``Time``) or microseconds (``MicroTime``).

Epoch seconds are what the rest of the code calculates with. The current time is never asked for here.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)


class TimestampError(ValueError):
    """Not an RFC 3339 time."""


def parse_timestamp(text: str) -> float:
    """Epoch seconds of an RFC 3339 text in any zone; digits past microseconds are cut off."""
    if _RFC3339.fullmatch(text) is None:
        raise TimestampError(f"{text[:40]!r} is not a time; write it like 2026-01-31T12:00:00Z")
    try:
        return (datetime.fromisoformat(text.upper()) - _EPOCH) / _SECOND
    except (ValueError, OverflowError):
        raise TimestampError(f"{text!r} is not a time; there is no such day, hour or zone") from None


def moment_of(text: str | None) -> float | None:
    """Epoch seconds, or None when the text is missing or not a time: a text that says none is no error."""
    try:
        return parse_timestamp(text) if text else None
    except TimestampError:
        return None


def format_timestamp(epoch: float) -> str:
    """Whole seconds, cut off: ``2026-01-31T12:00:00Z``."""
    return _second_text(math.floor(epoch))


def format_micro_timestamp(epoch: float) -> str:
    """Microseconds: ``2026-01-31T12:00:00.000000Z``."""
    return _utc_text(epoch, "microseconds")


@lru_cache(maxsize=16)
def _second_text(epoch: int) -> str:
    """Kept, because everything that happens within a second is told with the same text."""
    return _utc_text(epoch, "seconds")


def _utc_text(epoch: float, precision: str) -> str:
    return (_EPOCH + timedelta(seconds=epoch)).isoformat(timespec=precision).removesuffix("+00:00") + "Z"
