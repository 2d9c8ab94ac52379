"""Logs: one line each, with fields, and never a secret."""

import io
import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from heliostat.kube.hidden import Hidden
from heliostat.kube.objects import Key
from heliostat.kube.plan import Ref
from heliostat.runtime.logs import Log, LogSettingsError, configure_logging, parse_level, show

NOON = 1_800_000_000.5


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def configured(level: str = "info", format_name: str = "json") -> io.StringIO:
    stream = io.StringIO()
    configure_logging(level, format_name, stream=stream, wall_clock=lambda: NOON)
    return stream


def lines(stream: io.StringIO) -> list[Any]:
    return [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]


def test_a_line_of_json_has_zaps_keys_and_the_fields() -> None:
    stream = configured()
    log = Log("runtime", controller="job").bind(attempt=2)
    log.info("planned", key=Key("default", "a"), writes=3, ratio=0.5, late=None)
    assert lines(stream) == [
        {
            "level": "info",
            "ts": "2027-01-15T08:00:00.500000Z",
            "logger": "runtime",
            "msg": "planned",
            "controller": "job",
            "attempt": 2,
            "key": "default/a",
            "writes": 3,
            "ratio": 0.5,
            "late": None,
        }
    ]


def test_an_error_comes_with_its_traceback_on_the_same_line() -> None:
    stream = configured()
    try:
        int("first line\nsecond line")
    except ValueError as error:
        Log("runtime").error("failed", error=error, key=Key("", "node"))
    (line,) = lines(stream)
    assert line["error"] == r"invalid literal for int() with base 10: 'first line\nsecond line'"
    assert "Traceback" in line["stacktrace"]
    assert line["key"] == "node"


def test_text_is_for_people() -> None:
    stream = configured("debug", "text")
    Log("runtime").debug("planned\nforged", key=Key("default", "a"), because='he said "no"', empty="")
    assert stream.getvalue() == (
        '08:00:00.500 DEBUG runtime: planned\\nforged  key=default/a because="he said \\"no\\"" empty=""\n'
    )


def test_a_field_cannot_take_the_place_of_the_lines_own_keys() -> None:
    stream = configured()
    Log("runtime").info("said", msg="other", level="fatal")
    (line,) = lines(stream)
    assert (line["msg"], line["level"], line["field_msg"], line["field_level"]) == ("said", "info", "other", "fatal")


class Silent:
    def __str__(self) -> str:
        raise ZeroDivisionError


class Credentials(msgspec.Struct):
    password: str = "canary-1"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Hidden("canary-1"), "<Hidden>"),
        (Credentials(), "<Credentials>"),
        ({"data": {"password": "canary-1"}}, "<dict of 1>"),
        (["canary-1"], "<list of 1>"),
        (("canary-1",), "<tuple of 1>"),
        (b"canary-1", "<bytes of 8>"),
        (Ref("v1", "Pod", "default", "a"), "Pod default/a"),
        (ValueError("why"), "why"),
        (Silent(), "<Silent: ZeroDivisionError>"),
        (True, True),
        ("half a \ud800 character", r"half a \ud800 character"),
        ("x" * 5000, "x" * 4096 + "… (5000 characters)"),
    ],
)
def test_fields_show_only_what_their_type_says(value: object, shown: object) -> None:
    assert show(value) == shown


@pytest.mark.parametrize("format_name", ["json", "text"])
def test_no_canary_gets_out(format_name: str) -> None:
    stream = configured("debug", format_name)
    Log("runtime", token=Hidden("canary-1")).error(
        "failed", error=ValueError(Hidden("canary-1")), secret={"data": "canary-1"}, inside=Credentials()
    )
    assert stream.getvalue()
    assert "canary-1" not in stream.getvalue()


def test_the_level_is_kept() -> None:
    stream = configured("warn")
    log = Log("runtime")
    log.info("quiet")
    log.warning("loud")
    assert [line["msg"] for line in lines(stream)] == ["loud"]


def test_other_libraries_get_the_same_shape() -> None:
    stream = configured()
    logging.getLogger("asyncio").warning("Executing %s took %.1f s", "a", 1.5)
    assert lines(stream)[0]["msg"] == "Executing a took 1.5 s"


@pytest.mark.parametrize(
    ("text", "level"), [("debug", 10), ("INFO", 20), ("warn", 30), ("error", 40), ("panic", 50), ("0", 20), ("3", 10)]
)
def test_levels_by_zaps_names(text: str, level: int) -> None:
    assert parse_level(text) == level


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(LogSettingsError, match="'loud' is not a log level; use one of debug, info"):
        configure_logging("loud")
    with pytest.raises(LogSettingsError, match="'xml' is not a log format; use one of auto, json, text"):
        configure_logging("info", "xml")
