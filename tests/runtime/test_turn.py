"""Turns of processes of one machine: one at a time, and the next begins as soon as the one before has ended."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heliostat.runtime.turn import TurnFileError, open_turn

PATIENCE = 30.0
HOLDER = """
import asyncio, sys
from pathlib import Path
from heliostat.runtime.turn import open_turn
with open_turn(Path(sys.argv[1])) as turn:
    asyncio.run(turn.wait())
    print("mine", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """It has the turn."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "mine\n"
            yield process
        finally:
            process.kill()


async def take(path: Path, seconds: float) -> None:
    with open_turn(path) as turn:
        await asyncio.wait_for(turn.wait(), seconds)


@pytest.mark.parametrize("before", [None, "", "4194304, who was here long before\n"], ids=["no file", "empty", "left"])
def test_the_file_tells_who_has_the_turn(tmp_path: Path, before: str | None) -> None:
    path = tmp_path / "turn"
    if before is not None:
        path.write_text(before)
    with open_turn(path) as turn:
        asyncio.run(turn.wait())
        assert path.read_text() == f"{os.getpid()}\n"


def test_nobody_has_the_turn_of_another(tmp_path: Path) -> None:
    path = tmp_path / "turn"
    with another_process(path) as other:
        with pytest.raises(TimeoutError):
            asyncio.run(take(path, 0.2))
        assert path.read_text() == f"{other.pid}\n"


def test_who_stands_by_gets_the_turn_of_one_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "turn"

    async def stand_by(other: "subprocess.Popen[str]") -> None:
        waiting = asyncio.create_task(take(path, PATIENCE))
        await asyncio.sleep(0)  # it has looked once, and in vain
        assert not waiting.done()
        other.kill()
        await waiting

    with another_process(path) as other:
        asyncio.run(stand_by(other))
    assert path.read_text() == f"{os.getpid()}\n"


def test_the_turn_ends_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "turn"
    for _ in range(2):
        asyncio.run(take(path, PATIENCE))


@pytest.mark.parametrize(
    ("name", "why"),
    [("", "Is a directory"), ("missing/turn", "No such file or directory")],
    ids=["directory", "missing"],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, name: str, why: str) -> None:
    with (
        pytest.raises(TurnFileError, match=f"{tmp_path / name} cannot be used as a lock: {why}"),
        open_turn(tmp_path / name),
    ):
        raise AssertionError("it was opened")
