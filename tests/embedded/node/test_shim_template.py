"""The template of shims: many from one process, which may die and may go, and they do not notice."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxSpec, start_sandbox
from heliostat.embedded.node.isolating.shim_template import ShimTemplate

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


async def start(template: ShimTemplate, place: Path) -> Sandbox:
    place.mkdir()
    return await start_sandbox(SandboxSpec(directory=place, hostname=place.name), template)


async def end(*sandboxes: Sandbox) -> None:
    for sandbox in sandboxes:
        await sandbox.stop()
        await sandbox.close()


def title(sandbox: Sandbox) -> bytes:
    return Path(f"/proc/{sandbox.pid}/cmdline").read_bytes().rstrip(b"\0")


def parent(sandbox: Sandbox) -> int:
    return int(Path(f"/proc/{sandbox.pid}/stat").read_text().rpartition(")")[2].split()[1])


def children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def the_child() -> int:
    (child,) = children()
    return child


def test_shims_made_at_once_are_separate_and_each_shows_whose_it_is(tmp_path: Path) -> None:
    async def play() -> None:
        template = ShimTemplate(idle_seconds=600.0)
        made = await asyncio.gather(*(start(template, tmp_path / f"pod-{number}") for number in range(8)))
        try:
            namespaces = {Path(f"/proc/{each.pid}/ns/pid_for_children").readlink() for each in made}
            assert len(namespaces) == len({each.pid for each in made}) == 8
            assert [title(each) for each in made] == [
                f"heliostat shim {tmp_path}/pod-{number} pod-{number}".encode() for number in range(8)
            ]
            assert the_child() not in {parent(each) for each in made}
        finally:
            await end(*made)
            await template.close()

    asyncio.run(play())


def test_shims_outlive_their_template_and_the_next_one_gets_another(tmp_path: Path) -> None:
    async def play() -> None:
        template = ShimTemplate(idle_seconds=600.0)
        first = await start(template, tmp_path / "first")
        os.kill(the_child(), signal.SIGKILL)
        os.waitid(os.P_PID, the_child(), os.WEXITED | os.WNOWAIT)
        second = await start(template, tmp_path / "second")
        await template.close()
        try:
            for each in (first, second):
                await each.signal("nobody", signal.SIGTERM)  # it answers
        finally:
            await end(first, second)

    asyncio.run(play())


def test_closed_it_leaves_no_process(tmp_path: Path) -> None:
    async def play() -> None:
        template = ShimTemplate(idle_seconds=600.0)
        sandbox = await start(template, tmp_path / "pod")
        child = the_child()
        await template.close()
        await template.close()
        await end(sandbox)
        assert not Path(f"/proc/{child}").exists()

    asyncio.run(play())


def test_a_path_that_is_longer_than_the_title_only_shortens_what_is_shown(tmp_path: Path) -> None:
    async def play() -> None:
        place = tmp_path
        for _ in range(4):
            place = place / ("x" * 200)
            place.mkdir()
        template = ShimTemplate(idle_seconds=600.0)
        sandbox = await start(template, place / "pod")
        try:
            assert f"heliostat shim {place}/pod".encode().startswith(title(sandbox))
        finally:
            await end(sandbox)
            await template.close()

    asyncio.run(play())


def test_it_is_let_go_when_nobody_asks_and_comes_back_for_the_next(tmp_path: Path) -> None:
    async def play() -> None:
        template = ShimTemplate(idle_seconds=0.3)
        made = [await start(template, tmp_path / "first")]
        try:
            async with asyncio.timeout(10):
                while children():
                    await asyncio.sleep(0.01)
            made.append(await start(template, tmp_path / "second"))
            for each in made:
                await each.signal("nobody", signal.SIGTERM)  # it answers
        finally:
            await end(*made)
            await template.close()

    asyncio.run(play())
