"""Environments are built in one piece: by uv itself, under kills, rivals, cancellations and full disks."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from embedded.node.node_world import processes_of
from embedded.node.slow_package import SlowPackage
from embedded.node.tiny_packages import build_entry, offer_tiny_packages
from heliostat.embedded.node.imaging.image_builder import BuildError, build_python_environment, summarize
from heliostat.embedded.node.imaging.image_environments import (
    BuildOrder,
    is_built,
    own_python,
    plan_build,
    provide_image,
)
from heliostat.embedded.node.imaging.images import Image, build_image_environment

pytestmark = pytest.mark.slow

BUILDER = """
import asyncio, sys
import msgspec
from heliostat.embedded.node.imaging.image_builder import build_python_environment
from heliostat.embedded.node.imaging.image_environments import BuildOrder

order = msgspec.json.decode(sys.argv[1], type=BuildOrder, dec_hook=lambda kind, value: kind(value))
asyncio.run(build_python_environment(order, lambda line: print(line, flush=True)))
"""


def order_of(image: Image, name: str) -> BuildOrder:
    order = plan_build(name, (image,))
    assert order is not None
    return order


def build(order: BuildOrder) -> list[str]:
    told: list[str] = []
    asyncio.run(build_python_environment(order, told.append))
    return told


def start_builder(order: BuildOrder) -> "subprocess.Popen[str]":
    wish = msgspec.json.encode(order, enc_hook=str).decode()
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, wish], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def directories(order: BuildOrder) -> list[str]:
    return [place.name for place in order.place.parent.iterdir() if place.is_dir()]


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowPackage:
    offer_tiny_packages(tmp_path, monkeypatch)
    return SlowPackage(tmp_path)


def test_an_environment_runs_from_where_it_was_moved_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_tiny_packages(tmp_path, monkeypatch, "1.0.0", "1.1.0")
    entry = build_entry(tmp_path)
    for version in ("1.0.0", "1.1.0"):
        order = order_of(entry, f"team/tiny:{version}")
        told = build(order)
        assert any(line.startswith("Installed 1 package") for line in told)
        image = provide_image(f"team/tiny:{version}", (entry,))
        said = subprocess.run(
            ["tinything"], env=build_image_environment(image), capture_output=True, text=True, check=True
        )
        assert said.stdout == f"tinything {version} {order.place}\n"
        assert str(order.place) in image.visible
        assert build(order) == []  # it is there
    assert len(directories(order)) == 2


def test_the_second_of_two_processes_finds_the_work_of_the_first(slow: SlowPackage) -> None:
    order = order_of(slow.image, "team/slow:1")
    slow.go_on()
    with start_builder(order) as one, start_builder(order) as two:
        told = [process.communicate(timeout=60)[0] for process in (one, two)]
    assert (one.returncode, two.returncode) == (0, 0), told
    assert sum("Installed 1 package" in text for text in told) == 1
    assert directories(order) == [order.place.name]


def test_who_is_killed_in_the_middle_leaves_nothing_that_anybody_would_use(slow: SlowPackage) -> None:
    """uv goes on without the process that started it, and holds the lock until it is through."""
    order = order_of(slow.image, "team/slow:1")
    with start_builder(order) as killed:
        slow.wait_until_begun()
        killed.send_signal(signal.SIGKILL)
    assert not is_built(order)
    assert len(directories(order)) == 1
    told: list[str] = []

    async def next_life() -> None:
        building = asyncio.create_task(build_python_environment(order, told.append))
        async with asyncio.timeout(30):
            while "another process is building it" not in told:
                await asyncio.sleep(0.02)
            slow.go_on()
            await building

    asyncio.run(next_life())
    assert is_built(order)
    assert directories(order) == [order.place.name]


def test_a_build_that_is_called_off_ends_uv_and_leaves_nothing(slow: SlowPackage, tmp_path: Path) -> None:
    order = order_of(slow.image, "team/slow:1")

    async def work() -> None:
        building = asyncio.create_task(build_python_environment(order, lambda _line: None))
        async with asyncio.timeout(30):
            while not slow.has_begun:
                await asyncio.sleep(0.02)
        building.cancel()
        await asyncio.gather(building, return_exceptions=True)

    asyncio.run(work())
    assert processes_of(tmp_path) == []
    assert directories(order) == []


def test_an_environment_whose_interpreter_has_gone_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_tiny_packages(tmp_path, monkeypatch, "1.0.0")
    order = order_of(build_entry(tmp_path), "team/tiny:1.0.0")
    build(order)
    python = order.place / "bin" / "python"
    python.unlink()
    python.symlink_to("/absent/python")
    assert not is_built(order)
    build(order)
    assert is_built(order)


@pytest.mark.parametrize(
    ("tag", "part"),
    [
        ("9.9.9", "there is no version of tinything==9.9.9"),
        ("1.0.0-py399", "uv finds no Python 3.99 on this machine that it can use; uv: "),
    ],
)
def test_what_cannot_be_built_is_told_in_the_words_of_uv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, part: str
) -> None:
    offer_tiny_packages(tmp_path, monkeypatch, "1.0.0")
    order = order_of(build_entry(tmp_path), f"team/tiny:{tag}")
    with pytest.raises(BuildError) as raised:
        build(order)
    assert part in str(raised.value)
    assert directories(order) == []


def test_interpreters_of_pyenv_are_found_behind_its_stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in that refuses comes first in PATH, as pyenv has it."""
    offer_tiny_packages(tmp_path, monkeypatch, "1.0.0")
    monkeypatch.setattr("heliostat.embedded.node.imaging.image_builder.own_python", lambda: "3.0")
    own = f"python{own_python()}"
    refusing, kept = tmp_path / "shims", tmp_path / "root" / "versions" / f"{own_python()}.1" / "bin"
    for place in (refusing, kept):
        place.mkdir(parents=True)
    (refusing / own).write_text("#!/bin/sh\nexit 127\n")
    (refusing / own).chmod(0o755)
    (kept / own).symlink_to(Path(sys.executable).resolve())
    monkeypatch.setenv("PATH", f"{refusing}:/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "root"))
    order = order_of(build_entry(tmp_path), "team/tiny:1.0.0")
    build(order)
    assert (order.place / "bin" / "python").resolve() == Path(sys.executable).resolve()


def test_without_uv_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(BuildError, match="there is no uv: pip install uv"):
        build(order_of(build_entry(tmp_path), "team/tiny:1.0.0"))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "environments").write_text("not a directory")
    with pytest.raises(BuildError, match=r"Tiny 1\.0\.0 with Python .* cannot be built in .*/environments"):
        build(order_of(build_entry(tmp_path), "team/tiny:1.0.0"))


def test_the_reason_is_what_uv_gives_as_an_error_and_never_too_long() -> None:
    lines = ["Using CPython 3.11", "  × No solution found:", "  ╰─▶ Because there is", "      none."]
    assert summarize(lines) == "uv: × No solution found: Because there is none."
    assert summarize([]) == "uv: it ended without a word"
    assert len(summarize(["error: " + "x" * 5000])) == 700


def test_the_place_tells_version_and_python_and_differs_with_every_wish(tmp_path: Path) -> None:
    entry = build_entry(tmp_path)
    names = ("team/tiny:1.0.0", "team/tiny:1.0.0-py39", "team/tiny:1.0.1")
    one, other_python, other_version = (order_of(entry, name) for name in names)
    assert one.place.name.startswith(f"1.0.0-py{own_python()}-")
    assert other_python.place.name.startswith("1.0.0-py3.9-")
    assert len({one.place, other_python.place, other_version.place}) == 3
    assert order_of(entry, "docker.io/team/tiny:1.0.0-gpu") == one
