"""What containers use, measured from real ones: whose processes are whose, what burns, and what holds memory."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxSpec, start_sandbox
from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.shim.protocol import Order
from heliostat.embedded.node.usage import ContainerUsage, UsageMeter, build_summary

pytestmark = pytest.mark.slow

BURN = "while :; do :; done"
HOLD = "import sys, time; held = b'x' * (64 << 20); print('up', flush=True); time.sleep(1000)"
SCRIPTS = {
    "burning": ("sh", "-c", f"sh -c '{BURN}' & echo up; wait"),  # a child of it burns
    "holding": ("python3", "-c", HOLD),
}


class Bench:
    """One Pod."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def sandboxes(self) -> dict[str, Sandbox]:
        return {"uid": self._sandbox}

    def runs(self, _uid: str) -> list[Run]:
        return list(self._sandbox.runs().values())


@asynccontextmanager
async def pod(directory: Path, *, is_plain: bool) -> AsyncIterator[Bench]:
    sandbox = await start_sandbox(SandboxSpec(directory=directory, hostname="a-pod", is_plain=is_plain))
    try:
        await sandbox.listen()
        for name, argv in SCRIPTS.items():
            work, log = directory / f"work-{name}", directory / f"{name}.log"
            environment = {"PATH": os.environ["PATH"]}
            await sandbox.start(Order(f"{name}-0", name, argv, environment, str(work), str(log), is_plain=is_plain))
            async with asyncio.timeout(60):
                while not log.exists() or b"up" not in log.read_bytes():
                    await asyncio.sleep(0.01)
        yield Bench(sandbox)
    finally:
        await sandbox.stop()
        await sandbox.close()


@pytest.mark.parametrize("is_plain", [False, True])
def test_each_container_is_told_with_what_its_processes_use(tmp_path: Path, is_plain: bool) -> None:
    if not is_plain and os.geteuid() != 0:
        pytest.skip("sandboxes with all namespaces need root")

    async def play() -> dict[str, ContainerUsage]:
        async with pod(tmp_path, is_plain=is_plain) as bench:
            meter = UsageMeter(bench)
            usage = await meter.measure()
            again = await meter.measure()
            assert 1.0 <= usage.seconds < 60
            assert {each.name for each in again.containers} == set(SCRIPTS)
            (told,) = build_summary(usage)["pods"]
            assert told["podRef"] == {"uid": "uid"}
            return {each.name: each for each in usage.containers}

    used = asyncio.run(play())
    assert set(used) == set(SCRIPTS)
    assert 0.02 < used["burning"].cpu < 1.5  # other programs may want the machine, too
    assert used["holding"].cpu < used["burning"].cpu
    assert 64 << 20 < used["holding"].memory < 256 << 20
    assert used["burning"].memory < 64 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")
def test_a_command_that_was_run_in_a_container_counts_for_it(tmp_path: Path) -> None:
    async def play() -> float:
        async with pod(tmp_path, is_plain=False) as bench:
            sandbox = bench.sandboxes()["uid"]
            null = os.open(os.devnull, os.O_RDWR)
            command = asyncio.create_task(sandbox.execute("holding-0", ("sh", "-c", BURN), (null, null, null)))
            usage = await UsageMeter(bench).measure()
            command.cancel()
            await asyncio.gather(command, return_exceptions=True)
            os.close(null)
            return next(each.cpu for each in usage.containers if each.name == "holding")

    assert asyncio.run(play()) > 0.02
