"""When a schedule runs next: the moments whose wall clock in a zone matches it.

A tick is a moment, not a wall-clock time: what a clock skips in spring is skipped, and what it shows twice in autumn
runs twice, as in KubeRay (raycronjob.md §2.2). Days are looked at one after another, up to the end of the fifth year;
a day without a change of the clock is arithmetic, and on the others every candidate is asked for itself. Moments are
epoch seconds.
"""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import product

from heliostat.api.cron_schedule import CronSchedule, FixedInterval, Schedule

HORIZON_YEARS = 5
_DAY = timedelta(days=1)
_FARTHEST = 15 * 3600  # no zone is farther from UTC, in seconds
_STEP = 3 * 3600  # between two looks at a zone's offset
_LAST_YEAR = 9990
_WINDOW, _WIDER = 120.0, 8


def next_tick(schedule: Schedule, after: float, zone: tzinfo) -> float | None:
    """The first tick after this moment; None: there is none within five years."""
    if isinstance(schedule, FixedInterval):
        return float(math.floor(after) + schedule.seconds)
    for day in _matching_days(schedule, after, zone):
        found = _first_on(schedule, day, after, zone)
        if found is None:
            continue
        if _fixed_offset(day, zone) is not None:
            return found
        # A clock that is set back over midnight shows the end of this day once more, after the next one has begun.
        following = day + _DAY
        other = _first_on(schedule, following, after, zone) if _is_matching(schedule, following) else None
        return found if other is None else min(found, other)
    return None


def list_ticks(schedule: Schedule, after: float, zone: tzinfo) -> Iterator[float]:
    tick = next_tick(schedule, after, zone)
    while tick is not None:
        yield tick
        tick = next_tick(schedule, tick, zone)


def latest_tick(schedule: Schedule, after: float, until: float, zone: tzinfo) -> float | None:
    """The last tick after one moment and not after the other. Cheap, however many ticks there are between them."""
    if isinstance(schedule, FixedInterval):
        count = math.floor((until - math.floor(after)) / schedule.seconds)
        return float(math.floor(after) + count * schedule.seconds) if count > 0 else None
    window = _WINDOW
    while True:
        start = max(after, until - window)
        latest = None
        for tick in list_ticks(schedule, start, zone):
            if tick > until:
                break
            latest = tick
        if latest is not None or start == after:
            return latest
        window *= _WIDER


def _matching_days(schedule: CronSchedule, after: float, zone: tzinfo) -> Iterator[date]:
    """From the day before: a clock that is set back over midnight shows that one again."""
    try:
        today = datetime.fromtimestamp(after, zone).date()
    except (OverflowError, ValueError, OSError):
        return  # no clock shows such a year
    last = min(today.year + HORIZON_YEARS, _LAST_YEAR)
    day = today - _DAY
    while day.year <= last:
        if day.month not in schedule.months:
            day = (day.replace(day=1) + 31 * _DAY).replace(day=1)
            continue
        if _is_matching(schedule, day):
            yield day
        day += _DAY


def _is_matching(schedule: CronSchedule, day: date) -> bool:
    return day.month in schedule.months and schedule.matches_day(day.day, day.isoweekday() % 7)


def _first_on(schedule: CronSchedule, day: date, after: float, zone: tzinfo) -> float | None:
    offset = _fixed_offset(day, zone)
    if offset is None:
        return min((tick for tick in _shown_on(schedule, day, zone) if tick > after), default=None)
    midnight = _midnight(day) - offset
    for hour in sorted(schedule.hours):
        if midnight + hour * 3600 + 3599 <= after:
            continue
        for minute in sorted(schedule.minutes):
            tick = midnight + hour * 3600 + minute * 60
            if tick > after:
                return tick
    return None


def _midnight(day: date) -> float:
    """As if the clock showed UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _fixed_offset(day: date, zone: tzinfo) -> float | None:
    """Of the zone on this day, in seconds east of UTC; None: the clock is set anew on it or close to it."""
    if zone is UTC:
        return 0.0
    begin = int(_midnight(day)) - _FARTHEST
    moments = range(begin, begin + 86400 + 2 * _FARTHEST + _STEP, _STEP)
    offsets = {datetime.fromtimestamp(moment, zone).utcoffset() for moment in moments}
    found = offsets.pop()
    return None if offsets or found is None else found.total_seconds()


def _shown_on(schedule: CronSchedule, day: date, zone: tzinfo) -> Iterator[float]:
    """Every moment of the day that a clock really shows, those that it shows twice as two."""
    for hour, minute in product(schedule.hours, schedule.minutes):
        wall = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001  of the zone, asked for below
        for fold in (0, 1):
            moment = wall.replace(tzinfo=zone, fold=fold).timestamp()
            if datetime.fromtimestamp(moment, zone).replace(tzinfo=None, fold=0) == wall:
                yield moment
