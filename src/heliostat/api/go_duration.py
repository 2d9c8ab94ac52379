"""Durations as Go writes them (``1h30m``, ``1.5s``, ``-2m``), in nanoseconds.

A sign, then numbers each with a unit; only ``0`` needs no unit. Digits beyond a nanosecond are cut off.
"""

import re

_UNITS: dict[str, int] = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_LIMIT = 2**63


class DurationError(ValueError):
    """The text is not a Go duration."""


def parse_go_duration(text: str) -> int:
    """Nanoseconds; raises DurationError."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    total = sum(_terms(rest, text))
    if total > _LIMIT - (not negative):
        raise DurationError(f'invalid duration "{text}": longer than 292 years')
    return -total if negative else total


def _terms(rest: str, text: str) -> list[int]:
    terms: list[int] = []
    position = 0
    while position < len(rest) or not terms:
        match = _TERM.match(rest, position)
        if match is None or not (match[1] or match[2]):
            raise DurationError(f'invalid duration "{text}": expected a number and a unit, such as 30s or 1h30m')
        terms.append(_term(match, text))
        position = match.end()
    return terms


def _term(match: re.Match[str], text: str) -> int:
    whole, fraction, unit = match[1].lstrip("0"), (match[2] or "")[:30], match[3]
    scale = _UNITS.get(unit)
    if scale is None:
        raise DurationError(f'invalid duration "{text}": unknown unit "{unit}", use one of {", ".join(_UNITS)}')
    if len(whole) > 19:
        raise DurationError(f'invalid duration "{text}": longer than 292 years')
    value: int = (int(whole or "0") * 10 ** len(fraction) + int(fraction or "0")) * scale // 10 ** len(fraction)
    return value


def format_go_duration(seconds: float) -> str:
    """As Go prints it: ``1m30s``, ``2h0m0s``, ``1.5s``; what is shorter than a second in its own unit, ``500ms``."""
    nanoseconds = round(seconds * _UNITS["s"])
    if 0 < nanoseconds < _UNITS["s"]:
        unit = next(unit for unit in ("ms", "µs", "ns") if nanoseconds >= _UNITS[unit])
        return _decimal(nanoseconds, _UNITS[unit]) + unit
    minutes, rest = divmod(nanoseconds, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    text = _decimal(rest, _UNITS["s"]) + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _decimal(value: int, unit: int) -> str:
    """Without zeros at the end; units are powers of ten."""
    whole, fraction = divmod(value, unit)
    return f"{whole}.{fraction:0{len(str(unit)) - 1}d}".rstrip("0") if fraction else str(whole)
