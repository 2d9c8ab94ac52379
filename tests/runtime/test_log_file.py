"""Logs in a file beside those on the standard stream."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliostat.runtime.log_file import add_log_file
from heliostat.runtime.logs import Log, LogSettingsError, configure_logging


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    for handler in set(root.handlers) - set(before):
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)


def test_the_file_has_info_whatever_the_stream_has(tmp_path: Path) -> None:
    stream = io.StringIO()
    configure_logging("error", "json", stream=stream)
    add_log_file(str(tmp_path / "a.log"), "json")
    log = Log("test")
    log.debug("too much")
    log.info("usual", key="a")
    log.error("bad")
    lines = [json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines()]
    assert [(line["level"], line["msg"]) for line in lines] == [("info", "usual"), ("error", "bad")]
    assert [json.loads(line)["msg"] for line in stream.getvalue().splitlines()] == ["bad"]


def test_debug_stays_on_the_stream(tmp_path: Path) -> None:
    stream = io.StringIO()
    configure_logging("debug", "text", stream=stream)
    add_log_file(str(tmp_path / "a.log"), "text")
    Log("test").debug("detail")
    assert "detail" in stream.getvalue()
    assert (tmp_path / "a.log").read_text() == ""


def test_a_large_file_is_begun_anew_and_the_old_one_kept(tmp_path: Path) -> None:
    configure_logging("info", "text", stream=io.StringIO())
    add_log_file(str(tmp_path / "a.log"), "text", largest_bytes=200)
    for number in range(20):
        Log("test").info("a line of some length", number=number)
    assert (tmp_path / "a.log").stat().st_size <= 200
    assert len(list(tmp_path.iterdir())) > 2


def test_folders_that_are_missing_are_made(tmp_path: Path) -> None:
    configure_logging("info", "text", stream=io.StringIO())
    add_log_file(str(tmp_path / "not" / "yet" / "a.log"), "text")
    Log("test").info("a line")
    assert "a line" in (tmp_path / "not" / "yet" / "a.log").read_text()


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LogSettingsError, match=r"cannot write logs to .*; name a file"):
        add_log_file(str(tmp_path / "file" / "a.log"), "json")
