"""Who is attached to a container, at the level of its sandbox: what is slow, what is late, and who comes together."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
import uvloop

from heliostat.embedded.node.commands import attach_to, run_command
from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxSpec, start_sandbox
from heliostat.embedded.node.shim.protocol import Order
from heliostat.embedded.server.nodes.node_backend import Execution, Exited, Failed, TerminalSize

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")]

Run: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
ATTACH = Execution(container="c", stdin=True, stdout=True, stderr=True)


@pytest.fixture(params=(asyncio.run, uvloop.run), ids=("asyncio", "uvloop"))
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


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


def test_a_client_that_takes_nothing_is_left_behind_and_the_container_goes_on(tmp_path: Path, run: Run) -> None:
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

    run(play())


def test_all_who_are_attached_hear_the_same(tmp_path: Path, run: Run) -> None:
    async def play() -> None:
        async with container(tmp_path, "echo up; cat", has_stdin=True, stdin_ends_with_first=False) as sandbox:
            first, second = Client(), Client(b"hello\n")
            tasks = [asyncio.create_task(attach_to(sandbox, "c", ATTACH, client)) for client in (first, second)]
            for client in (first, second):
                await client.has_heard.wait()
            await sandbox.signal("c", 15)
            assert [await task for task in tasks] == [Exited(), Exited()]
            assert (first.heard, second.heard) == (b"hello\n", b"hello\n")

    run(play())


def test_a_container_that_is_over_cannot_be_attached_to(tmp_path: Path, run: Run) -> None:
    async def play() -> None:
        async with container(tmp_path, "echo up") as sandbox:
            while not sandbox.runs()["c"].is_over:
                await asyncio.sleep(0.01)
            assert await attach_to(sandbox, "c", ATTACH, Client()) == Failed("the container c is not running")

    run(play())


@pytest.mark.parametrize("tty", [False, True])
def test_a_command_is_run_with_all_that_it_wrote(tmp_path: Path, run: Run, tty: bool) -> None:
    async def play() -> None:
        async with container(tmp_path, "echo up; sleep 1000") as sandbox:
            command = Execution(container="c", command=("seq", "1", "50000"), stdout=True, tty=tty)
            for _ in range(3):
                client = Client()
                assert await run_command(sandbox, "c", command, client) == Exited(0)
                assert client.heard.split() == [b"%d" % number for number in range(1, 50001)]

    run(play())


@pytest.mark.parametrize("user", [0, 1000])
def test_the_terminal_of_a_command_is_one_that_the_container_knows_by_name(tmp_path: Path, run: Run, user: int) -> None:
    async def play() -> None:
        async with container(tmp_path, "echo up; sleep 1000", user=user, group=user) as sandbox:
            script = (
                "tty && echo to-the-name > $(tty) && echo to-dev-tty > /dev/tty && test -t 0 -a -t 1 -a -t 2 && echo on"
            )
            command = Execution(container="c", command=("sh", "-c", script), stdin=True, stdout=True, tty=True)
            client = Client()
            assert await run_command(sandbox, "c", command, client) == Exited(0), client.heard
            assert client.heard.split() == [b"/dev/pts/0", b"to-the-name", b"to-dev-tty", b"on"]
            missing = msgspec.structs.replace(command, command=("no-such-program",))
            assert isinstance(await run_command(sandbox, "c", missing, client), Failed)

    run(play())


def test_commands_run_side_by_side_and_are_cancelled_one_by_one(tmp_path: Path, run: Run) -> None:
    async def play() -> None:
        async with container(tmp_path, "echo up; sleep 1000") as sandbox:
            sleep = Execution(container="c", command=("sh", "-c", "echo on; sleep 1000"), stdout=True)
            clients = [Client() for _ in range(4)]
            tasks = [asyncio.create_task(run_command(sandbox, "c", sleep, client)) for client in clients]
            for client in clients:
                await client.has_heard.wait()
            for task in tasks[1:]:
                task.cancel()
            await asyncio.gather(*tasks[1:], return_exceptions=True)
            assert [task.done() for task in tasks] == [False, True, True, True]
            listed = Client()
            ps = Execution(container="c", command=("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), stdout=True)
            await run_command(sandbox, "c", ps, listed)
            assert listed.heard.count(b"sleep 1000 ") == 4  # two of the container, two of the first command
            tasks[0].cancel()
            await asyncio.gather(tasks[0], return_exceptions=True)

    run(play())
