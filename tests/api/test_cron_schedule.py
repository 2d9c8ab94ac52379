"""The schedule language: what each form allows, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.api.cron_schedule import CronError, CronSchedule, FixedInterval, parse_schedule


def fields(text: str) -> CronSchedule:
    schedule = parse_schedule(text)
    assert isinstance(schedule, CronSchedule)
    return schedule


@pytest.mark.parametrize(
    ("minute", "allowed"),
    [
        ("0", {0}),
        ("+7", {7}),
        ("5,10,15", {5, 10, 15}),
        ("5,,10", {5, 10}),
        ("10-13", {10, 11, 12, 13}),
        ("10-20/5", {10, 15, 20}),
        ("50/4", {50, 54, 58}),
        ("*/20", {0, 20, 40}),
        ("?/20", {0, 20, 40}),
        ("*/100", {0}),
        ("58-59,1-2", {58, 59, 1, 2}),
        ("*", set(range(60))),
        ("?", set(range(60))),
    ],
)
def test_forms_of_a_field(minute: str, allowed: set[int]) -> None:
    assert fields(f"{minute} 0 1 1 0").minutes == allowed


def test_names_of_months_and_weekdays_in_any_case() -> None:
    schedule = fields("0 0 * JAN,mar-May/2 Mon-FRI")
    assert schedule.months == {1, 3, 5}
    assert schedule.weekdays == {1, 2, 3, 4, 5}


def test_blanks_around_and_between_fields_do_not_matter() -> None:
    assert parse_schedule("  0\t9  * *   1 ") == parse_schedule("0 9 * * 1")


@pytest.mark.parametrize(
    ("descriptor", "same_as"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ],
)
def test_descriptors(descriptor: str, same_as: str) -> None:
    assert parse_schedule(descriptor) == parse_schedule(same_as)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("@every 30s", 30), ("@every 1h30m", 5400), ("@every 90.9s", 90), ("@every 10ms", 1), ("@every 0", 1)],
)
def test_fixed_intervals(text: str, seconds: int) -> None:
    assert parse_schedule(text) == FixedInterval(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty spec string"),
        ("   ", "expected exactly 5 fields, found 0: []"),
        ("invalid cron", "expected exactly 5 fields, found 2"),
        ("invalid cron string", "expected exactly 5 fields, found 3"),
        ("* * * * * *", "expected exactly 5 fields, found 6"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * 32 * *", "above maximum (31)"),
        ("* * * 13 *", "above maximum (12)"),
        ("* * * * 7", "above maximum (6): 7"),
        ("* * * * 1-7", "above maximum (6)"),
        ("5-3 * * * *", "beyond end of range"),
        ("* * * * fri-mon", "beyond end of range"),
        ("*/0 * * * *", "step of range should be a positive number"),
        ("*/-2 * * * *", "negative number (-2) not allowed: -2"),
        ("x/0 * * * *", "failed to parse int from x: "),
        ("70/0 * * * *", "beginning of range (70) beyond end of range (59): 70/0"),
        ("*/x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("-1 * * * *", "failed to parse int from : "),
        ("1.5 * * * *", "failed to parse int from 1.5: "),
        ("jan * * * *", "failed to parse int from jan: "),
        ("* * L * *", "failed to parse int from L: "),
        ("* * 15W * *", "failed to parse int from 15W: "),
        ("* * * * 5#3", "failed to parse int from 5#3: "),
        ("٣ * * * *", "failed to parse int from ٣: "),
        ("9" * 5000 + " * * * *", "failed to parse"),
        ("@reboot", "unrecognized descriptor: @reboot"),
        ("@Daily", "unrecognized descriptor: @Daily"),
        ("@daily ", "unrecognized descriptor"),
        ("@every", "unrecognized descriptor: @every"),
        ("@every soon", "failed to parse duration @every soon"),
        ("@every  5m", "failed to parse duration"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(CronError) as refused:
        parse_schedule(text)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "day", "weekday", "runs"),
    [
        ("0 0 13 * 5", 13, 1, True),  # both restricted: either one is enough
        ("0 0 13 * 5", 20, 5, True),
        ("0 0 13 * 5", 20, 1, False),
        ("0 0 13 * *", 13, 1, True),  # a star: both must hold
        ("0 0 13 * *", 14, 1, False),
        ("0 0 ? * 5", 14, 5, True),
        ("0 0 ? * 5", 14, 4, False),
        ("0 0 */2 * 5", 2, 5, True),  # a step is no star
        ("0 0 */2 * 5", 3, 2, True),
        ("0 0 */2 * 5", 2, 2, False),
        ("0 0 */1 * 5", 2, 2, False),  # a step of one is
        ("0 0 */1 * 5", 2, 5, True),
    ],
)
def test_days_match(text: str, day: int, weekday: int, runs: bool) -> None:
    assert fields(text).matches(0, 0, day, 6, weekday) is runs


@given(st.integers(0, 59), st.integers(0, 23), st.integers(1, 31), st.integers(1, 12), st.integers(0, 6))
def test_a_schedule_of_numbers_matches_its_own_minute_and_no_other(
    minute: int, hour: int, day: int, month: int, weekday: int
) -> None:
    schedule = fields(f"{minute} {hour} {day} {month} {weekday}")
    assert schedule.matches(minute, hour, day, month, weekday)
    assert not schedule.matches((minute + 1) % 60, hour, day, month, weekday)
    assert not schedule.matches(minute, (hour + 1) % 24, day, month, weekday)
    assert not schedule.matches(minute, hour, day, month % 12 + 1, weekday)


@given(st.text(alphabet="0123456789*?/-,@ janMON\t٣+", max_size=30))
def test_any_other_text_is_refused_with_a_reason(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except CronError:
        return
    assert isinstance(schedule, CronSchedule)
    assert schedule.minutes <= set(range(60))
    assert schedule.weekdays <= set(range(7))
