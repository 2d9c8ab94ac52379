"""A problem is told once, in words that help, and its last words are kept."""

import io
import logging
from collections.abc import Iterator

import pytest

from heliostat.runtime.errors import UnavailableError
from heliostat.runtime.logs import Log, configure_logging
from heliostat.runtime.problems import MOST_KEPT, TELL_AGAIN_SECONDS, Problems


class World:
    def __init__(self, stream: io.StringIO) -> None:
        self.now = 100.0
        self.problems = Problems(Log("test"), lambda: self.now)
        self._stream = stream

    def lines(self) -> list[str]:
        return self._stream.getvalue().splitlines()


@pytest.fixture
def world() -> Iterator[World]:
    root = logging.getLogger()
    before = list(root.handlers), root.level
    stream = io.StringIO()
    configure_logging("info", "text", stream=stream, wall_clock=lambda: 0.0)
    yield World(stream)
    root.handlers[:], level = before
    root.setLevel(level)


def test_what_comes_back_unchanged_is_told_again_only_later(world: World) -> None:
    for moment in (0.0, 1.0, TELL_AGAIN_SECONDS - 1, TELL_AGAIN_SECONDS + 1):
        world.now = 100.0 + moment
        world.problems.note("watch of pods", UnavailableError("nobody is there"))
    assert len(world.lines()) == 2
    assert "WARN" in world.lines()[0]
    assert 'problem="nobody is there"' in world.lines()[0]


def test_a_change_is_told_at_once(world: World) -> None:
    world.problems.note("watch of pods", UnavailableError("a"))
    world.problems.note("watch of pods", UnavailableError("b"))
    world.problems.note("watch of nodes", UnavailableError("b"))
    assert len(world.lines()) == 3
    assert world.problems.last("watch of pods") == "b"
    assert world.problems.last("watch of jobs") is None


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        ("no answer within 3.97 s", "no answer within 4 s", 1),
        ('pods "a-worker-fp5gd" is forbidden: used: pods=1', 'pods "a-worker-95xr8" is forbidden: used: pods=2', 1),
        ('pods "a" is forbidden', 'pods "a" already exists', 2),
    ],
)
def test_other_names_and_numbers_are_no_change(world: World, first: str, second: str, lines: int) -> None:
    world.problems.note("raycluster-controller, ns/a", UnavailableError(first))
    world.problems.note("raycluster-controller, ns/a", UnavailableError(second))
    assert len(world.lines()) == lines


@pytest.mark.parametrize(
    ("error", "level", "has_trace"),
    [(UnavailableError("x"), "WARN", False), (TimeoutError(), "WARN", False), (KeyError("x"), "ERROR", True)],
)
def test_only_bugs_come_with_a_traceback(world: World, error: Exception, level: str, has_trace: bool) -> None:
    with pytest.raises(type(error)) as raised:
        raise error
    world.problems.note("it", raised.value)
    assert level in world.lines()[0]
    assert any("Traceback" in line for line in world.lines()) == has_trace


def test_an_error_without_words_is_told_by_its_type(world: World) -> None:
    world.problems.note("the lease", TimeoutError())
    assert world.problems.last("the lease") == "TimeoutError"


def test_not_more_is_kept_than_may_be(world: World) -> None:
    for number in range(MOST_KEPT + 1):
        world.problems.note(f"key {number}", UnavailableError("x"))
    assert world.problems.last("key 0") is None
    assert world.problems.last("key 1") == "x"
