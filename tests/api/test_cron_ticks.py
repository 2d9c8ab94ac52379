"""When a schedule runs next: moments that a clock shows, across changes of the clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.api.cron_schedule import CronSchedule, FixedInterval, find_time_zone, parse_schedule
from heliostat.api.cron_ticks import latest_tick, list_ticks, next_tick

NEW_YORK = "America/New_York"
ZONES = ("UTC", NEW_YORK, "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Beirut")


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "tick"),
    [
        ("*/5 * * * *", "UTC", "2024-01-01T00:00:00Z", "2024-01-01T00:05:00Z"),
        ("*/5 * * * *", "UTC", "2024-01-01T00:04:59Z", "2024-01-01T00:05:00Z"),
        ("0 9 * * *", "Asia/Taipei", "2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z"),
        ("0 0 29 2 *", "UTC", "2024-03-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 13 * 5", "UTC", "2024-01-01T00:00:00Z", "2024-01-05T00:00:00Z"),  # either day is enough
        ("0 0 */2 * 5", "UTC", "2024-01-01T00:00:01Z", "2024-01-03T00:00:00Z"),  # a step is no star
        ("@every 90s", "UTC", "2024-01-01T00:00:00.5Z", "2024-01-01T00:01:30Z"),
        # Clocks go forward: 02:30 is never shown that day, and the hourly run goes from 01:00 to 03:00.
        ("30 2 11 3 *", NEW_YORK, "2012-03-11T00:00:00-05:00", "2013-03-11T02:30:00-04:00"),
        ("0 * * * *", NEW_YORK, "2012-03-11T01:00:00-05:00", "2012-03-11T03:00:00-04:00"),
        ("0 2 * * *", NEW_YORK, "2012-03-11T00:00:00-05:00", "2012-03-12T02:00:00-04:00"),
        # Clocks go back: 01:00 is shown twice, and is two ticks.
        ("0 1 * * *", NEW_YORK, "2012-11-04T00:00:00-04:00", "2012-11-04T01:00:00-04:00"),
        ("0 1 * * *", NEW_YORK, "2012-11-04T01:00:00-04:00", "2012-11-04T01:00:00-05:00"),
        ("0 1 * * *", NEW_YORK, "2012-11-04T01:00:00-05:00", "2012-11-05T01:00:00-05:00"),
        ("30 1 4 11 *", NEW_YORK, "2012-11-04T01:45:00-04:00", "2012-11-04T01:30:00-05:00"),
        # A day without a midnight.
        ("0 9 10 * *", "America/Sao_Paulo", "2018-10-17T05:00:00-04:00", "2018-11-10T06:00:00-05:00"),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T00:00:00-03:00", "2018-11-05T00:00:00-02:00"),
    ],
)
def test_the_next_tick(schedule: str, zone: str, after: str, tick: str) -> None:
    assert next_tick(parse_schedule(schedule), moment(after), ZoneInfo(zone)) == moment(tick)


@pytest.mark.parametrize("schedule", ["0 0 30 2 *", "0 0 31 4,6 *"])
def test_a_date_that_never_comes_has_no_tick(schedule: str) -> None:
    assert next_tick(parse_schedule(schedule), moment("2024-01-01T00:00:00Z"), UTC) is None


@pytest.mark.parametrize("after", [-1e18, 1e18, 253402300799.0])
def test_times_that_no_calendar_has_are_no_error(after: float) -> None:
    assert next_tick(parse_schedule("* * * * *"), after, UTC) is None


def test_a_zone_that_nobody_knows_is_none_and_no_zone_is_utc() -> None:
    assert find_time_zone("Invalid/Zone") is None
    assert find_time_zone(None) is UTC


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "15,45", "59"]),
    st.sampled_from(["*", "0", "2", "1-3", "*/5", "23"]),
    st.sampled_from(["*", "1", "*/3", "31"]),
    st.sampled_from(["*", "3,10,11", "2"]),
    st.sampled_from(["*", "0", "1-5"]),
).map(" ".join)
MOMENTS = st.integers(int(moment("2011-01-01T00:00:00Z")), int(moment("2030-01-01T00:00:00Z")))


def shows(schedule: CronSchedule, at: float, zone: ZoneInfo) -> bool:
    wall = datetime.fromtimestamp(at, zone)
    return wall.second == 0 and schedule.matches(wall.minute, wall.hour, wall.day, wall.month, wall.isoweekday() % 7)


@given(fields=FIELDS, zone=st.sampled_from(ZONES), after=MOMENTS)
def test_a_clock_shows_every_tick_and_none_is_left_out(fields: str, zone: str, after: int) -> None:
    schedule, where = parse_schedule(fields), ZoneInfo(zone)
    assert isinstance(schedule, CronSchedule)
    tick = next_tick(schedule, after, where)
    assert tick is None or (tick > after and shows(schedule, tick, where))
    end = min(tick if tick is not None else after + 86400 * 2, after + 86400 * 2)
    first_minute = after - after % 60 + 60
    assert not any(shows(schedule, at, where) for at in range(first_minute, int(end), 60))


@given(zone=st.sampled_from(ZONES[1:]), year=st.integers(2012, 2029), hour=st.integers(0, 8759))
def test_around_every_change_of_the_clock_an_hourly_schedule_runs_once_in_each_hour(
    zone: str, year: int, hour: int
) -> None:
    """In moments, not in wall-clock hours; zones that move by half an hour run twice within one of them."""
    after = moment(f"{year}-01-01T00:00:00Z") + hour * 3600
    ticks = list_ticks(parse_schedule("*/30 * * * *"), after, ZoneInfo(zone))
    first, second, third = next(ticks), next(ticks), next(ticks)
    assert (second - first, third - second) == (1800, 1800)


@given(fields=FIELDS, zone=st.sampled_from(ZONES), after=MOMENTS, hours=st.integers(0, 24 * 9))
def test_the_latest_tick_is_the_last_of_all(fields: str, zone: str, after: int, hours: int) -> None:
    schedule, where, until = parse_schedule(fields), ZoneInfo(zone), after + hours * 3600
    latest, tick = None, next_tick(schedule, after, where)
    step = 0
    while tick is not None and tick <= until and step < 200:
        latest, tick, step = tick, next_tick(schedule, tick, where), step + 1
    if step < 200:
        assert latest_tick(schedule, after, until, where) == latest


def test_the_latest_of_very_many_ticks_is_found_at_once() -> None:
    now = moment("2026-06-01T00:00:30Z")
    past = now - timedelta(days=3650).total_seconds()
    assert latest_tick(parse_schedule("* * * * *"), past, now, UTC) == now - 30
    assert latest_tick(FixedInterval(1), past, now, UTC) == now
    assert latest_tick(parse_schedule("0 0 1 1 *"), past, now, UTC) == moment("2026-01-01T00:00:00Z")
