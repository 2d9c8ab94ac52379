"""Is a text a cron schedule of five fields or a descriptor, and if not, why, in the words CronJobs are refused with."""

import re

from msgspec import Struct

from heliostat.kube.counts import read_count
from heliostat.kube.go_text import go_quote

_DURATION = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+", re.ASCII)
_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})


class _Bounds(Struct, frozen=True):
    lowest: int
    highest: int
    names: tuple[str, ...] = ()


_MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (_Bounds(0, 59), _Bounds(0, 23), _Bounds(1, 31), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


class _CronError(ValueError):
    pass


def cron_problem(text: str) -> str:
    """Empty for a schedule that can be read."""
    try:
        _read(text)
    except _CronError as error:
        return str(error)
    return ""


def _read(text: str) -> None:
    if text.startswith(("TZ=", "CRON_TZ=")):
        _zone, _blank, text = text.partition(" ")
        text = text.strip()
    if not text:
        raise _CronError("empty spec string")
    if text.startswith("@"):
        _read_descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise _CronError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for part in (part for part in field.split(",") if part):
            _read_range(part, bounds)


def _read_descriptor(text: str) -> None:
    if text in _DESCRIPTORS or (text.startswith("@every ") and _is_duration(text.removeprefix("@every "))):
        return
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        raise _CronError(f"failed to parse duration {text}: time: invalid duration {go_quote(duration)}")
    raise _CronError(f"unrecognized descriptor: {text}")


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None


def _read_range(text: str, bounds: _Bounds) -> None:
    span, *steps = text.split("/")
    first, *others = span.split("-")
    if first in ("*", "?"):
        start, end = bounds.lowest, bounds.highest
    else:
        start = _read_number(first, bounds)
        if len(others) > 1:
            raise _CronError(f"too many hyphens: {text}")
        end = _read_number(others[0], bounds) if others else start
    if len(steps) > 1:
        raise _CronError(f"too many slashes: {text}")
    if steps:
        step = _read_whole(steps[0])
        end = bounds.highest if not others and first not in ("*", "?") else end
        if step == 0:
            raise _CronError(f"step of range should be a positive number: {text}")
    if start < bounds.lowest:
        raise _CronError(f"beginning of range ({start}) below minimum ({bounds.lowest}): {text}")
    if end > bounds.highest:
        raise _CronError(f"end of range ({end}) above maximum ({bounds.highest}): {text}")
    if start > end:
        raise _CronError(f"beginning of range ({start}) beyond end of range ({end}): {text}")


def _read_number(text: str, bounds: _Bounds) -> int:
    name = text.lower()
    return bounds.names.index(name) if name and name in bounds.names else _read_whole(text)


def _read_whole(text: str) -> int:
    digits = text.removeprefix("+").removeprefix("-")
    if not digits.isdecimal() or not digits.isascii():
        raise _CronError(f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}: invalid syntax")
    number = read_count(digits)
    if number is None:
        raise _CronError(f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}: value out of range")
    if text.startswith("-"):
        raise _CronError(f"negative number ({-number}) not allowed: {text}")
    return number
