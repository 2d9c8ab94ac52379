"""A node whose containers are processes of this machine: what the server needs of a node, and no more."""

import asyncio
import fcntl
import json
import os
import pty
import shutil
import struct
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

from heliostat.embedded.refusals import bad_request
from heliostat.embedded.server.messages import Answer, Request, Response, Stream, Upgrade, Wire
from heliostat.embedded.server.nodes.node_backend import (
    SUMMARY,
    Duplex,
    Execution,
    Exited,
    Failed,
    LogOptions,
    Outcome,
    Proxied,
    Terminal,
    TerminalSize,
)

_READ = 64 * 1024


class LocalNode:
    """``asked`` counts what it was asked, ``running`` commands that go on, ``cancelled`` those whose client went."""

    def __init__(self) -> None:
        self.asked = 0
        self.running = 0
        self.cancelled = 0
        self.summary: dict[str, Any] = {}  # of what its Pods use

    async def is_reachable(self) -> bool:
        return True

    async def read_log(self, pod: dict[str, Any], options: LogOptions) -> Answer:
        if options.previous and options.container == "autoscaler":
            name = pod["metadata"]["name"]
            raise bad_request(f'previous terminated container "{options.container}" in pod "{name}" not found')
        if options.follow:
            return Stream(LogLines(3), content_type="text/plain")
        return Response(200, f"{pod['metadata']['name']}/{options.container}\n".encode(), "text/plain")

    async def execute(self, pod: dict[str, Any], execution: Execution, terminal: Terminal) -> Outcome:
        self.asked += 1
        if execution.command == ("bug",):
            raise ZeroDivisionError("a bug of the node")
        if shutil.which(execution.command[0]) is None:
            return Failed(f'exec: "{execution.command[0]}": executable file not found in $PATH')
        self.running += 1
        try:
            run = _run_in_terminal if execution.tty else _run_with_pipes
            return Exited(await run(execution, terminal))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    async def attach(self, pod: dict[str, Any], execution: Execution, terminal: Terminal) -> Outcome:
        self.asked += 1
        await terminal.write_stdout(f"attached to {execution.container}\n".encode())
        while data := await terminal.read_stdin():
            await terminal.write_stdout(data.upper())
        return Exited()

    async def forward(self, pod: dict[str, Any], port: int, stream: Duplex) -> Failed | None:
        self.asked += 1
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            return Failed(f"failed to connect to localhost:{port}: {error.strerror}")
        try:
            async with asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(_pump(stream.read, _writing(writer), writer.write_eof))
                await _pump(lambda: reader.read(_READ), stream.write)
                sending.cancel()
        finally:
            writer.close()
        return None

    async def proxy(self, proxied: Proxied, request: Request) -> Answer:
        async def shout(wire: Wire) -> None:
            while (data := await wire.receive()) is not None:
                await wire.send(data.upper())

        return Upgrade(converse=shout, headers=(("Connection", "Upgrade"), ("Upgrade", "shouting")))

    async def proxy_node(self, node: dict[str, Any], path: str, request: Request) -> Answer:
        if path == SUMMARY:
            return Response(200, json.dumps(self.summary).encode())
        return Response(200, b"", "text/plain")


class LogLines:
    def __init__(self, count: int) -> None:
        self._numbers = iter(range(count))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        for number in self._numbers:
            return b"line %d\n" % number
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing feeds them."""


def _writing(writer: asyncio.StreamWriter) -> Callable[[bytes], Awaitable[None]]:
    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    return write


async def _pump(
    read: Callable[[], Awaitable[bytes]],
    write: Callable[[bytes], Awaitable[None]],
    end: Callable[[], object] = lambda: None,
) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        while data := await read():
            await write(data)
        end()


@asynccontextmanager
async def _process(*command: str, **options: Any) -> AsyncIterator[Process]:
    """Ended with its block, whatever happens."""
    process = await asyncio.create_subprocess_exec(*command, **options)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _run_with_pipes(execution: Execution, terminal: Terminal) -> int:
    async with _process(*execution.command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        async with asyncio.TaskGroup() as tasks:
            feeding = tasks.create_task(_pump(terminal.read_stdin, _writing(stdin), stdin.close))
            await asyncio.gather(
                _pump(lambda: stdout.read(_READ), terminal.write_stdout),
                _pump(lambda: stderr.read(_READ), terminal.write_stderr),
            )
            feeding.cancel()
        return await process.wait()


async def _run_in_terminal(execution: Execution, terminal: Terminal) -> int:
    ours, theirs = pty.openpty()
    options = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    try:
        async with _process("setsid", "--ctty", "--wait", *execution.command, **options) as process:
            os.close(theirs)
            async with asyncio.TaskGroup() as tasks:
                helpers = (
                    tasks.create_task(_pump(terminal.read_stdin, lambda data: _write_all(ours, data))),
                    tasks.create_task(_resize(ours, terminal)),
                )
                await _pump(lambda: _read_terminal(ours), terminal.write_stdout)
                for helper in helpers:
                    helper.cancel()
            return await process.wait()
    finally:
        os.close(ours)


async def _write_all(terminal: int, data: bytes) -> None:
    while data:
        data = data[os.write(terminal, data) :]


async def _read_terminal(terminal: int) -> bytes:
    """Ends when no process holds the other side."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(terminal, ready.set)
    try:
        await ready.wait()
        return os.read(terminal, _READ)
    except OSError:
        return b""
    finally:
        loop.remove_reader(terminal)


async def _resize(terminal: int, sizes: Terminal) -> None:
    while isinstance(size := await sizes.read_size(), TerminalSize):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.height, size.width, 0, 0))
