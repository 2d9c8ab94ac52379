"""Ages and durations as kubectl prints them: two units at most, and coarser the longer it is.

Rules: seconds up to two minutes, then minutes (with seconds below ten of them), hours, days, years; a future beyond
clock skew is ``<invalid>``, an absent time ``<unknown>``.
"""

from typing import Any

from heliostat.kube.timestamps import TimestampError, parse_timestamp

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400

# Below this many seconds: the unit, and the smaller unit shown beside it (0: none).
_STEPS = (
    (2 * _MINUTE, 1, 0),
    (10 * _MINUTE, _MINUTE, 1),
    (3 * _HOUR, _MINUTE, 0),
    (8 * _HOUR, _HOUR, _MINUTE),
    (2 * _DAY, _HOUR, 0),
    (8 * _DAY, _DAY, _HOUR),
    (2 * _YEAR, _DAY, 0),
    (8 * _YEAR, _YEAR, _DAY),
)
_LETTERS = {1: "s", _MINUTE: "m", _HOUR: "h", _DAY: "d", _YEAR: "y"}


def human_duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < -1:
        return INVALID
    whole = max(whole, 0)
    for limit, unit, smaller in _STEPS:
        if whole < limit:
            return _in_units(whole, unit, smaller)
    return _in_units(whole, _YEAR, 0)


def _in_units(whole: int, unit: int, smaller: int) -> str:
    text = f"{whole // unit}{_LETTERS[unit]}"
    rest = whole % unit // smaller if smaller else 0
    return f"{text}{rest}{_LETTERS[smaller]}" if rest else text


def age(timestamp: Any, now: float) -> str:
    """How long ago; the time is as the API writes it."""
    if not timestamp:
        return UNKNOWN
    try:
        return human_duration(now - parse_timestamp(timestamp))
    except TimestampError:
        return INVALID
