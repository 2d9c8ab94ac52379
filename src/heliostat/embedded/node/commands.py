"""A command in a container, or the container itself, talking with a client's terminal.

Rules: a command is over when its own process is, and all that it wrote until then is passed on; a client that goes
takes its command along, and leaves a container that it was attached to; a client that does not read holds a command
back for as long as it likes, but a container only for a while.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from msgspec import Struct

from heliostat.embedded.node.isolating.descriptors import Descriptor, receive_descriptor
from heliostat.embedded.node.isolating.sandbox import Executed, Sandbox, SandboxError
from heliostat.embedded.node.shim.container import set_window
from heliostat.embedded.server.nodes.node_backend import Execution, Exited, Failed, Outcome, Terminal, TerminalSize

SLOW_SECONDS = 30.0  # that a container waits for who is attached to it
_TERMINAL_TYPE = {"TERM": "xterm"}


class _Streams(Struct, frozen=True, kw_only=True):
    """Our ends, and those of the other side."""

    stdin: Descriptor | None
    outputs: dict[str, Descriptor]
    theirs: dict[str, int]

    def close_theirs(self) -> None:
        for number in set(self.theirs.values()):
            os.close(number)
        self.theirs.clear()

    def close(self) -> None:
        self.close_theirs()
        for descriptor in (*self.outputs.values(), *((self.stdin,) if self.stdin is not None else ())):
            descriptor.close()


async def run_command(sandbox: Sandbox, id_: str, execution: Execution, terminal: Terminal) -> Outcome:
    if execution.tty:
        return await _run_on_terminal(sandbox, id_, execution, terminal)
    streams = _open_pipes(has_stdin=execution.stdin)
    executing = asyncio.create_task(_execute(sandbox, id_, execution, streams.theirs))
    return await _pass_on(executing, streams, execution, terminal)


async def _run_on_terminal(sandbox: Sandbox, id_: str, execution: Execution, terminal: Terminal) -> Outcome:
    """The terminal is one of the container's own, which it opens for itself and hands out over a socket: there it has a
    name that programs find (``tty``, tmux), which one of the host's would not."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        executing = asyncio.create_task(
            _execute(sandbox, id_, execution, dict.fromkeys(("stdin", "stdout", "stderr"), theirs.fileno()))
        )
        handed_out = asyncio.create_task(receive_descriptor(ours))
        try:
            await asyncio.wait((executing, handed_out), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _end_tasks(executing, handed_out)
            raise
        if not handed_out.done():
            await _end_tasks(handed_out)
            return _outcome_of(await executing)
    opened = Descriptor(handed_out.result())
    streams = _Streams(stdin=opened, outputs={"stdout": opened}, theirs={})
    return await _pass_on(executing, streams, execution, terminal)


async def _pass_on(
    executing: "asyncio.Task[Executed]", streams: _Streams, execution: Execution, terminal: Terminal
) -> Outcome:
    """Between the command and the client, until the command is over."""
    helpers: list[Coroutine[Any, Any, None]] = []
    if execution.stdin and streams.stdin is not None:
        helpers.append(_feed(terminal, streams.stdin, closes=not execution.tty))
    if execution.tty:
        helpers.append(_resize(terminal, _window_of(streams)))
    try:
        async with asyncio.TaskGroup() as group:
            helping = [group.create_task(helper) for helper in helpers]
            for name, output in streams.outputs.items():
                group.create_task(_copy(output, _writer(terminal, name)))
            executed = await executing
            _cancel(helping)
            for output in streams.outputs.values():
                output.end_when_empty()
    finally:
        await _end_tasks(executing)
        streams.close()
    return _outcome_of(executed)


def _outcome_of(executed: Executed) -> Outcome:
    return Failed(executed.why) if executed.why else Exited(executed.exit_code)


async def _end_tasks(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def attach_to(
    sandbox: Sandbox, id_: str, execution: Execution, terminal: Terminal, patience: float = SLOW_SECONDS
) -> Outcome:
    """``patience``: seconds that the container waits for a terminal that takes nothing."""
    streams = _open_pipes(has_stdin=execution.stdin)
    try:
        wanted = {name: number for name, number in streams.theirs.items() if name != "stdin" or execution.stdin}
        await sandbox.attach(id_, wanted)
        streams.close_theirs()
        return await _converse(sandbox, id_, streams, terminal, patience)
    except SandboxError as error:
        return Failed(str(error))
    finally:
        streams.close()


async def _converse(sandbox: Sandbox, id_: str, streams: _Streams, terminal: Terminal, patience: float) -> Outcome:
    async def set_size(size: TerminalSize) -> None:
        with contextlib.suppress(SandboxError):  # it has just ended
            await sandbox.resize(id_, size.height, size.width)

    outcome: Outcome = Exited()
    try:
        async with asyncio.TaskGroup() as group:
            helping = [group.create_task(_resize(terminal, set_size))]
            if streams.stdin is not None:
                helping.append(group.create_task(_feed(terminal, streams.stdin, closes=True)))
            copies = [
                group.create_task(_copy(output, _impatient(_writer(terminal, name), patience)))
                for name, output in streams.outputs.items()
            ]
            await asyncio.wait(copies)
            _cancel(helping)
    except* TimeoutError:
        outcome = Failed(f"nobody has read the output for {patience:g} s, and the container was waiting")
    return outcome


async def _execute(sandbox: Sandbox, id_: str, execution: Execution, streams: Mapping[str, int]) -> Executed:
    theirs = (streams["stdin"], streams["stdout"], streams["stderr"])
    environment = _TERMINAL_TYPE if execution.tty else {}
    try:
        return await sandbox.execute(
            id_, execution.command, theirs, environment=environment, has_terminal=execution.tty
        )
    except SandboxError as error:
        return Executed(1, str(error))


def _open_pipes(*, has_stdin: bool) -> _Streams:
    out, out_end = os.pipe2(os.O_CLOEXEC)
    error, error_end = os.pipe2(os.O_CLOEXEC)
    stdin = None
    if has_stdin:
        stdin_end, number = os.pipe2(os.O_CLOEXEC)
        stdin = Descriptor(number)
    else:
        stdin_end = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return _Streams(
        stdin=stdin,
        outputs={"stdout": Descriptor(out), "stderr": Descriptor(error)},
        theirs={"stdin": stdin_end, "stdout": out_end, "stderr": error_end},
    )


def _window_of(streams: _Streams) -> Callable[[TerminalSize], Awaitable[None]]:
    async def set_size(size: TerminalSize) -> None:
        set_window(streams.outputs["stdout"].number, size.height, size.width)

    return set_size


def _writer(terminal: Terminal, name: str) -> Callable[[bytes], Awaitable[None]]:
    return terminal.write_stdout if name == "stdout" else terminal.write_stderr


def _impatient(write: Callable[[bytes], Awaitable[None]], seconds: float) -> Callable[[bytes], Awaitable[None]]:
    async def write_soon(data: bytes) -> None:
        async with asyncio.timeout(seconds):
            await write(data)

    return write_soon


async def _copy(output: Descriptor, write: Callable[[bytes], Awaitable[None]]) -> None:
    while data := await output.read():
        await write(data)


async def _feed(terminal: Terminal, stdin: Descriptor, *, closes: bool) -> None:
    """What the other side does not want to read goes nowhere."""
    try:
        while data := await terminal.read_stdin():
            await stdin.write(data)
    except BrokenPipeError:
        return
    if closes:
        stdin.close()


async def _resize(terminal: Terminal, set_size: Callable[[TerminalSize], Awaitable[None]]) -> None:
    while (size := await terminal.read_size()) is not None:
        await set_size(size)


def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
