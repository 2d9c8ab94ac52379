"""Logs for machines and for people: one line each, with fields, through the standard library's logging.

Rules: JSON in the shape that zap (and so KubeRay) writes, or ``key=value`` text for a terminal; a field shows scalars
and what its type says about itself (``__str__``), never the inside of an object, a list or a mapping, so no Secret gets
into a log by accident; a log call never fails.
"""

import logging
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, TextIO

import msgspec

from heliostat.kube.timestamps import format_micro_timestamp

# zap's names as well as Python's; a number n means "verbosity n", as in -zap-log-level=2
LEVELS: Final[dict[str, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "dpanic": logging.CRITICAL,
    "panic": logging.CRITICAL,
    "fatal": logging.CRITICAL,
}
FORMATS: Final = ("auto", "json", "text")
_SHOWN_LEVELS: Final = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warn",
    logging.ERROR: "error",
    logging.CRITICAL: "fatal",
}
_FIELDS: Final = "heliostat_fields"
_LONGEST_FIELD = 4096


class LogSettingsError(ValueError):
    """A level or format that does not exist."""


class Log:
    """A logger whose calls take fields: ``log.info("planned", key=key, writes=3)``."""

    def __init__(self, name: str, **fields: object) -> None:
        self._logger = logging.getLogger(name)
        self._fields = fields

    def bind(self, **fields: object) -> "Log":
        """One that always tells these fields too."""
        return Log(self._logger.name, **{**self._fields, **fields})

    def debug(self, message: str, /, **fields: object) -> None:
        self._write(logging.DEBUG, message, fields)

    def info(self, message: str, /, **fields: object) -> None:
        self._write(logging.INFO, message, fields)

    def warning(self, message: str, /, **fields: object) -> None:
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, /, *, error: BaseException | None = None, **fields: object) -> None:
        """``error`` is told with its traceback."""
        self._write(logging.ERROR, message, fields, error)

    def _write(self, level: int, message: str, fields: dict[str, object], error: BaseException | None = None) -> None:
        if self._logger.isEnabledFor(level):
            extra = {_FIELDS: {**self._fields, **fields}}
            self._logger.log(level, "%s", message, exc_info=error, extra=extra)


class _LineFormatter(logging.Formatter, ABC):
    def __init__(self, wall_clock: Callable[[], float]) -> None:
        super().__init__()
        self._wall_clock = wall_clock

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "level": _SHOWN_LEVELS.get(record.levelno, record.levelname.lower()),
            "ts": format_micro_timestamp(self._wall_clock()),
            "logger": record.name,
            "msg": _tidy(record.getMessage()),
        }
        for name, value in getattr(record, _FIELDS, {}).items():
            line[name if name not in line else f"field_{name}"] = show(value)
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = show(record.exc_info[1])
            line["stacktrace"] = self.formatException(record.exc_info)
        return self._render(line)

    @abstractmethod
    def _render(self, line: dict[str, Any]) -> str: ...


class JsonFormatter(_LineFormatter):
    def _render(self, line: dict[str, Any]) -> str:
        return msgspec.json.encode(line).decode()


class TextFormatter(_LineFormatter):
    """``12:00:01.5 INFO  runtime: planned  key=default/a writes=3``; a traceback follows on lines of its own."""

    def _render(self, line: dict[str, Any]) -> str:
        level, moment, logger, message = (line.pop(name) for name in ("level", "ts", "logger", "msg"))
        trace = line.pop("stacktrace", "")
        fields = " ".join(f"{name}={_quote(value)}" for name, value in line.items())
        text = f"{moment[11:23]} {level.upper():5} {logger}: {_one_line(message)}"
        return "".join([text, f"  {fields}" if fields else "", f"\n{trace}" if trace else ""])


def configure_logging(
    level: str = "info",
    format_name: str = "auto",
    *,
    stream: TextIO | None = None,
    wall_clock: Callable[[], float] = time.time,
) -> None:
    """Replace whatever was configured: every logger of the process writes to ``stream`` (stderr) from now on."""
    out = stream or sys.stderr
    handler = logging.StreamHandler(out)
    handler.setFormatter(_formatter(format_name, is_terminal=out.isatty(), wall_clock=wall_clock))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(parse_level(level))


def parse_level(text: str) -> int:
    known = LEVELS.get(text.lower())
    if known is not None:
        return known
    if text.isdecimal():
        return logging.DEBUG if int(text) > 0 else logging.INFO
    raise LogSettingsError(f"{text!r} is not a log level; use one of {', '.join(LEVELS)} or a number")


def show(value: object) -> str | int | float | bool | None:
    """A field's value as it may be told."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _tidy(str(value))
    if _says_what_it_is(value):
        return _tidy(_text_of(value))
    size = f" of {len(value)}" if isinstance(value, dict | list | tuple | set | frozenset | bytes) else ""
    return f"<{type(value).__name__}{size}>"


def _says_what_it_is(value: object) -> bool:
    """Its type has words of its own; the inherited ones would spell out the whole inside."""
    inherited = (object.__str__, dict.__str__, list.__str__, bytes.__str__)
    return isinstance(value, BaseException) or type(value).__str__ not in inherited


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001  a log call never fails
        return f"<{type(value).__name__}: {type(error).__name__}>"


def _formatter(name: str, *, is_terminal: bool, wall_clock: Callable[[], float]) -> logging.Formatter:
    if name not in FORMATS:
        raise LogSettingsError(f"{name!r} is not a log format; use one of {', '.join(FORMATS)}")
    is_text = name == "text" or (name == "auto" and is_terminal)
    return TextFormatter(wall_clock) if is_text else JsonFormatter(wall_clock)


def _tidy(text: str) -> str:
    """Encodable, and not endless."""
    whole = text.encode(errors="backslashreplace").decode()
    return whole if len(whole) <= _LONGEST_FIELD else f"{whole[:_LONGEST_FIELD]}… ({len(whole)} characters)"


def _quote(value: object) -> str:
    text = str(value)
    is_plain = text != "" and text.isprintable() and not set(text) & set(' "=')
    return text if is_plain else msgspec.json.encode(text).decode()


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")
