"""The edges of a container's life: signals in its first moments, and what is known of it when its shim has died."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from heliostat.embedded.node.isolating.sandbox import SandboxSpec, note_death, past_runs, start_sandbox
from heliostat.embedded.node.shim.journal import Journal, Run, end_unfinished, read_runs
from heliostat.embedded.node.shim.protocol import JOURNAL, Order

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")


def _order(directory: Path, name: str) -> Order:
    work, log = str(directory / name), str(directory / f"{name}.log")
    return Order(name, name, ("sleep", "600"), {"PATH": os.environ["PATH"]}, work, log)


@needs_root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_right_after_the_start_is_not_lost(tmp_path: Path, number: int) -> None:
    async def run() -> set[int]:
        sandbox = await start_sandbox(SandboxSpec(directory=tmp_path, hostname="p"))
        changed = asyncio.Event()
        sandbox.on_change(lambda _run: changed.set())
        names = [f"c{each}" for each in range(5)]
        try:
            async with asyncio.timeout(60):
                starts = [asyncio.ensure_future(sandbox.start(_order(tmp_path, name))) for name in names]
                await asyncio.gather(*starts, *(sandbox.signal(name, number) for name in names))
                while not all(run.is_over for run in sandbox.runs().values()):
                    changed.clear()
                    await changed.wait()
                return {run.exit_code for run in sandbox.runs().values()}
        finally:
            await sandbox.stop()
            await sandbox.close()

    assert asyncio.run(run()) == {128 + number}


@needs_root
def test_a_new_sandbox_in_the_place_of_one_that_died_knows_that_its_containers_ended(tmp_path: Path) -> None:
    async def run() -> None:
        first = await start_sandbox(SandboxSpec(directory=tmp_path, hostname="p"))
        await first.start(_order(tmp_path, "c"))
        await first.stop()
        await first.close()
        note_death(tmp_path)
        second = await start_sandbox(SandboxSpec(directory=tmp_path, hostname="p"))
        try:
            found = second.runs()["c"]
            assert (found.is_over, found.exit_code, found.signal) == (True, 137, 9)
        finally:
            await second.stop()
            await second.close()

    asyncio.run(run())


def test_only_what_had_not_ended_ends_with_its_shim_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    journal = Journal(path)
    journal.note(Run("a", "a", 1.0, 2.0, 3))
    journal.note(Run("b", "b", 1.0))
    journal.close()
    end_unfinished(path, 9.0)
    end_unfinished(path, 10.0)
    assert read_runs(path) == {"a": Run("a", "a", 1.0, 2.0, 3), "b": Run("b", "b", 1.0, 9.0, 137, 9)}
    assert past_runs(tmp_path) == read_runs(path)


def test_a_place_without_a_journal_gets_none(tmp_path: Path) -> None:
    note_death(tmp_path)
    assert list(tmp_path.iterdir()) == []
