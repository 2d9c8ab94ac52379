"""The schedule language of RayCronJob: what a schedule text and a time zone mean.

Five fields (minute, hour, day of month, month, day of week) or a descriptor such as ``@daily`` or ``@every 90s``. A
field is a comma list of numbers or names, ranges and steps. When both day fields are restricted, either one is enough;
when one of them is a star, both must hold. KubeRay: raycronjob.md §2.2. Finding the next tick is not this module's
work.
"""

from datetime import UTC, tzinfo
from typing import TypeAlias

from msgspec import Struct

from heliostat.api.go_duration import DurationError, parse_go_duration
from heliostat.kube.counts import read_count


class CronError(ValueError):
    """The text is not a schedule; the message says which part and why."""


class CronSchedule(Struct, frozen=True):
    """The minutes at which to run, as the sets each field allows."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    any_day: bool  # day of month is a star
    any_weekday: bool

    def matches(self, minute: int, hour: int, day: int, month: int, weekday: int) -> bool:
        """Whether this minute of the wall clock is one to run at."""
        return minute in self.minutes and hour in self.hours and month in self.months and self.matches_day(day, weekday)

    def matches_day(self, day: int, weekday: int) -> bool:
        by_month, by_week = day in self.days, weekday in self.weekdays
        return (by_month and by_week) if self.any_day or self.any_weekday else (by_month or by_week)


class FixedInterval(Struct, frozen=True):
    """``@every``: a number of whole seconds after the last time."""

    seconds: int


Schedule: TypeAlias = CronSchedule | FixedInterval


class _Field(Struct, frozen=True):
    lowest: int
    highest: int
    names: dict[str, int] = {}


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field(0, 59),
    _Field(0, 23),
    _Field(1, 31),
    _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    _Field(0, 6, {name: number for number, name in enumerate(_WEEKDAYS)}),
)
_DESCRIPTORS: dict[str, str] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "


def parse_schedule(text: str) -> Schedule:
    """Raises CronError."""
    if text.startswith(_EVERY):
        return _parse_interval(text)
    if text.startswith("@"):
        return _parse_fields(_described(text))
    return _parse_fields(text)


def _parse_interval(text: str) -> FixedInterval:
    try:
        nanoseconds = parse_go_duration(text.removeprefix(_EVERY))
    except DurationError as error:
        raise CronError(f"failed to parse duration {text}: {error}") from None
    return FixedInterval(max(1, nanoseconds // 1_000_000_000))


def _described(text: str) -> str:
    if text not in _DESCRIPTORS:
        raise CronError(f"unrecognized descriptor: {text}")
    return _DESCRIPTORS[text]


def _parse_fields(text: str) -> CronSchedule:
    if not text:
        raise CronError("empty spec string")
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise CronError(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    values = [_parse_field(part, field) for part, field in zip(parts, _FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = values
    return CronSchedule(minutes, hours, days, months, weekdays, any_day, any_weekday)


def _parse_field(text: str, field: _Field) -> tuple[frozenset[int], bool]:
    """The allowed values, and whether a star stands among them."""
    allowed: set[int] = set()
    has_star = False
    for item in text.split(","):
        if item:  # KubeRay: an empty item of a list is skipped
            values, is_star = _parse_item(item, field)
            allowed.update(values)
            has_star = has_star or is_star
    return frozenset(allowed), has_star


def _parse_item(item: str, field: _Field) -> tuple[range, bool]:
    span, *steps = item.split("/")
    low_text, *highs = span.split("-")
    is_star = low_text in ("*", "?")
    low, high = (field.lowest, field.highest) if is_star else _parse_span(item, low_text, highs, field)
    if len(steps) > 1:
        raise CronError(f"too many slashes: {item}")
    step = _parse_number(steps[0]) if steps else 1
    if steps and not highs:
        high = field.highest  # a single value with a step goes on to the end
    _check_bounds(low, high, step, field, item)
    return range(low, high + 1, step), is_star and step == 1


def _parse_span(item: str, low_text: str, highs: list[str], field: _Field) -> tuple[int, int]:
    low = _parse_value(low_text, field)
    if len(highs) > 1:
        raise CronError(f"too many hyphens: {item}")
    return low, _parse_value(highs[0], field) if highs else low


def _parse_value(text: str, field: _Field) -> int:
    value = field.names.get(text.lower())
    return _parse_number(text) if value is None else value


def _parse_number(text: str) -> int:
    value = read_count(text.removeprefix("+"))
    if value is None and text.startswith("-") and read_count(text[1:]):
        raise CronError(f"negative number ({text}) not allowed: {text}")
    if value is None:
        raise CronError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return value


def _check_bounds(low: int, high: int, step: int, field: _Field, item: str) -> None:
    """In the words of the library that KubeRay uses: they are told in its events."""
    if low < field.lowest:
        raise CronError(f"beginning of range ({low}) below minimum ({field.lowest}): {item}")
    if high > field.highest:
        raise CronError(f"end of range ({high}) above maximum ({field.highest}): {item}")
    if low > high:
        raise CronError(f"beginning of range ({low}) beyond end of range ({high}): {item}")
    if step == 0:
        raise CronError(f"step of range should be a positive number: {item}")


def find_time_zone(name: str | None) -> tzinfo | None:
    """By its IANA name; None: there is no such zone. Without a name it is UTC (differs from KubeRay: cron-zone)."""
    if name is None:
        return UTC
    import zoneinfo  # noqa: PLC0415 - it reads files and is needed for RayCronJobs only

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None
