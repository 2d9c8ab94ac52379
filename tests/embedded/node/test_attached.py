"""Who is attached to a container, at the level of its sandbox: what is slow, what is late, and who comes together."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from heliostat.embedded.node.commands import attach_to
from heliostat.embedded.node.sandbox import Sandbox, SandboxSpec, start_sandbox
from heliostat.embedded.node.shim.protocol import Order
from heliostat.embedded.server.node_backend import Execution, Exited, Failed, TerminalSize

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")

ATTACH = Execution(container="c", stdin=True, stdout=True, stderr=True)


class Client:
    """A terminal that says what it is told to, and reads only while it is allowed to."""

    def __init__(self, *says: bytes) -> None:
        self.heard = b""
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.has_heard = asyncio.Event()
        self._says = [*says]

    async def read_stdin(self) -> bytes:
        return self._says.pop(0) if self._says else b""

    async def write_stdout(self, data: bytes) -> None:
        await self.may_read.wait()
        self.heard += data
        self.has_heard.set()

    async def write_stderr(self, data: bytes) -> None:
        await self.write_stdout(data)

    async def read_size(self) -> TerminalSize | None:
        return None


@asynccontextmanager
async def container(directory: Path, script: str, **fields: Any) -> AsyncIterator[Sandbox]:
    sandbox = await start_sandbox(SandboxSpec(directory=directory, hostname="a-pod"))
    try:
        order = Order(
            "c",
            "c",
            ("/bin/sh", "-c", script),
            {"PATH": os.environ["PATH"]},
            str(directory / "work"),
            str(directory / "log"),
            **fields,
        )
        await sandbox.start(order)
        async with asyncio.timeout(60):
            while not (directory / "log").exists() or b"up" not in (directory / "log").read_bytes():
                await asyncio.sleep(0.01)
            yield sandbox
    finally:
        await sandbox.stop()
        await sandbox.close()


def test_a_client_that_takes_nothing_is_left_behind_and_the_container_goes_on(tmp_path: Path) -> None:
    script = "echo up; read go; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo done; sleep 1000"

    async def play() -> None:
        async with container(tmp_path, script, has_stdin=True) as sandbox:
            stuck = Client(b"go\n")
            stuck.may_read.clear()
            outcome = await attach_to(sandbox, "c", ATTACH, stuck, patience=0.3)
            assert isinstance(outcome, Failed)
            assert "nobody has read the output" in outcome.why
            while b"done" not in (tmp_path / "log").read_bytes():
                await asyncio.sleep(0.01)

    asyncio.run(play())


def test_all_who_are_attached_hear_the_same(tmp_path: Path) -> None:
    async def play() -> None:
        async with container(tmp_path, "echo up; cat", has_stdin=True, stdin_ends_with_first=False) as sandbox:
            first, second = Client(), Client(b"hello\n")
            tasks = [asyncio.create_task(attach_to(sandbox, "c", ATTACH, client)) for client in (first, second)]
            for client in (first, second):
                await client.has_heard.wait()
            await sandbox.signal("c", 15)
            assert [await task for task in tasks] == [Exited(), Exited()]
            assert (first.heard, second.heard) == (b"hello\n", b"hello\n")

    asyncio.run(play())


def test_a_container_that_is_over_cannot_be_attached_to(tmp_path: Path) -> None:
    async def play() -> None:
        async with container(tmp_path, "echo up") as sandbox:
            while not sandbox.runs()["c"].is_over:
                await asyncio.sleep(0.01)
            assert await attach_to(sandbox, "c", ATTACH, Client()) == Failed("the container c is not running")

    asyncio.run(play())
